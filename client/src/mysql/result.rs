//! The reader's side of a result.

use std::sync::Arc;

use arrow_schema::{Fields, Schema, SchemaRef};
use bytes::Bytes;

use super::answer::Part;
use super::connection::Mysql;
use super::decoder::Decoder;
use super::incoming::Block;
use crate::session::{Event, Reader, died};
use crate::{Batch, Error, Keep, QueryOptions, ResultStream, Stats};

/// A result that comes in binary rows.
pub(super) struct Rows {
    reader: Reader<Mysql, Part>,
    schema: SchemaRef,
    decoder: Decoder,
    /// Rows that have been received but not decoded, and where the first of them begins.
    block: (Block, usize),
    ended: bool,
}

impl Rows {
    /// Waits for the columns.
    pub(super) fn open(mut reader: Reader<Mysql, Part>, options: &QueryOptions, keep: Keep<'_>) -> Result<Self, Error> {
        let Some(Event::Part(Part::Columns(columns))) = reader.next(keep)? else { return Err(reader.refuse(died())) };
        reader.meter.schema(columns.len());
        let fields: Fields = columns.iter().map(|column| column.field.clone()).collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let decoder = Decoder::new(schema.clone(), &columns, options);
        Ok(Self { reader, schema, decoder, block: nothing(), ended: false })
    }

    fn batch(&mut self, keep: Keep<'_>) -> Result<Option<arrow_array::RecordBatch>, Error> {
        while !self.ended {
            let (block, at) = &mut self.block;
            if let Some(batch) = self.decoder.take(block, at)? {
                return Ok(Some(batch));
            }
            match self.reader.next(keep)? {
                Some(Event::Part(Part::Rows(block))) => {
                    let (Block::Packets(bytes) | Block::Row(bytes)) = &block;
                    self.reader.meter.received(bytes.len() as u64);
                    self.block = (block, 0);
                }
                Some(Event::Finished(_)) => {
                    self.ended = true;
                    return self.decoder.batch();
                }
                Some(Event::Part(Part::Columns(_))) => return Err(died()),
                None => self.ended = true,
            }
        }
        Ok(None)
    }
}

impl ResultStream for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: Keep<'_>) -> Result<Option<Batch>, Error> {
        match self.batch(keep) {
            Ok(None) => Ok(None),
            Ok(Some(batch)) => {
                self.reader.meter.batch(batch.num_rows());
                Ok(Some(batch.into()))
            }
            Err(error) => {
                self.ended = true;
                self.block = nothing();
                Err(self.reader.refuse(error))
            }
        }
    }

    fn stats(&self) -> Stats {
        self.reader.meter.stats()
    }
}

fn nothing() -> (Block, usize) {
    (Block::Packets(Bytes::new()), 0)
}
