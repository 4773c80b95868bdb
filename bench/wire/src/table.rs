//! A table in memory, divided into the chunks that every contender gets.

use std::fs::File;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::Result;
use crate::args::Args;

/// Rows of a batch read from a file. A batch has many chunks, so that its shorter last one has little weight.
const BATCH_ROWS: usize = 1 << 20;
/// The maximum number of rows of a chunk, as in our server.
pub const CHUNK_ROWS: usize = 1 << 16;

/// A table divided into chunks.
pub struct Table {
    pub name: String,
    pub schema: SchemaRef,
    pub chunks: Vec<RecordBatch>,
    pub rows: usize,
    /// The bytes of Arrow's buffers for those rows.
    pub plain_bytes: usize,
    /// Which columns contain no NULL, as a database's statistics would tell.
    pub complete: Vec<bool>,
}

impl Table {
    /// Reads a table from the data directory and divides it as the arguments say.
    ///
    /// # Errors
    /// The file is missing or unreadable.
    pub fn load(name: &str, args: &Args) -> Result<Self> {
        Self::cut(name, &read(name, args)?, CHUNK_ROWS, args.chunk_bytes)
    }

    /// The same rows in chunks with these maximum numbers of rows and of plain bytes.
    ///
    /// # Errors
    /// There are no rows.
    pub fn cut(name: &str, batches: &[RecordBatch], chunk_rows: usize, chunk_bytes: usize) -> Result<Self> {
        let mut chunks = Vec::new();
        for batch in batches {
            let step = colonnade_wire::arrow::rows_per_chunk(batch, chunk_rows, chunk_bytes).max(1);
            let mut start = 0;
            while start < batch.num_rows() {
                let rows = step.min(batch.num_rows() - start);
                chunks.push(batch.slice(start, rows));
                start += rows;
            }
        }
        Self::of(name, chunks)
    }

    /// The first chunks of the table, as a separate table.
    ///
    /// # Errors
    /// There are none.
    pub fn head(&self, chunks: usize) -> Result<Self> {
        Self::of(&self.name, self.chunks.iter().take(chunks).cloned().collect())
    }

    /// One column of the table, in chunks of the same rows.
    ///
    /// # Errors
    /// There is no such column.
    pub fn project(&self, column: usize) -> Result<Self> {
        let chunks = self.chunks.iter().map(|chunk| chunk.project(&[column]));
        Self::of(&self.name, chunks.collect::<std::result::Result<_, _>>()?)
    }

    fn of(name: &str, chunks: Vec<RecordBatch>) -> Result<Self> {
        let schema = chunks.first().ok_or("the table is empty")?.schema();
        let complete = (0..schema.fields().len())
            .map(|column| chunks.iter().all(|chunk| chunk.column(column).null_count() == 0))
            .collect();
        Ok(Self {
            name: name.to_owned(),
            schema,
            rows: chunks.iter().map(RecordBatch::num_rows).sum(),
            plain_bytes: chunks.iter().map(plain_bytes).sum(),
            chunks,
            complete,
        })
    }
}

/// The first rows of a table in the data directory, as many as the arguments say.
///
/// # Errors
/// The file is missing or unreadable.
pub fn read(name: &str, args: &Args) -> Result<Vec<RecordBatch>> {
    let path = args.data.join(format!("{name}.parquet"));
    let file = File::open(&path)
        .map_err(|e| format!("{}: {e}; write it with `python bench/data.py {name}`", path.display()))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(BATCH_ROWS).build()?;
    let mut batches = Vec::new();
    let mut left = args.rows;
    for batch in reader {
        let batch = batch?;
        let rows = batch.num_rows().min(left);
        batches.push(batch.slice(0, rows));
        left -= rows;
        if left == 0 {
            break;
        }
    }
    Ok(batches)
}

/// The bytes of a batch's buffers as Arrow lays them out, without padding.
fn plain_bytes(batch: &RecordBatch) -> usize {
    batch
        .columns()
        .iter()
        .map(|column| {
            let data = column.to_data();
            let validity = if column.null_count() > 0 { column.len().div_ceil(8) } else { 0 };
            validity
                + match column.data_type() {
                    DataType::Utf8 => {
                        let offsets =
                            &data.buffers()[0].typed_data::<i32>()[data.offset()..=data.offset() + data.len()];
                        offsets.len() * 4 + (offsets[data.len()] - offsets[0]).unsigned_abs() as usize
                    }
                    other => other.primitive_width().unwrap_or(0) * column.len(),
                }
        })
        .sum()
}
