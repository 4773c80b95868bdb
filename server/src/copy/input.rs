//! COPY … FROM STDIN: reads data in any of the formats and makes batches as the data arrive.
//!
//! Most values of the row formats stay texts, and the INSERT casts them to the column's type (see [`crate::parameter`]).

mod arrow;
mod binary;
mod columnar;
mod csv;
mod error;
mod lines;
mod rows;
mod text;

use std::sync::Arc;

use arrow_array::RecordBatch;

pub use error::CopyDataError;
pub use rows::needs_cast;

use super::options::{CopyOptions, Format, OptionError};
use crate::error::Failure;
use crate::limits::budget::Budget;
use crate::value::types::Type;

/// The largest size of a row. An incomplete row is kept in memory.
const MAX_ROW_BYTES: usize = 256 << 20;

/// A column that rows are copied into.
#[derive(Clone, Debug)]
pub struct TargetColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: Type,
}

/// Reads one format.
pub trait CopyReader {
    /// Reads the data of one message. Only in `FORMAT colonnade` do the boundaries of messages have a meaning.
    ///
    /// # Errors
    /// If the data are not in the format, or a value is not of its column's type.
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure>;

    /// Ends the data.
    ///
    /// # Errors
    /// If the data are incomplete.
    fn finish(&mut self) -> Result<(), Failure>;

    /// The next batch to insert, once enough rows have arrived. With `all`, also a smaller batch.
    ///
    /// # Errors
    /// If Arrow refuses the batch.
    fn batch(&mut self, all: bool) -> Result<Option<RecordBatch>, Failure>;
}

/// The reader for the format in `options`. The memory that it keeps is charged to the budget.
///
/// # Errors
/// If an option names a column that is not among the targets.
pub fn reader(
    options: &CopyOptions,
    targets: Vec<TargetColumn>,
    budget: &Arc<Budget>,
) -> Result<Box<dyn CopyReader>, OptionError> {
    Ok(match options.format {
        Format::Text => Box::new(text::Text::new(options, rows::Rows::new(targets, budget), budget)),
        Format::Csv => Box::new(csv::Csv::new(options, targets, budget)?),
        Format::Binary => Box::new(binary::Binary::new(rows::Rows::new(targets, budget), budget)),
        Format::Arrow => Box::new(arrow::Arrow::new(targets.len(), budget)),
        Format::Colonnade => Box::new(columnar::Colonnade::new(targets.len(), budget)),
    })
}

fn malformed(format: &'static str, problem: impl ToString) -> Failure {
    CopyDataError::Malformed { format, problem: problem.to_string() }.into()
}
