//! The server in front of another database: each session has its own connection of the client library to it.

mod parameters;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, SchemaRef};
use client::{Access, Cancel, ErrorKind, QueryOptions, ResultStream, SchemaCheck, Transaction};
use colonnade_client as client;
use colonnade_server::{
    BatchSize, ColumnCheck, Columns, Description, Engine, EngineAnswer, EngineError, EngineSession, InsertedRows,
    Interrupt, Parameter, Role, Rows, SessionUser, SqlState, TransactionStatus, value::types::Type,
};
use colonnade_sql::Statement;
use pyo3::prelude::*;

use crate::error::{from_py, to_py};
use crate::py_source::PySource;

/// A database in front of which the server runs.
#[pyclass(module = "colonnade_serve._core", frozen)]
pub(crate) struct SourceEngine(Arc<Front>);

struct Front {
    target: Target,
    server: String,
}

/// What a session connects to.
enum Target {
    /// A database of the client library.
    Uri(String),
    /// That of another library. The function opens a `colonnade._sources.arrow.ArrowSource`.
    Opened(Py<PyAny>),
}

#[pymethods]
impl SourceEngine {
    /// Connects once, to learn whether that works, and the name of the source's software. `target` is a URI of the
    /// client library, or a function that opens a source of another one.
    #[new]
    fn new(py: Python<'_>, target: &Bound<'_, PyAny>) -> PyResult<Self> {
        let target = match target.extract::<String>() {
            Ok(uri) => Target::Uri(uri),
            Err(_) => Target::Opened(target.clone().unbind()),
        };
        let mut front = Front { target, server: String::new() };
        let connected = py.detach(|| {
            front.connect().map(|session| {
                front.server = session.source.server().to_owned();
            })
        });
        connected.map_err(|error| to_py(py, &error))?;
        Ok(Self(Arc::new(front)))
    }
}

impl SourceEngine {
    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.0.clone()
    }
}

impl Front {
    /// A session with a new connection to the source.
    fn connect(&self) -> Result<SourceSession, client::Error> {
        let (source, canceller) = match &self.target {
            Target::Uri(uri) => (client::connect_for(Access::Gateway, uri, &mut || true)?, None),
            Target::Opened(open) => {
                let opened = |py: Python<'_>| PySource::new(&open.bind(py).call0()?);
                let source = Python::attach(|py| opened(py).map_err(|error| from_py(py, &error)))?;
                let source: Arc<dyn client::Connection> = Arc::new(source);
                (Arc::clone(&source), Some(source.canceller()))
            }
        };
        Ok(SourceSession { source, canceller, stopped: Arc::default() })
    }
}

impl Engine for Front {
    fn version(&self) -> String {
        self.server.clone()
    }

    fn postgres_version(&self) -> String {
        // Clients query the source's catalog, which differs between versions of PostgreSQL.
        let version = self.server.strip_prefix("PostgreSQL ").and_then(|rest| rest.split(' ').next());
        version.unwrap_or("15.0").to_owned()
    }

    fn session(&self, user: &SessionUser) -> Result<Box<dyn EngineSession>, EngineError> {
        let session = self.connect().map_err(|error| at_login(&error))?;
        // SQLite's files are opened read-only. In other databases, a user can undo a setting that makes the session
        // read-only.
        if user.role == Role::ReadOnly && session.source.dialect() != client::Dialect::Sqlite {
            let message = "a read-only user cannot be restricted to reading at this source";
            let hint = "Run another server, whose --source logs in to the database as a user that may only read.";
            return Err(EngineError {
                hint: Some(hint.to_owned()),
                ..EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
            });
        }
        Ok(Box::new(session))
    }
}

struct SourceSession {
    source: Arc<dyn client::Connection>,
    /// Stops a call that does not check `stopped`.
    canceller: Option<Arc<dyn Cancel>>,
    stopped: Arc<AtomicBool>,
}

/// What a statement must return.
enum ResultMode {
    Rows,
    CheckedRows(SchemaCheck),
    Any,
}

impl EngineSession for SourceSession {
    fn execute(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        self.send(statement.text, parameters, size, ResultMode::Any)
    }

    fn query(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        self.send(statement.text, parameters, size, ResultMode::Rows)
    }

    fn query_checked(
        &mut self,
        statement: &Statement<'_>,
        size: BatchSize,
        check: ColumnCheck,
    ) -> Result<EngineAnswer, EngineError> {
        let check: SchemaCheck =
            Box::new(move |schema| check(&NoRows(SchemaRef::clone(schema))).map_err(|error| source_error(&error)));
        self.send(statement.text, &[], size, ResultMode::CheckedRows(check))
    }

    fn describe(&mut self, statement: &Statement<'_>, types: &[u32]) -> Result<Description, EngineError> {
        self.stopped.store(false, Ordering::Release);
        if matches!(self.source.dialect(), client::Dialect::Postgres { .. }) {
            return self.described(statement.text, types);
        }
        let count = colonnade_sql::placeholder::count(statement.text, self.source.dialect());
        if count > usize::from(u16::MAX) {
            return Err(EngineError::new(
                SqlState::PROTOCOL_VIOLATION,
                "a statement can have at most 65535 parameters",
            ));
        }
        let parameters = vec![Type::unknown(); count];
        Ok(Description { parameters, columns: Columns::Deferred, ..Description::default() })
    }

    fn insert(&mut self, _: InsertedRows<'_>) -> Result<u64, EngineError> {
        Err(EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, "rows are not copied into a source"))
    }

    fn interrupt_handle(&self) -> Arc<dyn Interrupt> {
        Arc::new(Stop { stopped: Arc::clone(&self.stopped), canceller: self.canceller.clone() })
    }

    fn source(&self) -> Option<client::Dialect> {
        Some(self.source.dialect())
    }

    fn status(&self) -> Option<TransactionStatus> {
        self.source.transaction().map(|transaction| match transaction {
            Transaction::None => TransactionStatus::Idle,
            Transaction::Open => TransactionStatus::InTransaction,
            Transaction::Failed => TransactionStatus::Failed,
        })
    }

    fn time_zone(&self) -> Option<String> {
        self.source.time_zone()
    }

    fn is_open(&self) -> bool {
        self.source.is_open()
    }
}

impl Drop for SourceSession {
    fn drop(&mut self) {
        self.source.close();
    }
}

impl SourceSession {
    /// Runs a statement at the source. If it must return rows, and returns none or rows that the check refuses, its
    /// effects are undone.
    fn send(
        &self,
        statement: &str,
        parameters: &[Parameter],
        size: BatchSize,
        wanted: ResultMode,
    ) -> Result<EngineAnswer, EngineError> {
        self.stopped.store(false, Ordering::Release);
        parameters::check(statement, parameters, self.source.dialect())?;
        let values = parameters::values(parameters, self.source.dialect())?;
        let statement = client::Statement { sql: statement, parameters: values.as_ref() };
        let options = QueryOptions {
            chunk_rows: u32::try_from(size.rows).ok(),
            chunk_bytes: Some(size.bytes as u64),
            ..QueryOptions::default()
        };
        let stopped = Arc::clone(&self.stopped);
        let mut keep = || !self.stopped.load(Ordering::Acquire);
        let answer = match wanted {
            ResultMode::Rows => self.source.query(statement, &options, &mut keep).map(client::Answer::Rows),
            ResultMode::CheckedRows(check) => {
                self.source.query_checked(statement, &options, check, &mut keep).map(client::Answer::Rows)
            }
            ResultMode::Any => self.source.run(statement, &options, &mut keep),
        };
        match answer {
            Ok(client::Answer::Done(changed)) => Ok(EngineAnswer::Done { changed }),
            Ok(client::Answer::Rows(rows)) => Ok(EngineAnswer::Rows(Box::new(SourceRows { rows, stopped }))),
            Err(error) => Err(engine_error(&error)),
        }
    }

    /// PostgreSQL's description of a statement.
    fn described(&self, statement: &str, types: &[u32]) -> Result<Description, EngineError> {
        let stopped = Arc::clone(&self.stopped);
        let found =
            self.source.describe(statement, types, &QueryOptions::default(), &mut || !stopped.load(Ordering::Acquire));
        let Some(found) = found.map_err(|error| engine_error(&error))? else {
            return Ok(Description { columns: Columns::Deferred, ..Description::default() });
        };
        let type_ = |oid: &u32| Type::of_oid(*oid).unwrap_or_else(Type::unknown);
        let parameters = found.parameters.iter().map(type_).collect();
        let columns = match found.schema {
            None => Columns::None,
            Some(schema) => {
                let column = |field: &FieldRef| Some((field.name().clone(), Type::of_field(field)?));
                schema.fields().iter().map(column).collect::<Option<_>>().map_or(Columns::Deferred, Columns::Known)
            }
        };
        Ok(Description { parameters, type_oids: found.parameters, columns, ..Description::default() })
    }
}

struct Stop {
    stopped: Arc<AtomicBool>,
    canceller: Option<Arc<dyn Cancel>>,
}

impl Interrupt for Stop {
    fn interrupt(&self) {
        // The waiting thread checks this ten times a second, and then cancels the query at the source.
        self.stopped.store(true, Ordering::Release);
        if let Some(canceller) = &self.canceller {
            // The server repeats the interrupt if this one has no effect.
            let _ = canceller.cancel();
        }
    }
}

struct SourceRows {
    rows: Box<dyn ResultStream>,
    stopped: Arc<AtomicBool>,
}

impl Rows for SourceRows {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(self.rows.schema())
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        let stopped = &self.stopped;
        let batch = self.rows.next(&mut || !stopped.load(Ordering::Acquire));
        let decoded = batch.and_then(|batch| batch.map(client::Batch::decode).transpose());
        decoded.map_err(|error| engine_error(&error))
    }
}

/// The columns of a result, without its rows.
struct NoRows(SchemaRef);

impl Rows for NoRows {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.0)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        Ok(None)
    }
}

/// The server's reason to refuse a result, as an error of the client library.
fn source_error(error: &EngineError) -> client::Error {
    let made = client::Error::new(ErrorKind::Database, &error.message).with_sqlstate(error.code.as_str());
    error.hint.iter().fold(made.with_detail(error.detail.clone()), client::Error::with_hint)
}

/// The source's error with its SQLSTATE, but without the source's name, which only the operator may know.
fn engine_error(error: &client::Error) -> EngineError {
    let code = error.sqlstate().and_then(SqlState::parse).unwrap_or_else(|| {
        SqlState::new(match error.kind() {
            ErrorKind::Connect => "08001",
            ErrorKind::ConnectionLost | ErrorKind::Unavailable => "08006",
            ErrorKind::Protocol => "08P01",
            ErrorKind::Unsupported => "0A000",
            ErrorKind::Interrupted => "57014",
            ErrorKind::Usage => "42000",
            // PostgreSQL's fdw_error, for a database that gives no SQLSTATE.
            _ => "HV000",
        })
    });
    let (detail, hint) = (error.detail().map(str::to_owned), error.hint().map(str::to_owned));
    EngineError { detail, hint, ..EngineError::new(code, error.message()) }
}

/// Why a client gets no connection. Clients do not learn how the server logs in.
fn at_login(error: &client::Error) -> EngineError {
    match error.sqlstate() {
        Some(code) if code.starts_with("28") => EngineError::new(
            SqlState::new("08004"),
            "the source refuses this server's login; tell the server's operator",
        ),
        Some(_) => EngineError { detail: None, ..engine_error(error) },
        None => EngineError { code: SqlState::new("08001"), detail: None, ..engine_error(error) },
    }
}
