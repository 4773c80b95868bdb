//! The interface of an engine, which runs the statements.
//!
//! It gets the client's statement with its kind, and reports errors with positions in the client's text. An engine that
//! is a *source* is another database, which keeps its own transactions and settings. Any other engine leaves both to
//! the session.

pub(crate) mod error;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use colonnade_sql::{Dialect, Statement};

use crate::functions::Functions;
use crate::message::backend::TransactionStatus;
use crate::parameter::ParameterValue;
use crate::value::oid::ColumnOrigin;
use crate::value::types::Type;

pub use error::{EngineError, ErrorObject, FunctionPlace};

/// Refuses the columns of a result that cannot be sent. It is called once, on a thread of the engine.
pub type ColumnCheck = Box<dyn FnOnce(&dyn Rows) -> Result<(), EngineError> + Send>;

/// A database on which sessions are opened.
pub trait Engine: Send + Sync {
    /// Its name and version, for `server_version`: `Engine 2.0.1`.
    fn version(&self) -> String;

    /// The version of PostgreSQL for `server_version`. The catalog is that version's.
    fn postgres_version(&self) -> String {
        "15.0".to_owned()
    }

    /// The name of the served database; `None` if any name is accepted.
    fn database(&self) -> Option<&str> {
        None
    }

    /// Opens a session with its own transactions and settings, and with the rights of `user`.
    ///
    /// # Errors
    /// If the engine cannot open another session.
    fn session(&self, user: &SessionUser) -> Result<Box<dyn EngineSession>, EngineError>;
}

/// The user of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionUser {
    /// The user's name. Without a users file it is not verified.
    pub name: String,
    /// The user's rights.
    pub role: Role,
    /// The limit on this user's concurrent sessions. `None` is the server's limit.
    pub connections: Option<usize>,
    /// Whether the user may create and drop functions in Python.
    pub functions: bool,
    /// The number of the user's entry in the users file, of those that this process has seen. After the user was
    /// removed, or got another password, who logs in with the name has another one. 0 without a users file.
    pub entry: u64,
}

/// The rights of a user.
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

/// The name of a role is not valid.
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
/// Statements are the client's text. The engine may run other SQL instead, but positions of errors count in the
/// client's text.
pub trait EngineSession: Send {
    /// Tells the engine the number of the session, which cancel requests use.
    ///
    /// # Errors
    /// The engine's error.
    fn set_session_number(&mut self, process: i32) -> Result<(), EngineError> {
        let _ = process;
        Ok(())
    }

    /// Runs one statement with values for its placeholders. The caller can read rows while the engine computes the next
    /// ones.
    ///
    /// # Errors
    /// The engine's error.
    fn execute(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError>;

    /// Runs a statement that must give rows. If the engine knows beforehand that a statement gives none, it fails with
    /// [`EngineError::no_rows`] and does not run the statement.
    ///
    /// # Errors
    /// The engine's error.
    fn query(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        self.execute(statement, parameters, size)
    }

    /// Runs a statement that must give rows, if `check` accepts its columns. The engine calls `check` before the
    /// statement runs, or undoes a statement that `check` has refused. An engine that can do neither keeps the
    /// statement's changes. If a query only reads, the engine may leave the check out.
    ///
    /// # Errors
    /// The engine's error, or the error of `check`.
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

    /// The parameters and the columns of a statement, which does not run. `types` has PostgreSQL's numbers of the first
    /// parameters' types from the client; 0 where the client leaves one open.
    ///
    /// # Errors
    /// The engine's error for an invalid statement.
    fn describe(&mut self, statement: &Statement<'_>, types: &[u32]) -> Result<Description, EngineError>;

    /// The catalog as the session sees it, if that is known.
    fn catalog_version(&mut self) -> Option<CatalogVersion> {
        None
    }

    /// Inserts rows into a table. Gives their number.
    ///
    /// # Errors
    /// The engine's error.
    fn insert(&mut self, rows: InsertedRows<'_>) -> Result<u64, EngineError>;

    /// Whether the engine runs several statements for this one, so that they must be in one transaction.
    fn needs_transaction(&self, statement: &Statement<'_>) -> bool {
        let _ = statement;
        false
    }

    /// The functions in Python, if the engine has any.
    fn functions(&mut self) -> Option<&mut dyn Functions> {
        None
    }

    /// The lines that functions have printed since the last call.
    fn take_notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// A handle that stops this session's statement from another thread.
    fn interrupt_handle(&self) -> Arc<dyn Interrupt>;

    /// The dialect of the database behind the engine, if statements, transactions and settings are that database's.
    /// `None` if the engine takes PostgreSQL's SQL and leaves transactions and settings to this server.
    fn source(&self) -> Option<Dialect> {
        None
    }

    /// The dialect of statements that the server handles itself: cursors, settings, COPY. Clients write these for
    /// PostgreSQL, also if the source has another dialect.
    fn dialect(&self) -> Dialect {
        Dialect::POSTGRES
    }

    /// The state of the transaction, if the engine tracks it and is idle. Otherwise the server tracks BEGIN and COMMIT.
    fn status(&self) -> Option<TransactionStatus> {
        None
    }

    /// The time zone, in the form of PostgreSQL's `TimeZone`, if the engine tracks it and is idle.
    fn time_zone(&self) -> Option<String> {
        None
    }

    /// Whether the session can run statements. It cannot after the connection to its database was lost.
    fn is_open(&self) -> bool {
        true
    }
}

/// A column that rows are copied into.
#[derive(Clone, Debug)]
pub struct TargetColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: Type,
}

/// Rows for a table.
pub struct InsertedRows<'a> {
    /// The table's name as in the client's statement.
    pub table: &'a str,
    /// The list of columns, quoted as in SQL; `None` is all columns.
    pub columns: Option<&'a str>,
    /// The columns' names and types, one for each column of the batches.
    pub targets: Vec<&'a TargetColumn>,
    /// The rows.
    pub batches: Vec<RecordBatch>,
    /// What the values are.
    pub form: ValueForm,
}

/// What the values of inserted rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// Values may be texts, which the engine casts to the column's type.
    Input,
    /// Values have the types in which the engine sends columns. A value that the engine sends as text must be exactly
    /// the text that it would send; otherwise it is an error that names column and row.
    Exported {
        /// The first row's number, from 1.
        first_row: u64,
    },
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

/// The size of a result's batches, and what else the form of the result decides. If the engine cannot estimate it beforehand, batches may be larger or smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// The limit in rows.
    pub rows: usize,
    /// The target in bytes.
    pub bytes: usize,
    /// The most columns that the form of the result has. The engine refuses a result with more as soon as it knows the
    /// columns, or the server does later.
    pub columns: usize,
    /// Whether texts may be dictionaries of bytes, and decimals may have 64 bits, where the schema has texts and decimals
    /// of 128 bits: as [`BatchColumns`](colonnade_wire::arrow::BatchColumns) takes them.
    pub may_be_encoded: bool,
    /// Whether the origins of the columns are sent ([`Rows::origins`]).
    pub has_origins: bool,
}

/// Stops a session's running statement.
pub trait Interrupt: Send + Sync {
    /// Makes the running statement end with an error soon. Without a running statement it has no effect.
    fn interrupt(&self);
}

/// The parameters and the columns of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The types of its placeholders; [`TypeKind::Unknown`](crate::value::types::TypeKind::Unknown) if a type cannot be
    /// inferred.
    pub parameters: Vec<Type>,
    /// PostgreSQL's own numbers of the first of these types, if the engine is a PostgreSQL.
    pub type_oids: Vec<u32>,
    /// Its columns.
    pub columns: Columns,
    /// The origins of its columns.
    pub origins: Origins,
}

/// The origins of a statement's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Those of the columns, if any is known.
    pub columns: Vec<ColumnOrigin>,
    /// The catalog in which they were found, if that is known.
    pub catalog: Option<CatalogVersion>,
}

/// The catalog as one session sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogVersion {
    /// A new number after each change of an object.
    pub objects: u64,
    /// A new number after each change of the session's settings, such as the search path.
    pub settings: u64,
}

/// The columns of a statement that has not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// The statement gives no rows.
    #[default]
    None,
    /// The names and types of the columns.
    Known(Vec<(String, Type)>),
    /// The columns are known only when the statement runs.
    Deferred,
}

impl Columns {
    /// Whether the statement gives rows.
    pub fn gives_rows(&self) -> bool {
        !matches!(self, Self::None)
    }
}

/// The answer to a statement.
pub enum EngineAnswer {
    /// Rows to read.
    Rows(Box<dyn Rows>),
    /// No rows, but possibly a number of changed rows.
    Done {
        /// The number of inserted, updated or deleted rows, if the engine counts them.
        changed: Option<u64>,
    },
}

/// A result in progress. Dropping it ends the statement.
pub trait Rows: Send {
    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// The name of each column's type in the engine, if known: `UUID`, `BIT`, `JSON[]`. Arrow's types do not
    /// distinguish all types that the text formats write differently.
    fn type_names(&self) -> &[String] {
        &[]
    }

    /// The origins of the columns, if they were asked for and any is known.
    fn origins(&self) -> &[ColumnOrigin] {
        &[]
    }

    /// Whether the rows come straight from the engine's own memory, and not through a stream of its library.
    fn is_gathered(&self) -> bool {
        false
    }

    /// The next rows; `None` after the last ones.
    ///
    /// # Errors
    /// If the statement fails after its first rows.
    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError>;
}
