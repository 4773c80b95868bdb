//! The reader's side of a result.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use colonnade_wire::Schema;

use super::answer::Part;
use super::decoder::Decoder;
use crate::postgres::connection::Postgres;
use crate::postgres::message::miscounted;
use crate::session::{Event, Reader, died};
use crate::{Batch, Error, Keep, QueryOptions, ResultStream, Stats};

/// A result in PostgreSQL's own form.
pub(in crate::postgres) struct Rows {
    reader: Reader<Postgres, Part>,
    schema: SchemaRef,
    decoder: Decoder,
    /// Rows that have been received but not decoded, and where the first of them begins.
    block: (Bytes, usize),
    ended: bool,
}

impl Rows {
    /// Waits for the columns.
    pub(in crate::postgres) fn open(
        mut reader: Reader<Postgres, Part>,
        options: &QueryOptions,
        keep: Keep<'_>,
    ) -> Result<Self, Error> {
        let Some(Event::Part(Part::Columns(columns))) = reader.next(keep)? else { return Err(reader.refuse(died())) };
        reader.meter.schema(columns.len());
        let fields = columns.iter().map(|column| column.node.field.clone()).collect();
        let schema = Schema { fields, metadata: Vec::new() };
        let schema: SchemaRef = Arc::new(colonnade_wire::arrow::schema_to_arrow(&schema));
        let decoder = Decoder::new(schema.clone(), columns.iter().map(|column| &column.node), options);
        Ok(Self { reader, schema, decoder, block: (Bytes::new(), 0), ended: false })
    }

    fn batch(&mut self, keep: Keep<'_>) -> Result<Option<arrow_array::RecordBatch>, Error> {
        while !self.ended {
            let (block, at) = &mut self.block;
            if let Some(batch) = self.decoder.take(block, at)? {
                return Ok(Some(batch));
            }
            match self.reader.next(keep)? {
                Some(Event::Part(Part::Rows(bytes))) => {
                    self.reader.meter.received(bytes.len() as u64);
                    self.block = (bytes, 0);
                }
                Some(Event::Finished(finished)) => {
                    self.ended = true;
                    let (rows, total) = (finished.rows, self.decoder.total());
                    // SHOW and its like count nothing.
                    if rows.is_some_and(|rows| rows != total) {
                        return Err(miscounted(total, rows));
                    }
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
                self.block = (Bytes::new(), 0);
                Err(self.reader.refuse(error))
            }
        }
    }

    fn stats(&self) -> Stats {
        self.reader.meter.stats()
    }
}
