//! Data that COPY … FROM STDIN refuses.

use super::MOST_ROW_BYTES;
use crate::parameter::InputError;
use crate::sqlstate::SqlState;

/// Why copied data is not taken.
#[derive(Debug, thiserror::Error)]
pub enum CopyDataError {
    /// The client gave up.
    #[error("COPY from stdin failed: {0}")]
    Failed(String),
    /// A row has fewer values than there are columns.
    #[error("missing data for column \"{column}\"")]
    Missing {
        /// The first one without a value.
        column: String,
        /// The row, from 1.
        row: u64,
    },
    /// A row has more values than there are columns.
    #[error("extra data after last expected column")]
    Extra {
        /// The row, from 1.
        row: u64,
    },
    /// A value that is not of its column's type.
    #[error("{error}")]
    Value {
        /// What is wrong with it.
        error: InputError,
        /// Its column.
        column: String,
        /// The row, from 1.
        row: u64,
    },
    /// The data are not of this format.
    #[error("invalid COPY data in FORMAT {format}: {problem}")]
    Malformed {
        /// The format.
        format: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A row too long to be held.
    #[error("a row takes more than {MOST_ROW_BYTES} bytes")]
    TooLong,
    /// As many columns must come as there are.
    #[error("the data have {given} columns, and {wanted} are to be filled")]
    Columns {
        /// In the data.
        given: usize,
        /// In the table, or named by the statement.
        wanted: usize,
    },
}

impl CopyDataError {
    /// Its SQLSTATE.
    pub fn code(&self) -> SqlState {
        match self {
            Self::Failed(_) => SqlState::QUERY_CANCELED,
            Self::Value { error, .. } => error.code(),
            Self::TooLong => SqlState::PROGRAM_LIMIT_EXCEEDED,
            _ => SqlState::new("22P04"),
        }
    }

    /// Where in the data.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Missing { row, .. } | Self::Extra { row } => Some(format!("Row {row} of the data.")),
            Self::Value { column, row, .. } => Some(format!("Row {row} of the data, column \"{column}\".")),
            _ => None,
        }
    }
}
