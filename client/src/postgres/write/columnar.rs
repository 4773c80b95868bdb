//! Rows as a Colonnade stream: PROTOCOL §10.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use colonnade_wire::arrow::{columns_from_batch, rows_per_chunk, schema_from_arrow};
use colonnade_wire::{CodecSet, Controller, EncodeError, Encoder, Writer};

use super::PostgresQueue;
use super::column_target::ColumnTarget;
use super::steps::Step;
use super::transfer::{CopyPayload, Transfer};
use crate::link;
use crate::shared_connection::AnswerError;
use crate::write::TableWriter;
use crate::write::exact_array::convert_columns;
use crate::{ContinueCheck, Error, ErrorKind};

/// The most rows of a batch: a row group of DuckDB. Inserting whole ones costs it a sixth less than parts of them.
const BATCH_ROWS: usize = 122_880;
/// The most plain bytes of a batch, unless a single row is larger. Every server takes messages of this size.
const BATCH_BYTES: usize = 24 << 20;
/// The most rows and plain bytes of an encoded chunk: the encoding of the next one follows what the link shows.
const CHUNK_ROWS: usize = 61_440;
const CHUNK_BYTES: usize = 8 << 20;

/// Converts batches, and passes them to the connection's thread.
pub(super) struct ColumnarWriter {
    pub(super) queue: PostgresQueue,
    /// The stream's columns, in the order of the batches'.
    pub(super) schema: SchemaRef,
    pub(super) targets: Vec<ColumnTarget>,
    pub(super) rows: u64,
}

impl ColumnarWriter {
    fn convert(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let columns =
            convert_columns(batch, self.rows, |place, array, field| self.targets[place].convert(array, field))?;
        // The names and the metadata within nested types may differ from the stream's, which its schema message has.
        let fields = columns.iter().zip(self.schema.fields());
        let fields = fields.map(|(column, field)| Field::new(field.name(), column.data_type().clone(), true));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(|cause| {
            Error::new(ErrorKind::Unsupported, format!("the rows cannot be converted: {cause}")).with_sqlstate("0A000")
        })
    }
}

impl TableWriter for ColumnarWriter {
    fn write(&mut self, batch: &RecordBatch, keep: ContinueCheck<'_>) -> Result<(), Error> {
        let mut start = 0;
        while start < batch.num_rows() {
            let rest = batch.slice(start, batch.num_rows() - start);
            let part = first_part(rest, BATCH_ROWS, BATCH_BYTES);
            let converted = self.convert(&part)?;
            start += part.num_rows();
            self.rows += part.num_rows() as u64;
            self.queue.send(Step::Batch(converted), keep)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, keep: ContinueCheck<'_>) -> Result<u64, Error> {
        let rows = self.rows;
        Ok(self.queue.finish(Step::Finish(rows), keep)?.unwrap_or(rows))
    }
}

/// The first rows of a batch, within both limits but at least one.
fn first_part(batch: RecordBatch, rows: usize, bytes: usize) -> RecordBatch {
    let mut batch = batch.slice(0, batch.num_rows().min(rows));
    loop {
        let step = rows_per_chunk(&batch, rows, bytes);
        if step >= batch.num_rows() {
            return batch;
        }
        // The first rows may be larger than the average.
        batch = batch.slice(0, step);
    }
}

/// Encodes and sends the batches, on the connection's thread.
pub(super) struct ColumnarPayload {
    schema: SchemaRef,
    writer: Option<Writer>,
}

impl ColumnarPayload {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self { schema, writer: None }
    }

    fn writer(&mut self) -> Result<&mut Writer, AnswerError> {
        let missing = || Error::new(ErrorKind::Usage, "a stream that has not begun");
        self.writer.as_mut().ok_or_else(missing).map_err(AnswerError::Refused)
    }
}

impl CopyPayload for ColumnarPayload {
    fn begin(&mut self, transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        let schema = schema_from_arrow(&self.schema).map_err(|cause| AnswerError::Refused(unsupported(&cause)))?;
        let socket = transfer.socket();
        let controller = Controller::auto(link::distance(socket), CodecSet::ALL, 1.0);
        let controller = match transfer.link_estimate() {
            Some(estimate) => controller.remembering(&estimate),
            None => controller,
        };
        if controller.is_adaptive() {
            link::limit_unsent(socket);
        }
        let writer = self.writer.insert(Writer::new(Encoder::new(schema), controller));
        let message = writer.encoder().schema_message();
        transfer.send_data(&[&message])
    }

    fn step(&mut self, transfer: &mut Transfer<'_>, step: Step) -> Result<(), AnswerError> {
        let Step::Batch(batch) = step else { return Ok(()) };
        let writer = self.writer()?;
        let (most_rows, most_bytes) =
            if writer.is_plain() { (BATCH_ROWS, BATCH_BYTES) } else { (CHUNK_ROWS, CHUNK_BYTES) };
        let mut start = 0;
        while start < batch.num_rows() {
            let share = writer.share();
            let part = |whole: usize| ((whole as f64 * share) as usize).max(1);
            let rest = batch.slice(start, batch.num_rows() - start);
            let rows = first_part(rest, part(most_rows), part(most_bytes));
            start += rows.num_rows();
            watch(writer, transfer, 0);
            let chunk = writer.chunk(rows.num_rows(), &columns_from_batch(&rows));
            let chunk = chunk.map_err(|cause| AnswerError::Refused(not_encoded(&cause)))?;
            transfer.send_data(&chunk.slices())?;
            watch(writer, transfer, chunk.len());
            writer.recycle(chunk);
        }
        Ok(())
    }

    fn end(&mut self, transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        let writer = self.writer()?;
        if let Some(estimate) = writer.link_estimate() {
            transfer.remember_link(estimate);
        }
        let message = writer.encoder().end_message();
        transfer.send_data(&[&message])
    }
}

/// Passes a sample of the link to the controller, if it learns from it. `bytes` were sent since the last one.
fn watch(writer: &mut Writer, transfer: &Transfer<'_>, bytes: usize) {
    if writer.watches_link()
        && let Some(queue) = link::queue(transfer.socket())
    {
        writer.link(bytes, &queue);
    }
}

fn unsupported(cause: &impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unsupported, cause.to_string()).with_sqlstate("0A000")
}

fn not_encoded(cause: &EncodeError) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the rows cannot be encoded: {cause}")).with_sqlstate("54000")
}
