//! Writes a query's rows to a spool. Its own rows are the parts, one row when each is complete.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema as ArrowSchema, SchemaRef};
use colonnade_wire::arrow::{columns_from_batch, rows_per_chunk, schema_from_arrow};
use colonnade_wire::{Config, Encoder, Schema};

use super::spooled::KeptForm;
use super::{Part, Spooled, Ticket, Tickets, unwritable};
use crate::connection::cancel::Control;
use crate::engine::{BatchSize, EngineError, Rows};
use crate::error::{Failure, SqlState};
use crate::limits::LimitError;
use crate::message::backend::{self, MAX_COPY_COLUMNS};
use crate::rows::{TooManyColumns, interrupted};

/// The size of the chunks. It is the default of COPY, so that readers with the defaults get the chunks as they are.
pub const CHUNK: BatchSize =
    BatchSize { rows: 65_536, bytes: 4 << 20, columns: MAX_COPY_COLUMNS, may_be_encoded: false, has_origins: false };
/// The smallest parts of a result that its reader wants in equal shares, unless the whole result is smaller. Smaller
/// ones would cost more than their rows.
const SMALL_PART: BatchSize = BatchSize { rows: 1024, bytes: 16 << 10, ..CHUNK };
/// So many of the parts written so far have the size of the share of one reader. A share is made of whole parts, so
/// shares differ by a part at most.
const PARTS_PER_SHARE: u64 = 4;
/// Larger pieces are written without a copy.
const BUFFER_BYTES: usize = 256 << 10;

/// How a result is spooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolSettings {
    /// A part ends when its columns have this size as plain Arrow buffers.
    pub part_bytes: u64,
    /// The number of equal shares that will be made of the parts; `None` if all parts may have the full size.
    pub parts: Option<u64>,
    /// How long the ticket lives after its last use, if that is less than the server's time.
    pub ttl: Option<Duration>,
    /// How the chunks are encoded.
    pub config: Config,
}

/// Writes the result of a query to a spool, one part for each call of `next`. Dropped before the end, it ends the
/// ticket.
pub struct SpoolingRows {
    /// `None` after the end or an error.
    rows: Option<Box<dyn Rows>>,
    /// The rows of the last batch that are not written yet.
    rest: Option<RecordBatch>,
    control: Arc<Control>,
    tickets: Arc<Tickets>,
    ticket: Ticket,
    spooled: Arc<Spooled>,
    schema: SchemaRef,
    stream_schema: Schema,
    settings: SpoolSettings,
    writer: BufWriter<File>,
    /// Bytes in the file.
    written: u64,
    /// Bytes of all streams.
    encoded: u64,
    /// Rows, and the size of the columns as plain Arrow buffers, of the parts so far.
    rows_before: u64,
    plain_before: u64,
    is_complete: bool,
    has_failed: bool,
}

impl SpoolingRows {
    /// Begins a spool for `rows` among `tickets`.
    ///
    /// # Errors
    /// If a stream cannot carry the columns, or no ticket or file can be had.
    pub fn begin(
        rows: Box<dyn Rows>,
        control: &Arc<Control>,
        tickets: &Arc<Tickets>,
        settings: SpoolSettings,
    ) -> Result<Self, Failure> {
        let stream_schema = schema_from_arrow(&rows.schema())?;
        let columns = rows.schema().fields().len();
        if columns > MAX_COPY_COLUMNS {
            return Err(TooManyColumns { count: columns, limit: MAX_COPY_COLUMNS }.into());
        }
        let added = tickets.add(&control.user, settings.ttl);
        let (ticket, spooled) = added.inspect_err(|failure| tickets.count_failure(failure))?;
        spooled.set_form(KeptForm { config: settings.config, type_names: rows.type_names().to_vec(), columns });
        let file = match spooled.file.try_clone() {
            Ok(file) => file,
            Err(error) => {
                tickets.remove(ticket);
                return Err(unwritable(error));
            }
        };
        Ok(Self {
            rows: Some(rows),
            rest: None,
            control: Arc::clone(control),
            tickets: Arc::clone(tickets),
            ticket,
            spooled,
            schema: schema(),
            stream_schema,
            settings,
            writer: BufWriter::with_capacity(BUFFER_BYTES, file),
            written: 0,
            encoded: 0,
            rows_before: 0,
            plain_before: 0,
            is_complete: false,
            has_failed: false,
        })
    }

    #[cfg(test)]
    pub(super) fn spooled(&self) -> &Arc<Spooled> {
        &self.spooled
    }

    /// Writes the next part; `None` after the last one.
    fn write_part(&mut self) -> Result<Option<(usize, Part)>, Failure> {
        let mut batch = self.next_batch()?;
        if batch.is_none() && self.written > 0 {
            self.finish();
            return Ok(None);
        }
        let mut part = Part { start: self.written, ..Part::default() };
        let share = self.share().unwrap_or(BatchSize { rows: usize::MAX, bytes: usize::MAX, ..CHUNK });
        let most_bytes = self.settings.part_bytes.min(share.bytes as u64);
        let mut encoder = Encoder::new(self.stream_schema.clone());
        let message = encoder.schema_message();
        self.write_message(&mut part, &[&message], 0)?;
        while let Some(rows) = batch.take() {
            let rows_left = share.rows.saturating_sub(part.rows as usize);
            let most = BatchSize { rows: rows_left, bytes: CHUNK.bytes.min(share.bytes), ..CHUNK };
            self.write_chunk(&mut part, &mut encoder, rows, most)?;
            if part.plain_bytes >= most_bytes || part.rows >= share.rows as u64 {
                break;
            }
            batch = self.next_batch()?;
        }
        let message = encoder.end_message();
        self.write_message(&mut part, &[&message], 0)?;
        self.writer.flush().map_err(unwritable)?;
        part.length = self.written - part.start;
        self.rows_before += part.rows;
        self.plain_before = self.plain_before.saturating_add(part.plain_bytes);
        Ok(Some((self.spooled.add(part), part)))
    }

    /// The size of the next part if the result is to be shared, and of its chunks. How large the result will be is
    /// unknown. So parts are small at first, and grow with what is written: their number grows with the logarithm of
    /// the result's size.
    fn share(&self) -> Option<BatchSize> {
        let parts = self.settings.parts?.saturating_mul(PARTS_PER_SHARE);
        let size = |before: u64, least: usize| usize::try_from(before / parts).unwrap_or(usize::MAX).max(least);
        Some(BatchSize {
            rows: size(self.rows_before, SMALL_PART.rows),
            bytes: size(self.plain_before, SMALL_PART.bytes),
            ..CHUNK
        })
    }

    fn finish(&mut self) {
        self.rows = None;
        self.is_complete = true;
        self.spooled.complete();
    }

    /// The next rows.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Failure> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        let Some(rows) = &mut self.rows else { return Ok(None) };
        loop {
            self.control.check()?;
            match rows.next() {
                Ok(Some(batch)) if batch.num_rows() == 0 => {}
                Ok(batch) => {
                    if batch.is_none() {
                        // The statement ends, so that the session can run another one.
                        self.rows = None;
                    }
                    return Ok(batch);
                }
                Err(error) => return Err(interrupted(&self.control, error)),
            }
        }
    }

    /// Writes the first rows of `batch` as one chunk of this size at most. Keeps its other rows for the next one.
    fn write_chunk(
        &mut self,
        part: &mut Part,
        encoder: &mut Encoder,
        batch: RecordBatch,
        most: BatchSize,
    ) -> Result<(), Failure> {
        self.control.check()?;
        let mut rows = batch.slice(0, batch.num_rows().min(most.rows));
        loop {
            let step = rows_per_chunk(&rows, CHUNK.rows, most.bytes);
            if step >= rows.num_rows() {
                break;
            }
            rows = rows.slice(0, step);
        }
        let written = rows.num_rows();
        self.rest = (written < batch.num_rows()).then(|| batch.slice(written, batch.num_rows() - written));
        let chunk = encoder.chunk(written, &columns_from_batch(&rows), self.settings.config)?;
        self.write_message(part, &chunk.slices(), written)?;
        part.rows += chunk.rows() as u64;
        part.plain_bytes += chunk.plain_bytes() as u64;
        part.max_rows = part.max_rows.max(chunk.rows());
        part.max_plain_bytes = part.max_plain_bytes.max(chunk.plain_bytes());
        encoder.recycle(chunk);
        Ok(())
    }

    /// Writes a message of the stream as CopyData.
    fn write_message(&mut self, part: &mut Part, message: &[&[u8]], rows: usize) -> Result<(), Failure> {
        let bytes: usize = message.iter().map(|slice| slice.len()).sum();
        let header = backend::copy_data_header(bytes);
        let header = header.ok_or(Failure::MessageTooLarge { bytes, rows, limit: i32::MAX as usize })?;
        self.written += (header.len() + bytes) as u64;
        self.encoded += bytes as u64;
        if let Some(limit) = self.control.limits.result_bytes.filter(|limit| self.encoded > *limit) {
            return Err(LimitError::Result(limit).into());
        }
        self.spooled.charge(self.written)?;
        for slice in std::iter::once(&header[..]).chain(message.iter().copied()) {
            self.writer.write_all(slice).map_err(unwritable)?;
        }
        part.encoded_bytes += bytes as u64;
        part.max_message_bytes = part.max_message_bytes.max(bytes);
        Ok(())
    }

    fn row(&self, number: usize, part: &Part) -> Result<RecordBatch, EngineError> {
        let number = i32::try_from(number).map_err(|_| LimitError::TicketCount(i32::MAX as usize));
        let number = number.map_err(Failure::from)?;
        let count = |count: u64| Arc::new(Int64Array::from(vec![i64::try_from(count).unwrap_or(i64::MAX)]));
        let columns: Vec<arrow_array::ArrayRef> = vec![
            Arc::new(StringArray::from(vec![self.ticket.to_string()])),
            Arc::new(Int32Array::from(vec![number])),
            count(part.rows),
            count(part.plain_bytes),
            count(part.encoded_bytes),
        ];
        let internal = |error: ArrowError| EngineError::new(SqlState::INTERNAL_ERROR, error.to_string());
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(internal)
    }
}

impl Rows for SpoolingRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        if self.is_complete {
            return Ok(None);
        }
        if self.has_failed {
            return Err(EngineError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "the spool has failed before"));
        }
        match self.write_part() {
            Ok(Some((number, part))) => self.row(number, &part).map(Some),
            Ok(None) => Ok(None),
            Err(failure) => {
                (self.rows, self.has_failed) = (None, true);
                self.tickets.remove(self.ticket);
                self.tickets.count_failure(&failure);
                Err(failure.into())
            }
        }
    }
}

impl Drop for SpoolingRows {
    fn drop(&mut self) {
        if !self.is_complete {
            self.tickets.remove(self.ticket);
        }
    }
}

/// The columns of colonnade_spool.
fn schema() -> SchemaRef {
    let field = |name, type_| Field::new(name, type_, false);
    let fields = vec![
        field("ticket", DataType::Utf8),
        field("part", DataType::Int32),
        field("rows", DataType::Int64),
        field("plain_bytes", DataType::Int64),
        field("encoded_bytes", DataType::Int64),
    ];
    Arc::new(ArrowSchema::new(fields))
}
