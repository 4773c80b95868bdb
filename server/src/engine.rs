//! What the server asks of the thing that runs the queries.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::SqlState;

/// A database that sessions are opened on.
pub trait Engine: Send + Sync {
    /// Name and version, as clients see it in `server_version`: `DuckDB 2.0.0`.
    fn version(&self) -> String;

    /// A session of its own: statements, transactions and settings do not reach other sessions. It does what `who` may do.
    ///
    /// # Errors
    /// When the engine has no room for another one.
    fn session(&self, who: &Who) -> Result<Box<dyn Session>, EngineError>;
}

/// Whom a session is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The user's name; what the client says where nobody has to prove it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// How many sessions it may have at a time, if that is limited for it alone.
    pub connections: Option<usize>,
}

/// What a user may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Query, and make temporary tables.
    ReadOnly,
    /// Change data and tables, too.
    #[default]
    ReadWrite,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
        })
    }
}

/// Not the name of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a role is read-only or read-write")]
pub struct RoleError;

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        match text {
            "read-only" => Ok(Self::ReadOnly),
            "read-write" => Ok(Self::ReadWrite),
            _ => Err(RoleError),
        }
    }
}

/// One client's conversation with the engine. At most one answer is open at a time.
pub trait Session: Send {
    /// Runs one statement. Rows are handed out while the engine still works on the next ones.
    ///
    /// # Errors
    /// What the engine says, with its SQLSTATE.
    fn execute(&mut self, statement: &str, size: BatchSize) -> Result<Answer, EngineError>;

    /// The columns a statement will give, as a result without rows; `None` if it gives no rows. The statement does
    /// not run.
    ///
    /// # Errors
    /// What the engine says of a wrong statement, or of one whose columns are known only once it has run.
    fn describe(&mut self, statement: &str) -> Result<Option<Box<dyn Rows>>, EngineError>;

    /// What stops this session's statement from another thread.
    fn interrupt_handle(&self) -> Arc<dyn Interrupt>;
}

/// How large batches should be. An engine that cannot tell before it runs a statement may come close only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// At most so many rows.
    pub rows: usize,
    /// Not many more bytes.
    pub bytes: usize,
}

/// Stops a session's running statement.
pub trait Interrupt: Send + Sync {
    /// Asks the running statement to end with an error soon. It may come when no statement runs, and is then lost.
    fn interrupt(&self);
}

/// What a statement gave.
pub enum Answer {
    /// Rows to read.
    Rows(Box<dyn Rows>),
    /// No rows, but maybe a count of rows that were changed.
    Done {
        /// Rows inserted, updated, deleted.
        changed: Option<u64>,
    },
}

/// A result that is being produced. Dropping it ends the statement.
pub trait Rows: Send {
    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// Each column's type in the engine's own words, if it has any: `UUID`, `BIT`, `JSON[]`. They tell the text
    /// formats what Arrow's types do not.
    fn type_names(&self) -> &[String] {
        &[]
    }

    /// The next rows; `None` after the last ones.
    ///
    /// # Errors
    /// When the statement fails half-way.
    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError>;
}

/// What an engine says when a statement fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// PostgreSQL's error class.
    pub code: SqlState,
    /// What went wrong.
    pub message: String,
    /// More of it, if there is.
    pub detail: Option<String>,
    /// What to do, if the engine knows.
    pub hint: Option<String>,
    /// Where in the statement, counted in characters from 0.
    pub position: Option<usize>,
}

impl EngineError {
    /// An error without further details.
    pub fn new(code: SqlState, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None, hint: None, position: None }
    }
}
