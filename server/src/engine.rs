//! What the server asks of the thing that runs the queries.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use colonnade_sql::Dialect;
use colonnade_sql::edit::PositionMap;

use crate::error::SqlState;
use crate::message::backend::Status;
use crate::parameter::Value;
use crate::value::types::Type;

/// A database that sessions are opened on.
pub trait Engine: Send + Sync {
    /// Name and version, as clients see it in `server_version`: `DuckDB 2.0.0`.
    fn version(&self) -> String;

    /// The version of PostgreSQL that clients are to take the server for: its catalog is that one's.
    fn postgres_version(&self) -> String {
        "15.0".to_owned()
    }

    /// The name of the database that is served; `None` if it answers to any.
    fn database(&self) -> Option<&str> {
        None
    }

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
    /// Runs one statement, with values for its placeholders. Rows are handed out while the
    /// engine still works on the next ones.
    ///
    /// # Errors
    /// What the engine says, with its SQLSTATE.
    fn execute(&mut self, statement: &str, parameters: &[Parameter], size: BatchSize) -> Result<Answer, EngineError>;

    /// Runs a statement that must give rows. An engine that can tell beforehand refuses any other with
    /// [`EngineError::no_rows`], and nothing of it happens.
    ///
    /// # Errors
    /// What the engine says, with its SQLSTATE.
    fn query(&mut self, statement: &str, parameters: &[Parameter], size: BatchSize) -> Result<Answer, EngineError> {
        self.execute(statement, parameters, size)
    }

    /// A result without rows, with the columns of a query that may change the database. It does not run, so that what its
    /// columns rule out can be refused before. `None` if the query only reads, or if only running it tells.
    ///
    /// # Errors
    /// What the engine says of a wrong statement.
    fn preview(&mut self, statement: &str) -> Result<Option<Box<dyn Rows>>, EngineError> {
        let _ = statement;
        Ok(None)
    }

    /// What a statement takes and gives. It does not run. The columns may depend on values for its placeholders; without any,
    /// they are [`Columns::Late`] then.
    ///
    /// # Errors
    /// What the engine says of a wrong statement.
    fn describe(&mut self, statement: &str, parameters: &[Parameter]) -> Result<Description, EngineError>;

    /// Runs `statement`, an INSERT that reads the rows of `batch` under the name [`BATCH_NAME`]; gives their number.
    ///
    /// # Errors
    /// What the engine says, with its SQLSTATE.
    fn insert(&mut self, statement: &str, batch: RecordBatch) -> Result<u64, EngineError>;

    /// What stops this session's statement from another thread.
    fn interrupt_handle(&self) -> Arc<dyn Interrupt>;

    /// Whose SQL it takes. What is not DuckDB's is passed on as the client wrote it.
    fn dialect(&self) -> Dialect {
        Dialect::DuckDb
    }

    /// Whether it is in a transaction, if it knows better than those who count BEGIN and COMMIT, and is not at work.
    fn status(&self) -> Option<Status> {
        None
    }

    /// Its time zone, as PostgreSQL's parameter `TimeZone` has it, if it knows better than those who set it, and is not at work.
    fn time_zone(&self) -> Option<String> {
        None
    }

    /// Whether it can go on. What has lost its database cannot.
    fn is_open(&self) -> bool {
        true
    }
}

/// A value for a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The placeholder's number, from 1.
    pub number: usize,
    /// The type that the client gave it, or that the engine did.
    pub type_: Type,
    /// The value.
    pub value: Value,
}

/// What the rows that are inserted are called in the INSERT.
pub const BATCH_NAME: &str = "colonnade_copied";

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

/// What a statement takes and gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The types of its placeholders, each with its number, from 1; [`Kind::Unknown`](crate::value::types::Kind::Unknown)
    /// where nothing tells.
    pub parameters: Vec<(usize, Type)>,
    /// PostgreSQL's own numbers of these types, from the first on, if the engine is one.
    pub type_oids: Vec<u32>,
    /// Its columns.
    pub columns: Columns,
}

/// The columns of a statement that has not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// It gives no rows.
    #[default]
    None,
    /// Their names and types.
    Known(Vec<(String, Type)>),
    /// Only running it will tell.
    Late,
}

impl Columns {
    /// Whether there are rows to come.
    pub fn are_rows(&self) -> bool {
        !matches!(self, Self::None)
    }
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

impl Answer {
    /// The same, whose errors have their places in the text that the engine's was made of.
    pub fn led_back(self, map: &PositionMap) -> Self {
        match self {
            Self::Rows(rows) if !map.is_empty() => Self::Rows(Box::new(RowsOfEdited { rows, map: map.clone() })),
            answer => answer,
        }
    }
}

/// The rows of a statement that the engine got in another text than the client wrote.
struct RowsOfEdited {
    rows: Box<dyn Rows>,
    map: PositionMap,
}

impl Rows for RowsOfEdited {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    fn type_names(&self) -> &[String] {
        self.rows.type_names()
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        self.rows.next().map_err(|error| error.led_back(&self.map))
    }
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

    /// The same with a place in the text that the engine's was made of.
    pub fn led_back(self, map: &PositionMap) -> Self {
        Self { position: self.position.and_then(|position| map.old(position)), ..self }
    }

    /// What COPY and DECLARE say to a statement without rows.
    pub fn no_rows() -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY and DECLARE need a query that gives rows; nothing has run")
    }

    /// Whether the engine can run nothing any more, for any session: DuckDB has invalidated the database, which it does
    /// after errors of its own (INTERNAL) and of the disk. Every statement after that gives this error. The class in
    /// front is the engine's; no client's text comes before it.
    pub fn is_fatal_for_engine(&self) -> bool {
        self.message.starts_with("FATAL Error: ")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_engines_own_class_is_fatal() {
        let error = |text: &str| crate::duckdb::error(text, "").is_fatal_for_engine();
        assert!(error("FATAL Error: Failed: database has been invalidated because of a previous fatal error."));
        assert!(!error("Invalid Input Error: FATAL Error: database has been invalidated"));
        assert!(!error("INTERNAL Error: this one statement failed"));
    }
}
