//! Rows of a result, which are decoded on request.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use colonnade_wire::arrow::{array_from_column, codes_plain_bytes, plain_bytes};
use colonnade_wire::{Bitmap, Column, EncodedChunk, Values};

use crate::allowance::Share;
use crate::dtype::Plan;
use crate::{Error, ErrorKind};

/// Some rows of a result.
#[derive(Clone, Debug)]
pub struct Batch {
    schema: SchemaRef,
    rows: Rows,
    part: usize,
    /// The conversions in their order: a converted result may be converted again.
    conversions: Vec<Conversion>,
    share: Option<Arc<Share>>,
}

/// The columns that get other types.
#[derive(Clone, Debug)]
struct Conversion {
    plan: Arc<Plan>,
    /// Rows of the result before this batch.
    first_row: u64,
}

#[derive(Clone, Debug)]
enum Rows {
    Encoded { chunk: Arc<EncodedChunk>, message: Range<usize> },
    Decoded(RecordBatch),
}

/// A slice of a received message keeps the whole message in memory. It is not copied if it is at least this share of
/// the message, in eighths.
const PINNED_EIGHTHS: usize = 7;

impl Batch {
    /// `message` is the range of addresses of the bytes that `chunk` was opened from.
    pub(crate) fn encoded(schema: SchemaRef, chunk: EncodedChunk, message: Range<usize>) -> Self {
        Self {
            schema,
            rows: Rows::Encoded { chunk: Arc::new(chunk), message },
            part: 0,
            conversions: Vec::new(),
            share: None,
        }
    }

    /// The same rows as those of a part, by its number from 0 on.
    #[must_use]
    pub(crate) fn of_part(mut self, part: usize) -> Self {
        self.part = part;
        self
    }

    /// The number of the part that has the rows, if the result is read in parts. Parts are ordered by their numbers.
    pub fn part(&self) -> usize {
        self.part
    }

    /// The same rows with the types of `plan`, which are those of `schema`.
    pub(crate) fn converted(mut self, schema: SchemaRef, plan: Arc<Plan>, first_row: u64) -> Self {
        self.schema = schema;
        self.conversions.push(Conversion { plan, first_row });
        self
    }

    /// The same rows, which count towards the limit of a result.
    pub(crate) fn accounted(mut self, share: Arc<Share>) -> Self {
        self.share = Some(share);
        self
    }

    /// Bytes that it occupies now: of its buffers, or of the received message.
    pub fn bytes(&self) -> u64 {
        match &self.rows {
            Rows::Encoded { chunk, .. } => chunk.body_bytes() as u64,
            Rows::Decoded(batch) => plain_bytes(batch) as u64,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match &self.rows {
            Rows::Encoded { chunk, .. } => chunk.rows(),
            Rows::Decoded(batch) => batch.num_rows(),
        }
    }

    /// The columns' names and types.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Decodes one column. It may point into the received bytes.
    ///
    /// # Errors
    /// There is no such column, or its bytes are damaged.
    pub fn column(&self, index: usize) -> Result<ArrayRef, Error> {
        if index >= self.schema.fields().len() {
            return Err(Error::new(ErrorKind::Usage, format!("the result has no column number {index}")));
        }
        let array = match &self.rows {
            Rows::Encoded { chunk, .. } => {
                let column = self.read(chunk, index)?;
                if let Some(share) = &self.share {
                    share.column(index, taken(chunk, index, &column))?;
                }
                array(chunk, index, column)?
            }
            Rows::Decoded(batch) => batch.column(index).clone(),
        };
        retyped(&self.conversions, index, array)
    }

    /// Decodes all columns. The received bytes are kept only if they are most of the result's memory.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn decode(self) -> Result<RecordBatch, Error> {
        let (chunk, message) = match self.rows {
            Rows::Decoded(batch) => return recorded(batch, self.schema, &self.conversions),
            Rows::Encoded { ref chunk, ref message } => (Arc::clone(chunk), message.clone()),
        };
        let columns = (0..chunk.columns()).map(|index| self.read(&chunk, index));
        let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
        if let Some(share) = &self.share {
            share.whole(columns.iter().enumerate().map(|(index, column)| taken(&chunk, index, column)).sum())?;
        }
        let pins = |buffer: &Bytes| message.contains(&buffer.as_ptr().addr());
        let mut pinned = 0;
        let mut count = |buffer: &mut Bytes| pinned += if pins(buffer) { buffer.len() } else { 0 };
        columns.iter_mut().for_each(|column| each_buffer(column, &mut count));
        if pinned > 0 && pinned < message.len() / 8 * PINNED_EIGHTHS {
            let mut unpin = |buffer: &mut Bytes| {
                if pins(buffer) {
                    *buffer = Bytes::copy_from_slice(buffer);
                }
            };
            columns.iter_mut().for_each(|column| each_buffer(column, &mut unpin));
        }
        let convert = |index, column| retyped(&self.conversions, index, array(&chunk, index, column)?);
        let arrays = columns.into_iter().enumerate().map(|(index, column)| convert(index, column));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(chunk.rows()));
        RecordBatch::try_new_with_options(self.schema, arrays, &options)
            .map_err(|cause| Error::new(ErrorKind::Protocol, "the chunk does not fit its schema").with_cause(cause))
    }

    /// Decodes a column, as codes if its first conversion takes these.
    fn read(&self, chunk: &EncodedChunk, index: usize) -> Result<Column<Bytes>, Error> {
        let takes_codes = self.conversions.iter().find_map(|conversion| conversion.plan.takes_codes(index));
        let column = if takes_codes == Some(true) { chunk.column_with_codes(index) } else { chunk.column(index) };
        column.map_err(damaged)
    }
}

impl From<RecordBatch> for Batch {
    fn from(batch: RecordBatch) -> Self {
        Self { schema: batch.schema(), rows: Rows::Decoded(batch), part: 0, conversions: Vec::new(), share: None }
    }
}

fn retyped(conversions: &[Conversion], index: usize, array: ArrayRef) -> Result<ArrayRef, Error> {
    conversions.iter().try_fold(array, |array, conversion| conversion.plan.convert(index, array, conversion.first_row))
}

/// A batch that came as arrays.
fn recorded(batch: RecordBatch, schema: SchemaRef, conversions: &[Conversion]) -> Result<RecordBatch, Error> {
    if conversions.is_empty() {
        return Ok(batch);
    }
    let (_, columns, rows) = batch.into_parts();
    let columns = columns.into_iter().enumerate().map(|(index, array)| retyped(conversions, index, array));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|cause| Error::new(ErrorKind::Protocol, "a batch does not fit its schema").with_cause(cause))
}

/// Bytes of a column as plain buffers.
fn taken(chunk: &EncodedChunk, index: usize, column: &Column<Bytes>) -> u64 {
    let field = &chunk.schema().fields[index];
    let is_coded = field.children.is_empty() && matches!(column.values, Values::Dictionary { .. });
    if is_coded {
        return codes_plain_bytes(&array_from_column(field, column.clone())) as u64;
    }
    column.as_view().plain_bytes(field).unwrap_or(0) as u64
}

fn array(chunk: &EncodedChunk, index: usize, column: Column<Bytes>) -> Result<ArrayRef, Error> {
    Ok(array_from_column(&chunk.schema().fields[index], column))
}

pub(crate) fn damaged(cause: colonnade_wire::DecodeError) -> Error {
    Error::new(ErrorKind::Protocol, format!("the result is damaged: {cause}"))
        .with_hint("run the query again; if it happens again, report it with the version of the server")
        .with_cause(cause)
}

fn each_buffer(column: &mut Column<Bytes>, work: &mut dyn FnMut(&mut Bytes)) {
    if let Some(validity) = &mut column.validity {
        bitmap(validity, work);
    }
    match &mut column.values {
        Values::None => {}
        Values::Bits(bits) => bitmap(bits, work),
        Values::Fixed(data) => work(data),
        Values::Bytes { offsets, data } => {
            work(offsets);
            work(data);
        }
        Values::List { offsets, child } => {
            work(offsets);
            each_buffer(child, work);
        }
        Values::FixedList(child) => each_buffer(child, work),
        Values::Struct(children) => children.iter_mut().for_each(|child| each_buffer(child, work)),
        Values::Dictionary { indices, values } => {
            work(indices);
            each_buffer(values, work);
        }
    }
}

fn bitmap(bits: &mut Bitmap<Bytes>, work: &mut dyn FnMut(&mut Bytes)) {
    work(&mut bits.bytes);
}
