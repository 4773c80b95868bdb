//! Reads the result of a COPY.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY>

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use colonnade_wire::{DecodeLimits, Decoder, Message, RequestedSize, Schema};

use super::message::{HEADER, protocol};
use super::session::Postgres;
use super::type_names;
use crate::batch::damaged;
use crate::rows::miscounted;
use crate::shared_connection::{Event, EventReader};
use crate::{Batch, ContinueCheck, Error, ResultStream, Stats};

/// What a COPY sends.
#[derive(Clone, Copy)]
pub(crate) enum CopyAnswer<'a> {
    /// One stream. The types are those of its columns, if they are to be named.
    Stream { types: &'a [u32] },
    /// One stream or more, which have the same columns. PROTOCOL §11.2.
    Streams,
}

/// A result in the Colonnade format.
pub(crate) struct CopyOut {
    reader: EventReader<Postgres, Bytes>,
    decoder: Decoder,
    schema: SchemaRef,
    asked: RequestedSize,
    limits: DecodeLimits,
    /// The schema message of the first stream, if other streams may follow.
    common: Option<Arc<Schema>>,
    /// The rows of the streams that have ended.
    rows_before: u64,
}

impl CopyOut {
    /// Waits for the schema message.
    pub(crate) fn open(
        reader: EventReader<Postgres, Bytes>,
        asked: RequestedSize,
        limits: DecodeLimits,
        answer: CopyAnswer<'_>,
        keep: ContinueCheck<'_>,
    ) -> Result<Self, Error> {
        let schema = SchemaRef::new(arrow_schema::Schema::empty());
        let decoder = Decoder::new(limits).requested(asked);
        let mut copy = Self { reader, decoder, schema, asked, limits, common: None, rows_before: 0 };
        match copy.message(keep)? {
            Some((Message::Schema(schema), _)) => {
                copy.reader.meter.schema(schema.fields.len());
                let mut named = schema.as_ref().clone();
                match answer {
                    // Another number of columns means that a table was altered in between. Then none has a name.
                    CopyAnswer::Stream { types } if types.len() == named.fields.len() => {
                        for (field, type_oid) in named.fields.iter_mut().zip(types) {
                            type_names::note(field, *type_oid);
                        }
                    }
                    CopyAnswer::Stream { .. } => {}
                    CopyAnswer::Streams => copy.common = Some(schema),
                }
                copy.schema = Arc::new(colonnade_wire::arrow::schema_to_arrow(&named));
                Ok(copy)
            }
            _ => Err(copy.reader.refuse(damaged(colonnade_wire::Damage::Truncated.into()))),
        }
    }

    /// The next message and the addresses of its bytes; `None` at the verified end.
    fn message(&mut self, keep: ContinueCheck<'_>) -> Result<Option<(Message, Range<usize>)>, Error> {
        match self.reader.next(keep)? {
            Some(Event::Part(bytes)) => {
                self.reader.meter.received((HEADER + bytes.len()) as u64);
                let start = bytes.as_ptr().addr();
                let addresses = start..start + bytes.len();
                if let (Some(_), Ok(ended)) = (&self.common, self.decoder.finish()) {
                    self.rows_before = self.rows_before.saturating_add(ended.rows);
                    self.decoder = Decoder::new(self.limits).requested(self.asked);
                }
                match self.decoder.message(bytes) {
                    Ok(Message::Schema(schema)) if self.common.as_ref().is_some_and(|common| *common != schema) => {
                        let message = "the parts of one result have different columns".to_owned();
                        Err(self.reader.refuse(protocol(message)))
                    }
                    Ok(message) => Ok(Some((message, addresses))),
                    Err(error) => Err(self.reader.refuse(damaged(error))),
                }
            }
            Some(Event::Finished(finished)) => {
                let totals = self.decoder.finish().map_err(|error| self.reader.refuse(damaged(error)))?;
                let (received, rows) = (self.rows_before.saturating_add(totals.rows), finished.rows);
                if rows == Some(received) {
                    Ok(None)
                } else {
                    Err(self.reader.refuse(protocol(miscounted(received, rows))))
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

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        loop {
            match self.message(keep)? {
                None => return Ok(None),
                Some((Message::Chunk(chunk), addresses)) => {
                    self.reader.meter.chunk(&chunk);
                    return Ok(Some(Batch::encoded(self.schema.clone(), chunk, addresses)));
                }
                // The end message, which CommandComplete and ReadyForQuery follow, or the schema message of a further
                // stream.
                Some(_) => {}
            }
        }
    }

    fn stats(&self) -> Stats {
        self.reader.meter.stats()
    }
}
