//! `FORMAT colonnade`: reads batches from a Colonnade stream (PROTOCOL §10). `FORMAT arrow` shares how columns are
//! named.

mod fields;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use bytes::Bytes;
use colonnade_wire::arrow::array_from_column;
use colonnade_wire::{Damage, DecodeError, DecodeLimits, Decoder, EncodedChunk, HEADER_LEN, Message, message_length};

use super::frame::Frame;
use super::rows::column_name;
use super::{CopyDataError, CopyReader, MAX_ROW_BYTES, ReadRows};
use crate::engine::TargetColumn;
use crate::error::Failure;
use crate::limits::{Budget, Charge, Charged};

/// The largest size of a decoded message, unless less is left in the session's budget.
const MAX_DECODED_BYTES: usize = 512 << 20;
/// Chunks are gathered until they have this number of rows, or [`INSERT_BYTES`]: an INSERT has a cost of its own, and
/// engines store rows in groups of about this size.
const INSERT_ROWS: usize = 122_880;
const INSERT_BYTES: usize = 32 << 20;

/// Reads a stream. CopyData messages may divide it anywhere.
pub(super) struct Colonnade {
    targets: Vec<TargetColumn>,
    /// The targets as COPY … TO sends them.
    exported: SchemaRef,
    /// Whether the statement has a list of columns, which the stream must have all.
    is_listed: bool,
    limits: DecodeLimits,
    decoder: Decoder,
    /// For each of the stream's fields, the position of its column among the targets, once the schema has arrived.
    columns: Vec<usize>,
    frame: Frame,
    waiting: Vec<Charged<RecordBatch>>,
    waiting_bytes: usize,
    /// The rows of the chunks so far, and those of them that the session has taken.
    rows: u64,
    taken_rows: u64,
}

impl Colonnade {
    pub fn new(targets: Vec<TargetColumn>, exported: SchemaRef, is_listed: bool, budget: &Arc<Budget>) -> Self {
        let decoded_bytes = budget.remaining().min(MAX_DECODED_BYTES) as u64;
        let limits = DecodeLimits { message_bytes: MAX_ROW_BYTES as u64, decoded_bytes };
        Self {
            targets,
            exported,
            is_listed,
            limits,
            decoder: Decoder::new(limits),
            columns: Vec::new(),
            frame: Frame::new(budget),
            waiting: Vec::new(),
            waiting_bytes: 0,
            rows: 0,
            taken_rows: 0,
        }
    }

    /// The length of the message in `frame`, or the bytes that are needed to know it.
    fn wanted(&self) -> Result<usize, Failure> {
        match self.frame.bytes().first_chunk::<HEADER_LEN>() {
            Some(header) => message_length(header, &self.limits).map_err(damaged),
            None => Ok(HEADER_LEN),
        }
    }

    /// Decodes the complete message in the frame.
    fn decode(&mut self) -> Result<(), Failure> {
        // The buffer is aligned, so plain columns are slices of it (FORMAT §3).
        let (message, charge) = self.frame.take();
        match self.decoder.message(Bytes::from_owner(message)).map_err(damaged)? {
            Message::Schema(schema) => {
                let schema = colonnade_wire::arrow::schema_to_arrow(&schema);
                self.columns = fields::matched(&schema, &self.targets, &self.exported, self.is_listed)?;
            }
            Message::Chunk(chunk) => self.add(&chunk, charge)?,
            Message::End(_) => {}
        }
        Ok(())
    }

    fn add(&mut self, chunk: &EncodedChunk, charge: Charge) -> Result<(), Failure> {
        if self.columns.is_empty() && chunk.rows() > 0 {
            return Err(malformed("it has rows but no columns"));
        }
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (at, field) in chunk.schema().fields.iter().enumerate() {
            arrays.push(array_from_column(field, chunk.column(at).map_err(damaged)?));
        }
        // It was only to be checked.
        if chunk.rows() == 0 {
            return Ok(());
        }
        self.rows += chunk.rows() as u64;
        let fields = arrays.iter().enumerate().map(|(at, array)| {
            // Without the metadata, because an engine may read them as another type.
            Field::new(column_name(at), array.data_type().clone(), true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(chunk.rows()));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options).map_err(malformed)?;
        let bytes = batch.get_array_memory_size().max(charge.bytes());
        self.waiting_bytes += bytes;
        self.waiting.push(charge.keep(batch, bytes)?);
        Ok(())
    }
}

impl CopyReader for Colonnade {
    fn feed(&mut self, mut data: &[u8]) -> Result<(), Failure> {
        while !data.is_empty() {
            let length = self.wanted()?;
            data = self.frame.fill(data, length)?;
            let arrived = self.frame.bytes().len();
            if arrived >= HEADER_LEN && self.wanted()? == arrived {
                self.decode()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if !self.frame.bytes().is_empty() {
            return Err(malformed("a message is incomplete"));
        }
        self.decoder.finish().map(drop).map_err(damaged)
    }

    fn batch(&mut self, all: bool) -> Result<Option<ReadRows>, Failure> {
        let rows = (self.rows - self.taken_rows) as usize;
        if rows == 0 || !(all || rows >= INSERT_ROWS || self.waiting_bytes >= INSERT_BYTES) {
            return Ok(None);
        }
        let batches = self.waiting.drain(..).map(|batch| RecordBatch::clone(&batch)).collect();
        self.waiting_bytes = 0;
        self.taken_rows = self.rows;
        Ok(Some(ReadRows { batches, exported: Some(self.columns.clone()) }))
    }
}

fn damaged(error: DecodeError) -> Failure {
    match error.damage {
        Damage::OverLimit { declared, limit } => CopyDataError::MessageTooLarge { bytes: declared, limit }.into(),
        _ => malformed(error),
    }
}

fn malformed(problem: impl ToString) -> Failure {
    super::malformed("colonnade", problem)
}

/// The batch with names by position. As in every format of rows, the order of the columns counts and not their names.
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
    schema.fields().iter().try_for_each(|field| fields::check_texts(field, format))?;
    let fields = schema.fields().iter().enumerate();
    let fields = fields.map(|(at, field)| Field::clone(field).with_name(column_name(at)));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let renamed = RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &options);
    renamed.map_err(|error| super::malformed(format, error))
}

#[cfg(test)]
mod tests;
