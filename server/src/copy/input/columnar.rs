//! Batches that come as such: Arrow IPC streams and Colonnade streams.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use colonnade_wire::arrow::array_from_column;
use colonnade_wire::{Decoder, Limits, Message};

use super::rows::column_name;
use super::{CopyDataError, Reader};
use crate::error::Failure;
use crate::message::frontend::LARGE_LIMIT;

/// `FORMAT arrow`: an IPC stream, however it is cut into messages.
pub(super) struct Arrow {
    width: usize,
    decoder: StreamDecoder,
    batches: VecDeque<RecordBatch>,
}

impl Arrow {
    pub fn new(width: usize) -> Self {
        Self { width, decoder: StreamDecoder::new(), batches: VecDeque::new() }
    }
}

impl Reader for Arrow {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        let wrong = |error| CopyDataError::malformed("arrow", error);
        let mut buffer = Buffer::from(data);
        while !buffer.is_empty() {
            if let Some(batch) = self.decoder.decode(&mut buffer).map_err(wrong)? {
                self.batches.push_back(renamed(&batch, self.width)?);
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.decoder.finish().map_err(|error| CopyDataError::malformed("arrow", error))
    }

    fn batch(&mut self, _: bool) -> Result<Option<RecordBatch>, Failure> {
        Ok(self.batches.pop_front())
    }
}

/// What one message may become in memory: the messages themselves are bounded.
const LIMITS: Limits = Limits { message_bytes: LARGE_LIMIT as u64, decoded_bytes: 512 << 20 };

/// `FORMAT colonnade`: a message of the stream in each message (PROTOCOL.md).
pub(super) struct Colonnade {
    width: usize,
    decoder: Decoder,
    batches: VecDeque<RecordBatch>,
}

impl Colonnade {
    pub fn new(width: usize) -> Self {
        Self { width, decoder: Decoder::new(LIMITS), batches: VecDeque::new() }
    }
}

impl Reader for Colonnade {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        let wrong = |error| CopyDataError::malformed("colonnade", error);
        if let Message::Chunk(chunk) = self.decoder.message(Bytes::copy_from_slice(data)).map_err(wrong)? {
            let schema = colonnade_wire::arrow::schema_to_arrow(chunk.schema());
            let arrays =
                (0..chunk.columns()).map(|at| Ok(array_from_column(&chunk.schema().fields[at], chunk.column(at)?)));
            let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
            let options = RecordBatchOptions::new().with_row_count(Some(chunk.rows()));
            let batch = RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options)?;
            self.batches.push_back(renamed(&batch, self.width)?);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.decoder.finish().map(drop).map_err(|error| CopyDataError::malformed("colonnade", error))
    }

    fn batch(&mut self, _: bool) -> Result<Option<RecordBatch>, Failure> {
        Ok(self.batches.pop_front())
    }
}

/// Columns go by their places, as in every format.
fn renamed(batch: &RecordBatch, wanted: usize) -> Result<RecordBatch, Failure> {
    let given = batch.num_columns();
    if given != wanted {
        return Err(CopyDataError::Columns { given, wanted }.into());
    }
    let schema = batch.schema();
    let fields = schema.fields().iter().enumerate();
    let fields = fields.map(|(at, field)| Field::clone(field).with_name(column_name(at)));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &options)?)
}
