//! Rows to batches, column by column.
//!
//! Some hundred rows at a time, few enough that they stay in the nearest cache, each column takes its values of all of
//! them in a loop of its own, from where the column before has left off.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::column::{Column, Rows};
use super::incoming::Block;
use super::kind;
use super::packet::{HEADER, header, protocol};
use crate::{Error, QueryOptions};

/// Rows that each column takes at a time.
const GROUP: usize = 256;
/// As the other sources' batches.
const BATCH_ROWS: usize = 1 << 16;
const BATCH_BYTES: u64 = 4 << 20;
/// A row's first byte, before its NULL bitmap.
const MARK: usize = 1;

/// The rows of a result.
#[derive(Debug)]
pub(super) struct Decoder {
    schema: SchemaRef,
    columns: Vec<Column>,
    /// Rows and received bytes of the batch in the making, and the most of them.
    rows: usize,
    bytes: u64,
    most_rows: usize,
    most_bytes: u64,
    /// For each row of a group: where its NULL bitmap, its next value and the next row begin.
    bitmaps: Vec<usize>,
    cursors: Vec<usize>,
    ends: Vec<usize>,
    /// The NULL bitmaps of a group's rows, together.
    nulls: Vec<u8>,
}

impl Decoder {
    pub(super) fn new(schema: SchemaRef, columns: &[kind::Column], options: &QueryOptions) -> Self {
        Self {
            schema,
            columns: columns.iter().enumerate().map(|(number, column)| Column::new(column, number)).collect(),
            rows: 0,
            bytes: 0,
            most_rows: options.chunk_rows.map_or(BATCH_ROWS, |rows| rows as usize),
            most_bytes: options.chunk_bytes.unwrap_or(BATCH_BYTES),
            bitmaps: Vec::with_capacity(GROUP),
            cursors: Vec::with_capacity(GROUP),
            ends: Vec::with_capacity(GROUP),
            // Two bits more than there are columns.
            nulls: vec![0; (columns.len() + 9) / 8],
        }
    }

    /// Takes the rows of a block from `at` on, up to the end of the block or of a batch. Moves `at` on.
    ///
    /// # Errors
    /// Bytes that are not rows of this result, or a value that its column cannot hold.
    pub(super) fn take(&mut self, block: &Block, at: &mut usize) -> Result<Option<RecordBatch>, Error> {
        let (bytes, framed) = match block {
            Block::Packets(bytes) => (bytes, true),
            Block::Row(bytes) => (bytes, false),
        };
        while *at < bytes.len() {
            let start = *at;
            self.find_rows(bytes, framed, at)?;
            self.group(bytes)?;
            self.bytes += (*at - start) as u64;
            if self.rows >= self.most_rows || self.bytes >= self.most_bytes {
                return self.batch();
            }
        }
        Ok(None)
    }

    /// The batch of the rows since the last one, if there are any.
    ///
    /// # Errors
    /// Text that is not UTF-8.
    pub(super) fn batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        if self.rows == 0 {
            return Ok(None);
        }
        let fields = self.schema.fields().iter();
        let arrays = self.columns.iter_mut().zip(fields).map(|(column, field)| column.finish(field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map(Some)
            .map_err(|cause| protocol("rows that do not fit their description").with_cause(cause))
    }

    fn group(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for column in &mut self.columns {
            let (byte, bit) = column.null_at;
            let rows = Rows { block: bytes, bitmaps: &self.bitmaps, cursors: &mut self.cursors };
            column.decode(rows, self.nulls[byte] & bit != 0)?;
        }
        // A length that lies may have led a column into the next row, though not out of the block.
        if self.cursors != self.ends {
            return Err(protocol("a row whose values are not as long as the row"));
        }
        self.rows += self.ends.len();
        Ok(())
    }

    /// Sets the cursors to the next rows' first values.
    fn find_rows(&mut self, bytes: &[u8], framed: bool, at: &mut usize) -> Result<(), Error> {
        self.bitmaps.clear();
        self.cursors.clear();
        self.ends.clear();
        self.nulls.fill(0);
        let most = GROUP.min(self.most_rows.saturating_sub(self.rows)).max(1);
        while *at < bytes.len() && self.ends.len() < most {
            let (start, end) = if framed {
                let Some(head) = bytes[*at..].first_chunk::<HEADER>() else { return Err(cut()) };
                (*at + HEADER, *at + HEADER + header(*head).0)
            } else {
                (*at, bytes.len())
            };
            let values = start + MARK + self.nulls.len();
            if end > bytes.len() || values > end {
                return Err(cut());
            }
            for (all, nulls) in self.nulls.iter_mut().zip(&bytes[start + MARK..values]) {
                *all |= nulls;
            }
            self.bitmaps.push(start + MARK);
            self.cursors.push(values);
            self.ends.push(end);
            *at = end;
        }
        Ok(())
    }
}

fn cut() -> Error {
    protocol("a row that ends too early")
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
