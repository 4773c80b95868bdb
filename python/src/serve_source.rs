//! The server in front of another database: each session has a connection of the client's to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, SchemaRef};
use client::{Cancel, ErrorKind, Parameters, QueryOptions, ResultStream, SchemaCheck, Transaction};
use colonnade_client as client;
use colonnade_server::{
    BatchSize, ColumnCheck, Columns, Description, Engine, EngineAnswer, EngineError, EngineSession, Interrupt,
    Parameter, Role, Rows, SqlState, TransactionStatus, Who, parameter, parameter::ParameterValue, value::types::Type,
    value::types::TypeKind,
};
use colonnade_sql::Statement;
use pyo3::prelude::*;

use crate::connection::Connection;
use crate::error::to_py;
use crate::py_source::{PySource, from_py};

/// A database to stand in front of.
#[pyclass(module = "colonnade._core", frozen)]
pub(crate) struct SourceEngine(Arc<Front>);

struct Front {
    /// Gives a new connection, a `colonnade._core.Source`.
    connect: Py<PyAny>,
    server: String,
}

#[pymethods]
impl SourceEngine {
    /// Connects once, to see whether that works and to what.
    #[new]
    fn new(py: Python<'_>, connect: Py<PyAny>) -> PyResult<Self> {
        let mut front = Front { connect, server: String::new() };
        let session = front.connect(py).map_err(|error| to_py(py, &error))?;
        front.server = session.source.server().to_owned();
        py.detach(|| drop(session));
        Ok(Self(Arc::new(front)))
    }

    /// The source's software, as it calls itself.
    #[getter]
    fn version(&self) -> &str {
        &self.0.server
    }

    /// Nothing is shared by the sessions.
    #[allow(clippy::unused_self, reason = "DuckDB's engine has something to close")]
    fn close(&self) {}
}

impl SourceEngine {
    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.0.clone()
    }
}

impl Front {
    /// A session of its own there.
    fn connect(&self, py: Python<'_>) -> Result<SourceSession, client::Error> {
        let connected = || -> PyResult<SourceSession> {
            let source = self.connect.bind(py).call0()?;
            if let Ok(connection) = source.cast::<Connection>() {
                let source = connection.get().inner(py)?;
                return Ok(SourceSession { source, canceller: None, stopped: Arc::default() });
            }
            let source: Arc<dyn client::Connection> = Arc::new(PySource::new(&source)?);
            let canceller = Some(source.canceller());
            Ok(SourceSession { source, canceller, stopped: Arc::default() })
        };
        connected().map_err(|error| from_py(py, &error))
    }
}

impl Engine for Front {
    fn version(&self) -> String {
        self.server.clone()
    }

    fn postgres_version(&self) -> String {
        // Clients ask its catalog, which is not the same in all versions.
        let version = self.server.strip_prefix("PostgreSQL ").and_then(|rest| rest.split(' ').next());
        version.unwrap_or("15.0").to_owned()
    }

    fn session(&self, who: &Who) -> Result<Box<dyn EngineSession>, EngineError> {
        let session = Python::attach(|py| self.connect(py)).map_err(|error| at_login(&error))?;
        // SQLite's files are opened for reading only; what others would let themselves be told, a user could take back.
        if who.role == Role::ReadOnly && session.source.dialect() != client::Dialect::Sqlite {
            let message = "a read-only user cannot be held to reading at this source";
            let hint = "Serve it once more with a login of the source's that may only read.";
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
    /// What stops a call that does not look at `stopped`.
    canceller: Option<Arc<dyn Cancel>>,
    stopped: Arc<AtomicBool>,
}

/// What a statement is to give.
enum Wanted {
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
        self.send(statement.text, parameters, size, Wanted::Any)
    }

    fn query(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        self.send(statement.text, parameters, size, Wanted::Rows)
    }

    fn query_checked(
        &mut self,
        statement: &Statement<'_>,
        size: BatchSize,
        check: ColumnCheck,
    ) -> Result<EngineAnswer, EngineError> {
        let check: SchemaCheck =
            Box::new(move |schema| check(&NoRows(SchemaRef::clone(schema))).map_err(|error| source_error(&error)));
        self.send(statement.text, &[], size, Wanted::CheckedRows(check))
    }

    fn describe(&mut self, statement: &Statement<'_>, types: &[u32]) -> Result<Description, EngineError> {
        self.stopped.store(false, Ordering::Release);
        if matches!(self.source.dialect(), client::Dialect::Postgres { .. }) {
            return self.described(statement.text, types);
        }
        let count = colonnade_sql::placeholder::count(statement.text, self.source.dialect());
        if count > usize::from(u16::MAX) {
            return Err(EngineError::new(SqlState::PROTOCOL_VIOLATION, "a statement has 65535 parameters at most"));
        }
        let parameters = vec![Type::unknown(); count];
        Ok(Description { parameters, columns: Columns::Late, ..Description::default() })
    }

    fn insert(&mut self, _: &str, _: Option<&str>, _: &[Type], _: RecordBatch) -> Result<u64, EngineError> {
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
    /// Has the source run a statement; one that must give rows and does not, or not those, leaves no trace.
    fn send(
        &self,
        statement: &str,
        parameters: &[Parameter],
        size: BatchSize,
        wanted: Wanted,
    ) -> Result<EngineAnswer, EngineError> {
        self.stopped.store(false, Ordering::Release);
        check(statement, parameters, self.source.dialect())?;
        let values = values(parameters, self.source.dialect())?;
        let statement = client::Statement { sql: statement, parameters: values.as_ref() };
        let options = QueryOptions {
            chunk_rows: u32::try_from(size.rows).ok(),
            chunk_bytes: Some(size.bytes as u64),
            ..QueryOptions::default()
        };
        let stopped = Arc::clone(&self.stopped);
        let mut keep = || !self.stopped.load(Ordering::Acquire);
        let answer = match wanted {
            Wanted::Rows => self.source.query(statement, &options, &mut keep).map(client::Answer::Rows),
            Wanted::CheckedRows(check) => {
                self.source.query_checked(statement, &options, check, &mut keep).map(client::Answer::Rows)
            }
            Wanted::Any => self.source.run(statement, &options, &mut keep),
        };
        match answer {
            Ok(client::Answer::Done(changed)) => Ok(EngineAnswer::Done { changed }),
            Ok(client::Answer::Rows(rows)) => Ok(EngineAnswer::Rows(Box::new(SourceRows { rows, stopped }))),
            Err(error) => Err(engine_error(&error)),
        }
    }

    /// What PostgreSQL says of a statement.
    fn described(&self, statement: &str, types: &[u32]) -> Result<Description, EngineError> {
        let stopped = Arc::clone(&self.stopped);
        let found = self.source.describe(statement, types, &mut || !stopped.load(Ordering::Acquire));
        let Some(found) = found.map_err(|error| engine_error(&error))? else {
            return Ok(Description { columns: Columns::Late, ..Description::default() });
        };
        let type_ = |oid: &u32| Type::of_oid(*oid).unwrap_or_else(Type::unknown);
        let parameters = found.parameters.iter().map(type_).collect();
        let columns = match found.schema {
            None => Columns::None,
            Some(schema) => {
                let column = |field: &FieldRef| Some((field.name().clone(), Type::of_field(field)?));
                schema.fields().iter().map(column).collect::<Option<_>>().map_or(Columns::Late, Columns::Known)
            }
        };
        Ok(Description { parameters, type_oids: found.parameters, columns })
    }
}

struct Stop {
    stopped: Arc<AtomicBool>,
    canceller: Option<Arc<dyn Cancel>>,
}

impl Interrupt for Stop {
    fn interrupt(&self) {
        // Whoever waits for the source looks at it ten times a second, and has the source stop.
        self.stopped.store(true, Ordering::Release);
        if let Some(canceller) = &self.canceller {
            // It is asked again if this does nothing.
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

/// A result that has columns only.
struct NoRows(SchemaRef);

impl Rows for NoRows {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.0)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        Ok(None)
    }
}

/// Refuses what cannot be passed on safely to a source of which it is not known how it reads a statement.
fn check(sql: &str, parameters: &[Parameter], dialect: client::Dialect) -> Result<(), EngineError> {
    let refused = |message: &str, hint: &str| {
        Err(EngineError { hint: Some(hint.to_owned()), ..EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message) })
    };
    match dialect {
        client::Dialect::Unknown => {}
        client::Dialect::Postgres { .. } => return Ok(()),
        // It would be the column E there.
        _ if colonnade_sql::lexer::has_escape_string(sql, dialect) => {
            return refused(
                "E'…' is a string of PostgreSQL's, which this source does not have",
                "Pass the value as a parameter, bound by the server, or write the string without E.",
            );
        }
        _ => return Ok(()),
    }
    if !parameters.is_empty() {
        return refused(
            "parameters are not passed to this source, since how it writes values is not known",
            "Have the driver write them into the statement (a client-side cursor, preferQueryMode=simple).",
        );
    }
    // Drivers write a value's backslashes as they are; a source for which they escape would end the value elsewhere.
    if sql.contains('\\') {
        return refused(
            "a statement with a backslash is not passed to this source, since it is not known whether a backslash escapes there",
            "Write the character another way, such as chr(92), or serve the database by its own URI, such as mysql://.",
        );
    }
    Ok(())
}

/// The values as the source's protocol binds them.
fn values(parameters: &[Parameter], dialect: client::Dialect) -> Result<Option<Parameters>, EngineError> {
    let values = parameters.iter().map(|parameter| value(&parameter.type_, &parameter.value, dialect));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok((!values.is_empty()).then_some(Parameters::Positional(values)))
}

fn value(type_: &Type, value: &ParameterValue, dialect: client::Dialect) -> Result<client::Value, EngineError> {
    let text = match value {
        ParameterValue::Null => return Ok(client::Value::Null),
        ParameterValue::Bytes(bytes) => return Ok(client::Value::Bytes(bytes.clone())),
        ParameterValue::List(items) => {
            let mut item = type_;
            while let TypeKind::List(inner) = &item.kind {
                item = inner;
            }
            let items = items.iter().map(|one| self::value(item, one, dialect));
            return items.collect::<Result<_, _>>().map(client::Value::List);
        }
        ParameterValue::Sent { type_oid, is_binary, bytes } => {
            return Ok(client::Value::Sent(client::Sent {
                type_oid: *type_oid,
                is_binary: *is_binary,
                bytes: bytes.clone(),
            }));
        }
        ParameterValue::Text(text) => text,
    };
    let is_mysql = matches!(dialect, client::Dialect::MySql { .. });
    let wrong = || {
        EngineError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {}: \"{text}\"", type_.name),
        )
    };
    Ok(match &type_.kind {
        TypeKind::Bool => client::Value::Bool(text == "true"),
        TypeKind::Int2 | TypeKind::Int4 | TypeKind::Int8 | TypeKind::Oid => {
            client::Value::Integer(text.trim().parse().map_err(|_| wrong())?)
        }
        TypeKind::Float4 | TypeKind::Float8 => client::Value::Float(text.trim().parse().map_err(|_| wrong())?),
        TypeKind::Numeric(_) => decimal(text.trim()).ok_or_else(wrong)?,
        TypeKind::Uuid => uuid(text).map(client::Value::Uuid).ok_or_else(wrong)?,
        // Only DuckDB writes so what came in binary.
        kind if kind.is_temporal() && text.contains("(BC)") => return Err(wrong()),
        // MySQL would drop a zone, and take the digits of bits for characters.
        TypeKind::TimestampTz if is_mysql => instant(text.trim()).ok_or_else(wrong)?,
        TypeKind::TimeTz | TypeKind::Bits if is_mysql => {
            let message = format!("MySQL has no values of type {}", type_.name);
            return Err(EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        _ => client::Value::Text(text.clone()),
    })
}

fn instant(text: &str) -> Option<client::Value> {
    let parameter::Instant { year, month, day, hour, minute, second, microsecond } = parameter::instant(text)?;
    let (date, time) = (client::Date { year, month, day }, client::Time { hour, minute, second, microsecond });
    Some(client::Value::Instant(date, time))
}

fn decimal(text: &str) -> Option<client::Value> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let scale = u8::try_from(fraction.len()).ok()?;
    let is_number = fraction.bytes().all(|b| b.is_ascii_digit());
    let unscaled = format!("{whole}{fraction}").parse().ok().filter(|_| is_number)?;
    Some(client::Value::Decimal { unscaled, scale })
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|c| !matches!(c, '-' | '{' | '}')).collect();
    let number = (digits.len() == 32 && digits.is_ascii()).then(|| u128::from_str_radix(&digits, 16).ok())??;
    Some(number.to_be_bytes())
}

/// The server's reason to refuse a result, as an error of the source's.
fn source_error(error: &EngineError) -> client::Error {
    let made = client::Error::new(ErrorKind::Database, &error.message).with_sqlstate(error.code.as_str());
    error.hint.iter().fold(made.with_detail(error.detail.clone()), client::Error::with_hint)
}

/// What the source said, with its SQLSTATE. The source's name is the operator's business.
fn engine_error(error: &client::Error) -> EngineError {
    let code = error.sqlstate().and_then(SqlState::parse).unwrap_or_else(|| {
        SqlState::new(match error.kind() {
            ErrorKind::Connect => "08001",
            ErrorKind::ConnectionLost | ErrorKind::Unavailable => "08006",
            ErrorKind::Protocol => "08P01",
            ErrorKind::Unsupported => "0A000",
            ErrorKind::Interrupted => "57014",
            ErrorKind::Usage => "42000",
            // Foreign databases that give none: PostgreSQL's fdw_error.
            _ => "HV000",
        })
    });
    let (detail, hint) = (error.detail().map(str::to_owned), error.hint().map(str::to_owned));
    EngineError { detail, hint, ..EngineError::new(code, error.message()) }
}

/// Why there is no connection for a client. How the server logs in is not the client's business.
fn at_login(error: &client::Error) -> EngineError {
    match error.sqlstate() {
        Some(code) if code.starts_with("28") => {
            EngineError::new(SqlState::new("08004"), "the source does not let this server in; its operator has to look")
        }
        Some(_) => EngineError { detail: None, ..engine_error(error) },
        None => EngineError { code: SqlState::new("08001"), detail: None, ..engine_error(error) },
    }
}
