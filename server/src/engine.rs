//! What the server needs of an engine, which runs the statements.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use colonnade_sql::{Dialect, Statement};

use crate::message::backend::TransactionStatus;
use crate::parameter::ParameterValue;
use crate::sqlstate::SqlState;
use crate::value::types::Type;

/// Refuses the columns of a result that cannot be sent. It is called once, on a thread of the engine.
pub type ColumnCheck = Box<dyn FnOnce(&dyn Rows) -> Result<(), EngineError> + Send>;

/// A database that sessions are opened on.
pub trait Engine: Send + Sync {
    /// Its name and version, as clients see it in `server_version`: `Engine 2.0.0`.
    fn version(&self) -> String;

    /// The version of PostgreSQL that clients are told. The catalog is that version's.
    fn postgres_version(&self) -> String {
        "15.0".to_owned()
    }

    /// The name of the served database; `None` if any name is accepted.
    fn database(&self) -> Option<&str> {
        None
    }

    /// Opens a session. Its transactions and settings are its own, and it has the rights of `who`.
    ///
    /// # Errors
    /// If the engine cannot open another one.
    fn session(&self, who: &Who) -> Result<Box<dyn EngineSession>, EngineError>;
}

/// The user of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The user's name. Without a users file it is not verified.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The limit of its concurrent sessions, if it has one of its own.
    pub connections: Option<usize>,
}

/// What a user may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Queries and temporary tables.
    ReadOnly,
    /// All changes, too.
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

/// One client's session in the engine. At most one answer is open at a time.
///
/// Statements are the client's text, for which the engine may take other SQL. Positions of errors count in the client's text.
pub trait EngineSession: Send {
    /// Tells the number of the session, which cancel requests use.
    ///
    /// # Errors
    /// What the engine says, with its SQLSTATE.
    fn introduce(&mut self, process: i32) -> Result<(), EngineError> {
        let _ = process;
        Ok(())
    }

    /// Runs one statement, with values for its placeholders. Rows are handed out while the
    /// engine still works on the next ones.
    ///
    /// # Errors
    /// What the engine says, with its SQLSTATE.
    fn execute(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError>;

    /// Runs a statement that must give rows. An engine that can tell beforehand refuses any other with
    /// [`EngineError::no_rows`], and nothing of it happens.
    ///
    /// # Errors
    /// What the engine says, with its SQLSTATE.
    fn query(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        self.execute(statement, parameters, size)
    }

    /// The same if `check` accepts the columns. A statement that is refused has not run, or is undone. Engines that can do
    /// neither leave what it did. Of a query that only reads, the columns need not be checked.
    ///
    /// # Errors
    /// What the engine says, with its SQLSTATE, and the errors of `check`.
    fn query_checked(
        &mut self,
        statement: &Statement<'_>,
        size: BatchSize,
        check: ColumnCheck,
    ) -> Result<EngineAnswer, EngineError> {
        let answer = self.query(statement, &[], size)?;
        if let EngineAnswer::Rows(rows) = &answer {
            check(rows.as_ref())?;
        }
        Ok(answer)
    }

    /// What a statement takes and gives. It does not run. `types` are PostgreSQL's numbers of its first parameters' types, as the client
    /// has given them, 0 where it left one open.
    ///
    /// # Errors
    /// What the engine says of a wrong statement.
    fn describe(&mut self, statement: &Statement<'_>, types: &[u32]) -> Result<Description, EngineError>;

    /// Inserts the rows of `batch` into a table; gives their number. The table and its columns (all, if there are none) are as the
    /// client has written them. The rows have as many columns as there are `types`, and texts in the place of values that have a
    /// text form only.
    ///
    /// # Errors
    /// What the engine says, with its SQLSTATE.
    fn insert(
        &mut self,
        table: &str,
        columns: Option<&str>,
        types: &[Type],
        batch: RecordBatch,
    ) -> Result<u64, EngineError>;

    /// Whether the engine needs several statements of its own for a statement, so that they must be in one transaction.
    fn needs_transaction(&self, statement: &Statement<'_>) -> bool {
        let _ = statement;
        false
    }

    /// What stops this session's statement from another thread.
    fn interrupt_handle(&self) -> Arc<dyn Interrupt>;

    /// The dialect of the database behind the engine, if statements, transactions and settings are that database's. `None` if the engine
    /// takes PostgreSQL's SQL and leaves transactions and settings to this server.
    fn source(&self) -> Option<Dialect> {
        None
    }

    /// The dialect by which the server reads what concerns itself in a statement: cursors, settings, COPY. Clients write that for
    /// PostgreSQL, also in front of a source of another dialect.
    fn dialect(&self) -> Dialect {
        Dialect::POSTGRES
    }

    /// The state of its transaction, if the engine tracks it and is idle. Otherwise the server counts BEGIN and COMMIT.
    fn status(&self) -> Option<TransactionStatus> {
        None
    }

    /// Its time zone, in the form of PostgreSQL's `TimeZone`, if the engine tracks it and is idle.
    fn time_zone(&self) -> Option<String> {
        None
    }

    /// Whether it can run statements. It cannot after the connection to its database was lost.
    fn is_open(&self) -> bool {
        true
    }
}

/// A value for a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The placeholder's number, from 1.
    pub number: usize,
    /// Its type, from the client or from the engine.
    pub type_: Type,
    /// The value.
    pub value: ParameterValue,
}

/// The size of batches. An engine that cannot estimate it beforehand may only come close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// The limit in rows.
    pub rows: usize,
    /// The target in bytes.
    pub bytes: usize,
}

/// Stops a session's running statement.
pub trait Interrupt: Send + Sync {
    /// Makes the running statement end with an error soon. Without a running statement it has no effect.
    fn interrupt(&self);
}

/// What a statement takes and gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The types of its placeholders; [`TypeKind::Unknown`](crate::value::types::TypeKind::Unknown) where nothing tells.
    pub parameters: Vec<Type>,
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
    /// Known only when it runs.
    Late,
}

impl Columns {
    /// Whether the statement gives rows.
    pub fn are_rows(&self) -> bool {
        !matches!(self, Self::None)
    }
}

/// What a statement gave.
pub enum EngineAnswer {
    /// Rows to read.
    Rows(Box<dyn Rows>),
    /// No rows, but possibly a number of changed rows.
    Done {
        /// Rows inserted, updated, deleted.
        changed: Option<u64>,
    },
}

/// A result in progress. Dropping it ends the statement.
pub trait Rows: Send {
    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// The name of each column's type in the engine, if known: `UUID`, `BIT`, `JSON[]`. The text formats need what Arrow's types do not
    /// tell.
    fn type_names(&self) -> &[String] {
        &[]
    }

    /// The next rows; `None` after the last ones.
    ///
    /// # Errors
    /// When the statement fails half-way.
    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError>;
}

/// An error of a statement.
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
    /// Where in the statement of the client, counted in characters from 0.
    pub position: Option<usize>,
    /// Whether the engine can run no more statements, in any session.
    pub ends_engine: bool,
}

impl EngineError {
    /// An error without further details.
    pub fn new(code: SqlState, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None, hint: None, position: None, ends_engine: false }
    }

    /// The error of COPY and DECLARE for a statement without rows.
    pub fn no_rows() -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, "COPY and DECLARE need a query that gives rows; nothing has run")
    }
}
