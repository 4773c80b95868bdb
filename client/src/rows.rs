//! A result that arrives in rows: the receiving thread passes on blocks of rows, and the reader converts them to
//! batches of columns.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::arrays::Length;
use crate::shared_connection::{Event, EventReader, Peer, died};
use crate::{Answer, Batch, ContinueCheck, Error, QueryOptions, ResultStream, Stats};

/// The most rows of a block that each column decodes at once. So few that their cursors, one cache line for each row,
/// stay in the nearest cache from one column to the next.
pub(crate) const ROWS_PER_GROUP: usize = 256;
/// The size of the extension's chunks. PROTOCOL §2.
const BATCH_ROWS: usize = 1 << 16;
const BATCH_BYTES: u64 = 4 << 20;
/// The least bytes for each column of a wide table, because each array of each batch costs time and memory.
const COLUMN_BYTES: u64 = 32 << 10;

/// A part of an answer.
pub(crate) enum Part<C, B> {
    /// The columns, which come first.
    Columns(Vec<C>),
    /// Rows.
    Rows(B),
}

/// Decodes a protocol's rows column by column.
pub(crate) trait Decoder: Send + Sized {
    /// A column, as the server describes it.
    type Column: Send;
    /// Some whole rows.
    type Block: AsRef<[u8]> + Send;

    /// The decoder of a result with these columns.
    fn new(columns: &[Self::Column]) -> (SchemaRef, Self);

    /// Decodes the next rows of a block from `at` on, at most `most` and at most [`ROWS_PER_GROUP`]. Moves `at`, and
    /// returns their number.
    ///
    /// # Errors
    /// Bytes that are not rows of this result, or a value that its column cannot represent.
    fn group(&mut self, block: &Self::Block, at: &mut usize, most: usize) -> Result<usize, Error>;

    /// The columns of all rows since the last call.
    ///
    /// # Errors
    /// Text that is not UTF-8.
    fn arrays(&mut self, schema: &Schema) -> Result<Vec<ArrayRef>, Error>;

    /// The error of a server that violates the protocol.
    fn protocol(what: String) -> Error;
}

/// Converts rows to batches.
#[derive(Debug)]
pub(crate) struct Batches<D> {
    schema: SchemaRef,
    decoder: D,
    /// Rows and received bytes of the current batch, and their limits.
    rows: usize,
    bytes: u64,
    most_rows: usize,
    most_bytes: u64,
    length: Length,
    /// All rows of the result.
    total: u64,
}

impl<D: Decoder> Batches<D> {
    pub(crate) fn new(columns: &[D::Column], options: &QueryOptions) -> Self {
        let (schema, decoder) = D::new(columns);
        Self {
            schema,
            decoder,
            rows: 0,
            bytes: 0,
            most_rows: options.chunk_rows.map_or(BATCH_ROWS, |rows| rows as usize),
            most_bytes: options.chunk_bytes.unwrap_or(BATCH_BYTES.max(columns.len() as u64 * COLUMN_BYTES)),
            total: 0,
            length: Length::default(),
        }
    }

    /// Decodes the rows of a block from `at` on, up to the end of the block or of a batch. Moves `at`.
    ///
    /// # Errors
    /// Those of [`Decoder::group`] and [`Decoder::arrays`].
    pub(crate) fn take(&mut self, block: &D::Block, at: &mut usize) -> Result<Option<RecordBatch>, Error> {
        while *at < block.as_ref().len() {
            let start = *at;
            let limit = self.length.limit(self.most_rows);
            let rows = self.decoder.group(block, at, limit.saturating_sub(self.rows).max(1))?;
            self.rows += rows;
            self.total += rows as u64;
            self.bytes += (*at - start) as u64;
            if self.rows >= limit || self.bytes >= self.most_bytes {
                return self.batch();
            }
        }
        Ok(None)
    }

    /// The batch of the rows since the last one, if there are any.
    ///
    /// # Errors
    /// Those of [`Decoder::arrays`].
    pub(crate) fn batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        if self.rows == 0 {
            return Ok(None);
        }
        let arrays = self.decoder.arrays(&self.schema)?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.length.learn(self.rows, self.bytes, self.most_bytes);
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map(Some)
            .map_err(|cause| D::protocol("rows that do not fit their description".to_owned()).with_cause(cause))
    }
}

/// The reader's side of a result.
pub(crate) struct RowStream<P: Peer, D: Decoder> {
    reader: EventReader<P, Part<D::Column, D::Block>>,
    batches: Batches<D>,
    /// Rows that have been received but not decoded, and where the first of them begins.
    block: Option<(D::Block, usize)>,
    ended: bool,
}

impl<P: Peer, D: Decoder> RowStream<P, D> {
    /// Waits for the columns.
    pub(crate) fn open(
        mut reader: EventReader<P, Part<D::Column, D::Block>>,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Self, Error> {
        match reader.next(keep)? {
            Some(Event::Part(Part::Columns(columns))) => Ok(Self::new(reader, &columns, options)),
            _ => Err(reader.refuse(died())),
        }
    }

    /// Waits for the columns, or for the end of a statement that has none.
    pub(crate) fn answer(
        mut reader: EventReader<P, Part<D::Column, D::Block>>,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Answer, Error>
    where
        D: 'static,
    {
        match reader.next(keep)? {
            Some(Event::Part(Part::Columns(columns))) => {
                Ok(Answer::Rows(Box::new(Self::new(reader, &columns, options))))
            }
            Some(Event::Finished(finished)) => Ok(Answer::Done(finished.rows)),
            _ => Err(reader.refuse(died())),
        }
    }

    fn new(
        mut reader: EventReader<P, Part<D::Column, D::Block>>,
        columns: &[D::Column],
        options: &QueryOptions,
    ) -> Self {
        reader.meter.schema(columns.len());
        Self { reader, batches: Batches::new(columns, options), block: None, ended: false }
    }

    fn batch(&mut self, keep: ContinueCheck<'_>) -> Result<Option<RecordBatch>, Error> {
        while !self.ended {
            if let Some((block, at)) = &mut self.block
                && let Some(batch) = self.batches.take(block, at)?
            {
                return Ok(Some(batch));
            }
            match self.reader.next(keep)? {
                Some(Event::Part(Part::Rows(block))) => {
                    self.reader.meter.received(block.as_ref().len() as u64);
                    self.block = Some((block, 0));
                }
                Some(Event::Finished(finished)) => {
                    self.ended = true;
                    let (rows, total) = (finished.rows, self.batches.total);
                    // Some protocols and statements have no count.
                    if rows.is_some_and(|rows| rows != total) {
                        return Err(D::protocol(miscounted(total, rows)));
                    }
                    return self.batches.batch();
                }
                Some(Event::Part(Part::Columns(_))) => return Err(died()),
                None => self.ended = true,
            }
        }
        Ok(None)
    }
}

impl<P: Peer, D: Decoder> ResultStream for RowStream<P, D> {
    fn schema(&self) -> &SchemaRef {
        &self.batches.schema
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        match self.batch(keep) {
            Ok(None) => Ok(None),
            Ok(Some(batch)) => {
                self.reader.meter.batch(batch.num_rows());
                Ok(Some(batch.into()))
            }
            Err(error) => {
                self.ended = true;
                self.block = None;
                Err(self.reader.refuse(error))
            }
        }
    }

    fn stats(&self) -> Stats {
        self.reader.meter.stats()
    }
}

/// Loads bytes that another core has received into this core's cache, in order and many at a time. Columns jump from
/// row to row, and would wait for each cache line separately.
pub(crate) fn warm(bytes: &[u8]) {
    const LINE: usize = 64;
    let sum = bytes.iter().step_by(LINE).fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    std::hint::black_box(sum);
}

/// The error text for a row count that differs from the number of rows.
pub(crate) fn miscounted(read: u64, counted: Option<u64>) -> String {
    format!("{read} rows with a tag of {}", counted.map_or("none".to_owned(), |rows| rows.to_string()))
}
