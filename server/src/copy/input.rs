//! COPY … FROM STDIN: data in any of the formats, turned into batches as it arrives.
//!
//! Text formats give a text a value, which a CAST in the INSERT turns into the column's type; see [`crate::parameter`].

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
pub use rows::is_plain;

use super::options::{CopyOptions, Format, OptionError};
use crate::error::Failure;
use crate::limits::budget::Budget;
use crate::value::types::Type;

/// A row's text or bytes may be so long; it is held in memory until it is complete.
const MOST_ROW_BYTES: usize = 256 << 20;

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
    /// Takes what came with one message. Where messages begin and end means nothing, unless the format says so.
    ///
    /// # Errors
    /// If it is not of the format, or a value is not of its column's type.
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure>;

    /// The data is complete.
    ///
    /// # Errors
    /// If it is not.
    fn finish(&mut self) -> Result<(), Failure>;

    /// Rows that are worth inserting now; with `all`, whatever there is.
    ///
    /// # Errors
    /// If they make no batch.
    fn batch(&mut self, all: bool) -> Result<Option<RecordBatch>, Failure>;
}

/// The reader of the format that the options ask for. What it holds is charged to the budget.
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
