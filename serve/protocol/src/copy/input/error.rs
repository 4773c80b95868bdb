//! Data that COPY … FROM STDIN refuses.

use super::MAX_ROW_BYTES;
use crate::error::{ClientError, SqlState};
use crate::parameter::InputError;

/// Why COPY … FROM STDIN fails.
#[derive(Debug, thiserror::Error)]
pub enum CopyDataError {
    /// The client has sent CopyFail.
    #[error("COPY from stdin failed: {0}")]
    Failed(String),
    /// A message that is no part of the data.
    #[error("unexpected message during COPY from stdin; data, its end (CopyDone) or CopyFail must follow")]
    Unexpected,
    /// A row has fewer values than there are columns.
    #[error("missing data for column \"{column}\"")]
    Missing {
        /// The first column without a value.
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
        /// Why the value is invalid.
        error: InputError,
        /// The column's name.
        column: String,
        /// The row, from 1.
        row: u64,
    },
    /// The data are not in this format.
    #[error("invalid COPY data in FORMAT {format}: {problem}")]
    Malformed {
        /// The format.
        format: &'static str,
        /// The problem.
        problem: String,
    },
    /// A row is larger than the limit.
    #[error("a row takes more than {MAX_ROW_BYTES} bytes")]
    TooLong,
    /// The data have more or fewer columns than the target.
    #[error("the data have {given} columns, but {wanted} are expected")]
    Columns {
        /// The number of columns in the data.
        given: usize,
        /// The number of columns in the statement's list, or in the table.
        wanted: usize,
    },
    /// A message of a stream, or what it decodes to, is larger than the limit.
    #[error("the stream has a message of {bytes} bytes, or one that decodes to as many; the limit is {limit}")]
    MessageTooLarge {
        /// The size that the stream declares.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A field of the stream names no column.
    #[error("the stream has a field \"{0}\", and the statement has no such column")]
    UnknownField(String),
    /// Two fields of the stream name one column.
    #[error("the stream has two fields \"{0}\"")]
    RepeatedField(String),
    /// A listed column has no field.
    #[error("the stream has no field for column \"{0}\"")]
    MissingField(String),
    /// A field has another type than the one in which its column is sent.
    #[error(
        "column \"{column}\" has type {type_name}, whose values are received as {wanted}, but the stream has {given}"
    )]
    Type {
        /// The column's name.
        column: String,
        /// The engine's name of its type.
        type_name: String,
        /// The type in which it is sent and received.
        wanted: String,
        /// The field's type.
        given: String,
    },
    /// A column of a type that can be sent but not received.
    #[error("column \"{column}\" has type {type_name}, whose values cannot be received in FORMAT colonnade")]
    NotReceived {
        /// The column's name.
        column: String,
        /// The engine's name of its type.
        type_name: String,
    },
}

impl ClientError for CopyDataError {
    fn code(&self) -> SqlState {
        match self {
            Self::Failed(_) => SqlState::QUERY_CANCELED,
            Self::Unexpected => SqlState::PROTOCOL_VIOLATION,
            Self::Value { error, .. } => error.code(),
            Self::TooLong | Self::MessageTooLarge { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::UnknownField(_) => SqlState::UNDEFINED_COLUMN,
            Self::RepeatedField(_) => SqlState::DUPLICATE_COLUMN,
            Self::Type { .. } => SqlState::DATATYPE_MISMATCH,
            Self::NotReceived { .. } => SqlState::FEATURE_NOT_SUPPORTED,
            _ => SqlState::new("22P04"),
        }
    }

    /// The place of the error in the data.
    fn detail(&self) -> Option<String> {
        match self {
            Self::Missing { row, .. } | Self::Extra { row } => Some(format!("Row {row} of the data.")),
            Self::Value { column, row, .. } => Some(format!("Row {row} of the data, column \"{column}\".")),
            _ => None,
        }
    }
}
