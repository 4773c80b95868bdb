//! Reads the result of a COPY.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY>

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use colonnade_wire::{DecodeLimits, Decoder, Message, RequestedSize};

use super::connection::Postgres;
use super::message::{HEADER, protocol};
use super::type_names;
use crate::batch::damaged;
use crate::rows::miscounted;
use crate::shared_connection::{Event, EventReader};
use crate::{Batch, Error, Keep, ResultStream, Stats};

/// A result in the Colonnade format.
pub(crate) struct CopyOut {
    reader: EventReader<Postgres, Bytes>,
    decoder: Decoder,
    schema: SchemaRef,
}

impl CopyOut {
    /// Waits for the schema message. `types` are the types of the columns, if they are to be named.
    pub(crate) fn open(
        reader: EventReader<Postgres, Bytes>,
        asked: RequestedSize,
        limits: DecodeLimits,
        types: &[u32],
        keep: Keep<'_>,
    ) -> Result<Self, Error> {
        let schema = SchemaRef::new(arrow_schema::Schema::empty());
        let mut copy = Self { reader, decoder: Decoder::new(limits).requested(asked), schema };
        match copy.message(keep)? {
            Some((Message::Schema(schema), _)) => {
                copy.reader.meter.schema(schema.fields.len());
                let mut schema = schema.as_ref().clone();
                // Another number of columns means that a table was altered in between. Then none has a name.
                if types.len() == schema.fields.len() {
                    for (field, type_oid) in schema.fields.iter_mut().zip(types) {
                        type_names::note(field, *type_oid);
                    }
                }
                copy.schema = Arc::new(colonnade_wire::arrow::schema_to_arrow(&schema));
                Ok(copy)
            }
            _ => Err(copy.reader.refuse(damaged(colonnade_wire::Damage::Truncated.into()))),
        }
    }

    /// The next message and the addresses of its bytes; `None` at the verified end.
    fn message(&mut self, keep: Keep<'_>) -> Result<Option<(Message, Range<usize>)>, Error> {
        match self.reader.next(keep)? {
            Some(Event::Part(bytes)) => {
                self.reader.meter.received((HEADER + bytes.len()) as u64);
                let start = bytes.as_ptr().addr();
                let addresses = start..start + bytes.len();
                match self.decoder.message(bytes) {
                    Ok(message) => Ok(Some((message, addresses))),
                    Err(error) => Err(self.reader.refuse(damaged(error))),
                }
            }
            Some(Event::Finished(finished)) => {
                let totals = self.decoder.finish().map_err(|error| self.reader.refuse(damaged(error)))?;
                let rows = finished.rows;
                if rows == Some(totals.rows) {
                    Ok(None)
                } else {
                    Err(self.reader.refuse(protocol(miscounted(totals.rows, rows))))
                }
            }
            None => Ok(None),
        }
    }
}

impl ResultStream for CopyOut {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: Keep<'_>) -> Result<Option<Batch>, Error> {
        loop {
            match self.message(keep)? {
                None => return Ok(None),
                Some((Message::Chunk(chunk), addresses)) => {
                    self.reader.meter.chunk(&chunk);
                    return Ok(Some(Batch::encoded(self.schema.clone(), chunk, addresses)));
                }
                // The end message. CommandComplete and ReadyForQuery follow.
                Some(_) => {}
            }
        }
    }

    fn stats(&self) -> Stats {
        self.reader.meter.stats()
    }
}
