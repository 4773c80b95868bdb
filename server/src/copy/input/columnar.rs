//! `FORMAT colonnade`: reads batches from a Colonnade stream. `FORMAT arrow` shares how columns are named.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use colonnade_wire::arrow::array_from_column;
use colonnade_wire::{DecodeLimits, Decoder, Message};

use super::rows::column_name;
use super::{CopyDataError, CopyReader};
use crate::error::Failure;
use crate::limits::budget::{Budget, Kept};
use crate::message::frontend::LARGE_LIMIT;

/// The largest size of a decoded message, unless less is left in the session's budget.
const MAX_DECODED_BYTES: usize = 512 << 20;

/// Reads one message of the stream from each CopyData message (PROTOCOL.md).
pub(super) struct Colonnade {
    width: usize,
    decoder: Decoder,
    batches: VecDeque<Kept<RecordBatch>>,
    budget: Arc<Budget>,
}

impl Colonnade {
    pub fn new(width: usize, budget: &Arc<Budget>) -> Self {
        let decoded_bytes = budget.remaining().min(MAX_DECODED_BYTES) as u64;
        let decoder = Decoder::new(DecodeLimits { message_bytes: LARGE_LIMIT as u64, decoded_bytes });
        Self { width, decoder, batches: VecDeque::new(), budget: Arc::clone(budget) }
    }
}

impl CopyReader for Colonnade {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        let wrong = |error| super::malformed("colonnade", error);
        if let Message::Chunk(chunk) = self.decoder.message(Bytes::copy_from_slice(data)).map_err(wrong)? {
            let schema = colonnade_wire::arrow::schema_to_arrow(chunk.schema());
            let arrays =
                (0..chunk.columns()).map(|at| Ok(array_from_column(&chunk.schema().fields[at], chunk.column(at)?)));
            let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
            let options = RecordBatchOptions::new().with_row_count(Some(chunk.rows()));
            let batch = RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options);
            let batch = batch.map_err(|error| super::malformed("colonnade", error))?;
            let bytes = batch.get_array_memory_size();
            self.batches.push_back(self.budget.keep(with_positional_names(&batch, self.width, "colonnade")?, bytes)?);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.decoder.finish().map(drop).map_err(|error| super::malformed("colonnade", error))
    }

    fn batch(&mut self, _: bool) -> Result<Option<RecordBatch>, Failure> {
        Ok(self.batches.pop_front().map(|batch| RecordBatch::clone(&batch)))
    }
}

/// The batch with names by position. As in every format, the order of the columns counts and not their names.
pub(super) fn with_positional_names(
    batch: &RecordBatch,
    wanted: usize,
    format: &'static str,
) -> Result<RecordBatch, Failure> {
    let given = batch.num_columns();
    if given != wanted {
        return Err(CopyDataError::Columns { given, wanted }.into());
    }
    let schema = batch.schema();
    let fields = schema.fields().iter().enumerate();
    let fields = fields.map(|(at, field)| Field::clone(field).with_name(column_name(at)));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let renamed = RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &options);
    renamed.map_err(|error| super::malformed(format, error))
}
