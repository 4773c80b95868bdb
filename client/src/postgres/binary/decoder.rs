//! Rows to batches, column by column.
//!
//! A block is whole DataRow messages end to end. Some hundred rows at a time, few enough that they stay in the nearest
//! cache, each column takes its values of all of them in a loop of its own, from where the column before has left off.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::column::Column;
use super::kind::Node;
use crate::postgres::message::{HEADER, protocol};
use crate::{Error, QueryOptions};

/// Rows that each column takes at a time.
const GROUP: usize = 256;
/// Where the values of a message begin: behind its header and their number.
const VALUES: usize = HEADER + 2;
/// As the extension's chunks. PROTOCOL §2.
const BATCH_ROWS: usize = 1 << 16;
const BATCH_BYTES: u64 = 4 << 20;

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
    /// Rows of all.
    total: u64,
    /// For each row of a group, where its next value begins and where the row ends.
    cursors: Vec<usize>,
    ends: Vec<usize>,
}

impl Decoder {
    pub(super) fn new<'a>(schema: SchemaRef, nodes: impl Iterator<Item = &'a Node>, options: &QueryOptions) -> Self {
        Self {
            schema,
            columns: nodes.map(Column::new).collect(),
            rows: 0,
            bytes: 0,
            most_rows: options.chunk_rows.map_or(BATCH_ROWS, |rows| rows as usize),
            most_bytes: options.chunk_bytes.unwrap_or(BATCH_BYTES),
            total: 0,
            cursors: Vec::with_capacity(GROUP),
            ends: Vec::with_capacity(GROUP),
        }
    }

    /// Rows so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Takes the rows of a block from `at` on, up to the end of the block or of a batch. Moves `at` on.
    ///
    /// # Errors
    /// Bytes that are not rows of this result, or a value that its column cannot hold.
    pub(super) fn take(&mut self, block: &[u8], at: &mut usize) -> Result<Option<RecordBatch>, Error> {
        while *at < block.len() {
            let start = *at;
            self.group(block, at)?;
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

    fn group(&mut self, block: &[u8], at: &mut usize) -> Result<(), Error> {
        self.find_rows(block, at)?;
        for column in &mut self.columns {
            column.decode(block, &mut self.cursors)?;
        }
        // A length that lies may have led a column into the next row, though not out of the block.
        if self.cursors != self.ends {
            return Err(protocol("a row whose values are not as long as the row"));
        }
        self.rows += self.ends.len();
        self.total += self.ends.len() as u64;
        Ok(())
    }

    /// Sets the cursors to the next rows' first values.
    fn find_rows(&mut self, block: &[u8], at: &mut usize) -> Result<(), Error> {
        self.cursors.clear();
        self.ends.clear();
        let most = GROUP.min(self.most_rows - self.rows);
        while *at < block.len() && self.ends.len() < most {
            let Some([kind, l0, l1, l2, l3, c0, c1]) = block[*at..].first_chunk::<VALUES>().copied() else {
                return Err(protocol("a row that ends too early"));
            };
            let len = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
            let end = *at + 1 + len;
            if kind != b'D' || len < VALUES - 1 || end > block.len() {
                return Err(protocol("a row of a length that cannot be"));
            }
            if usize::from(u16::from_be_bytes([c0, c1])) != self.columns.len() {
                return Err(protocol("a row with another number of columns than was described"));
            }
            self.cursors.push(*at + VALUES);
            self.ends.push(end);
            *at = end;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
