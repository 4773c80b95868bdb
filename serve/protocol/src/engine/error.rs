//! Errors of an engine.

use crate::sqlstate::SqlState;

/// An error of a statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// PostgreSQL's error class.
    pub code: SqlState,
    /// What has failed.
    pub message: String,
    /// Details, if there are any.
    pub detail: Option<String>,
    /// What the user can do, if the engine knows.
    pub hint: Option<String>,
    /// The position in the client's statement, in characters from 0.
    pub position: Option<usize>,
    /// Whether the engine cannot run any further statement, in any session.
    pub ends_engine: bool,
    /// Where in a function it has happened.
    pub function: Option<Box<FunctionPlace>>,
    /// What it is about.
    pub object: Option<Box<ErrorObject>>,
}

/// What of the database an error is about, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorObject {
    /// The schema of the table.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The table's column.
    pub column: Option<String>,
    /// The constraint, or the unique index.
    pub constraint: Option<String>,
}

/// A place in a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionPlace {
    /// The calls that led there, one in each line.
    pub context: String,
    /// The function's body.
    pub body: String,
    /// The position in the body, in characters from 0, if known.
    pub position: Option<usize>,
}

impl EngineError {
    /// An error without further details.
    pub fn new(code: SqlState, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            ends_engine: false,
            function: None,
            object: None,
        }
    }

    /// The error of COPY and DECLARE for a statement without rows.
    pub fn no_rows() -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY and DECLARE need a query that gives rows; nothing has run")
    }
}
