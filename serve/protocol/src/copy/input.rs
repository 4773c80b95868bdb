//! COPY … FROM STDIN: reads data in any of the formats and makes batches as the data arrive.
//!
//! Most values of the row formats stay texts, and the INSERT casts them to the column's type (see
//! [`crate::parameter`]).

mod arrow;
mod binary;
mod columnar;
mod csv;
mod decoding;
mod error;
mod frame;
mod lines;
mod rows;
mod text;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

pub use error::CopyDataError;
pub use rows::needs_cast;

use super::options::{CopyOptions, Format, OptionError};
use crate::charset::ClientEncoding;
use crate::engine::TargetColumn;
use crate::error::Failure;
use crate::limits::Budget;

/// The largest size of a row. An incomplete row is kept in memory.
const MAX_ROW_BYTES: usize = 256 << 20;

/// Reads one format.
pub trait CopyReader {
    /// Reads the data of one message. The boundaries of messages have no meaning.
    ///
    /// # Errors
    /// If the data are not in the format, or a value is not of its column's type.
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure>;

    /// Ends the data.
    ///
    /// # Errors
    /// If the data are incomplete.
    fn finish(&mut self) -> Result<(), Failure>;

    /// The next rows to insert, once enough have arrived. With `all`, also fewer.
    ///
    /// # Errors
    /// If Arrow refuses a batch.
    fn batch(&mut self, all: bool) -> Result<Option<ReadRows>, Failure>;
}

/// Rows to insert.
pub struct ReadRows {
    /// The rows, in batches of the same columns.
    pub batches: Vec<RecordBatch>,
    /// If the values have the types in which the engine sends its columns: the position of each batch column's target.
    /// Otherwise there is a column for each target in its order, and values may be texts.
    pub exported: Option<Vec<usize>>,
}

impl From<RecordBatch> for ReadRows {
    fn from(batch: RecordBatch) -> Self {
        Self { batches: vec![batch], exported: None }
    }
}

impl ReadRows {
    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }
}

/// The columns that rows are copied into.
pub struct Targets {
    /// In the statement's order.
    pub columns: Vec<TargetColumn>,
    /// The same columns as COPY … TO sends them; empty unless the format is Colonnade.
    pub exported: SchemaRef,
    /// Whether the statement lists them.
    pub is_listed: bool,
}

/// The reader for the format in `options`. The memory that it keeps is charged to the budget. `encoding` is the client's.
///
/// # Errors
/// If an option names a column that is not among the targets.
pub fn reader(
    options: &CopyOptions,
    Targets { columns: targets, exported, is_listed }: Targets,
    encoding: ClientEncoding,
    budget: &Arc<Budget>,
) -> Result<Box<dyn CopyReader>, OptionError> {
    let reader: Box<dyn CopyReader> = match options.format {
        Format::Text => Box::new(text::Text::new(options, rows::Rows::new(targets, budget), budget)),
        Format::Csv => Box::new(csv::Csv::new(options, targets, budget)?),
        Format::Binary => Box::new(binary::Binary::new(rows::Rows::new(targets, budget), encoding.charset(), budget)),
        Format::Arrow => Box::new(arrow::Arrow::new(targets.len(), budget)),
        Format::Colonnade => Box::new(columnar::Colonnade::new(targets, exported, is_listed, budget)),
    };
    let charset = options.encoding.unwrap_or(encoding).charset().filter(|_| !options.format.is_binary());
    Ok(match charset {
        Some(charset) => Box::new(decoding::Decoding::new(charset, reader)),
        None => reader,
    })
}

fn malformed(format: &'static str, problem: impl ToString) -> Failure {
    CopyDataError::Malformed { format, problem: problem.to_string() }.into()
}
