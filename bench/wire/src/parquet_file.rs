//! A competing format: a Parquet file in memory, its pages compressed with Zstandard at the library's default level, 1.
//!
//! The whole table is one file, with row groups of the library's default size, as in files for storage.

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::Result;
use crate::clock::Stopwatch;
use crate::contender::{Contender, Sample, compare};
use crate::table::Table;

/// Parquet with Zstandard.
pub struct ParquetZstd;

impl Contender for ParquetZstd {
    fn name(&self) -> &str {
        "Parquet, ZSTD-1"
    }

    fn pass(&self, table: &Table, check: bool) -> Result<Sample> {
        let (mut encode, mut decode) = (Stopwatch::default(), Stopwatch::default());
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?)).build();
        let file: Bytes = encode.time(|| -> Result<Bytes> {
            let mut writer = ArrowWriter::try_new(Vec::new(), table.schema.clone(), Some(properties))?;
            for chunk in &table.chunks {
                writer.write(chunk)?;
            }
            Ok(writer.into_inner()?.into())
        })?;
        let bytes = file.len();
        let rows = table.chunks.first().map_or(1024, RecordBatch::num_rows);
        let mut reader = decode.time(|| {
            ParquetRecordBatchReaderBuilder::try_new(file).map(|b| b.with_batch_size(rows)).and_then(|b| b.build())
        })?;
        let mut batches = Vec::new();
        while let Some(batch) = decode.time(|| reader.next()) {
            let batch = batch?;
            if check {
                batches.push(batch);
            }
        }
        if check {
            // The reader's batches do not end where the chunks do, so the joined columns are compared one by one.
            check_rows(&table.chunks, &batches)?;
        }
        Ok(Sample { bytes, encode: encode.total(), decode: decode.total() })
    }
}

/// Compares two tables with different batch boundaries.
fn check_rows(chunks: &[RecordBatch], batches: &[RecordBatch]) -> Result<()> {
    let mut batches = batches.iter();
    let mut batch: Option<(&RecordBatch, usize)> = batches.next().map(|b| (b, 0));
    for chunk in chunks {
        let mut done = 0;
        while done < chunk.num_rows() {
            let (current, used) = batch.ok_or("rows are missing")?;
            let rows = (chunk.num_rows() - done).min(current.num_rows() - used);
            compare(&chunk.slice(done, rows), &current.slice(used, rows))?;
            done += rows;
            batch = if used + rows == current.num_rows() {
                batches.next().map(|b| (b, 0))
            } else {
                Some((current, used + rows))
            };
        }
    }
    if batch.is_some() { Err("there are too many rows".into()) } else { Ok(()) }
}
