//! The server over DuckDB: `python/colonnade/_duckdb/engine.py` runs the statements, this takes the rows.
//!
//! A session's thread holds the interpreter lock only while it hands a statement to DuckDB (which lets go of it as
//! well); reading, encoding and sending happen without.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, Field, Fields, Schema, SchemaRef};
use colonnade_duckdb::{Home, LibraryConnection, StatementTypes, Translated, TranslatingSession, types};
use colonnade_server::{
    BatchSize, ColumnCheck, Columns, Engine, EngineAnswer, EngineError, EngineSession, Interrupt, Parameter, Role,
    Rows, SqlState, Who, parameter::ParameterValue,
};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyString};

use crate::capsule::{self, take_stream};
use crate::fence::Refused;
use crate::ffi_stream;
use crate::stream::struct_field;

/// A `colonnade._duckdb.engine.Engine`.
pub(crate) struct PyEngine {
    engine: Py<PyAny>,
    version: String,
    database: Option<String>,
    home: Home,
}

impl PyEngine {
    pub(crate) fn new(engine: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (version, database) = (engine.getattr("version")?.extract()?, engine.getattr("database")?.extract()?);
        let (name, has_public) = engine.getattr("home")?.extract()?;
        let home = Home { database: name, has_public };
        Ok(Self { version, database, home, engine: engine.clone().unbind() })
    }
}

impl Engine for PyEngine {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    fn session(&self, who: &Who) -> Result<Box<dyn EngineSession>, EngineError> {
        Python::attach(|py| {
            let is_read_only = who.role == Role::ReadOnly;
            let session = self.engine.bind(py).call_method1("session", (&who.name, is_read_only));
            let session = session.map_err(|error| engine_error(py, &error, &Translated::default()))?;
            let session = Arc::new(session.unbind());
            let connection = PyConnection { session, is_read_only };
            Ok(Box::new(TranslatingSession::new(connection, self.home.clone())) as Box<dyn EngineSession>)
        })
    }
}

/// A `colonnade._duckdb.engine.Session`.
struct PyConnection {
    session: Arc<Py<PyAny>>,
    /// Then each statement has a transaction to be ended.
    is_read_only: bool,
}

/// What `engine.Session.execute` gives.
#[derive(FromPyObject)]
struct PyAnswer<'py> {
    stream: Option<Bound<'py, PyAny>>,
    changed: Option<u64>,
    names: Vec<String>,
    types: Vec<String>,
    cast: Vec<usize>,
}

/// What `engine.Session.describe` gives.
#[derive(FromPyObject)]
struct PyDescription {
    parameters: Vec<(String, String)>,
    columns: Option<Vec<(String, String)>>,
    late: bool,
}

/// Values by name, which is their number; `None` if there are none.
fn named_values<'a>(parameters: &[&'a Parameter]) -> Option<HashMap<String, PyValue<'a>>> {
    let values = parameters.iter().map(|parameter| (parameter.number.to_string(), PyValue(&parameter.value)));
    (!parameters.is_empty()).then(|| values.collect())
}

/// A parameter's value on its way to Python.
struct PyValue<'a>(&'a ParameterValue);

impl<'py> IntoPyObject<'py> for PyValue<'_> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.0 {
            ParameterValue::Null => py.None().into_bound(py),
            ParameterValue::Text(text) => PyString::new(py, text).into_any(),
            ParameterValue::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            ParameterValue::List(items) => PyList::new(py, items.iter().map(PyValue))?.into_any(),
            ParameterValue::Sent { .. } => {
                return Err(PyValueError::new_err("DuckDB takes no values in PostgreSQL's form"));
            }
        })
    }
}

impl PyConnection {
    /// A statement without rows to come is done.
    fn finish(&self) {
        if self.is_read_only {
            finish(&self.session);
        }
    }

    /// Calls a method that gives an answer, or None.
    fn call<'p, A>(&self, method: &str, arguments: A, statement: &Translated) -> Result<EngineAnswer, EngineError>
    where
        A: for<'py> PyCallArgs<'py> + 'p,
    {
        let (stream, changed, columns) = Python::attach(|py| {
            let answer = self.session.bind(py).call_method1(method, arguments)?;
            let Some(answer) = answer.extract::<Option<PyAnswer<'_>>>()? else { return Ok(Default::default()) };
            let stream = answer.stream.map(|stream| take_stream(&stream)).transpose()?;
            Ok((stream, answer.changed, (answer.names, answer.types, answer.cast)))
        })
        .map_err(|error: PyErr| Python::attach(|py| engine_error(py, &error, statement)))?;
        let Some(stream) = stream else { return Ok(EngineAnswer::Done { changed }) };
        let reader =
            RecordBatchStreamReader::try_new(stream).map_err(|error| statement.error(producer_text(&error)))?;
        let (names, types, cast) = columns;
        let schema = named(&reader.schema(), &names, &types, &cast);
        let session = self.is_read_only.then(|| Arc::clone(&self.session));
        let (reader, statement) = (Some(reader), statement.clone());
        Ok(EngineAnswer::Rows(Box::new(PyRows { session, reader, schema, types, statement })))
    }
}

impl LibraryConnection for PyConnection {
    fn execute(
        &mut self,
        statement: &Translated,
        values: &[&Parameter],
        size: BatchSize,
        must_give_rows: bool,
    ) -> Result<EngineAnswer, EngineError> {
        let arguments = (&statement.text, size.rows, size.bytes, named_values(values), must_give_rows);
        let answer = self.call("execute", arguments, statement);
        if !matches!(answer, Ok(EngineAnswer::Rows(_))) {
            self.finish();
        }
        answer
    }

    fn query_checked(
        &mut self,
        statement: &Translated,
        size: BatchSize,
        check: ColumnCheck,
    ) -> Result<EngineAnswer, EngineError> {
        let checked = match self.call("preview", (&statement.text,), statement) {
            Ok(EngineAnswer::Rows(columns)) => check(columns.as_ref()),
            // It only reads, or only running it tells its columns.
            other => other.map(drop),
        };
        if let Err(error) = checked {
            self.finish();
            return Err(error);
        }
        self.execute(statement, &[], size, true)
    }

    fn describe(&mut self, statement: &Translated, values: &[&Parameter]) -> Result<StatementTypes, EngineError> {
        let described: PyResult<PyDescription> = Python::attach(|py| {
            self.session.bind(py).call_method1("describe", (&statement.text, named_values(values)))?.extract()
        });
        self.finish();
        let described = described.map_err(|error| Python::attach(|py| engine_error(py, &error, statement)))?;
        let number = |(name, type_name): (String, String)| Some((name.parse().ok()?, types::named(&type_name)));
        let columns = match described.columns {
            None => Columns::None,
            Some(_) if described.late => Columns::Late,
            Some(columns) => {
                Columns::Known(columns.into_iter().map(|(name, type_name)| (name, types::named(&type_name))).collect())
            }
        };
        let parameters = described.parameters.into_iter().filter_map(number).collect();
        Ok(StatementTypes { parameters, columns })
    }

    fn insert(&mut self, statement: &Translated, name: &str, batch: RecordBatch) -> Result<u64, EngineError> {
        let inserted: PyResult<u64> = Python::attach(|py| {
            let batch = Bound::new(py, Inserted { batch })?;
            self.session.bind(py).call_method1("insert", (&statement.text, name, batch))?.extract()
        });
        self.finish();
        inserted.map_err(|error| Python::attach(|py| engine_error(py, &error, statement)))
    }

    fn interrupt_handle(&self) -> Arc<dyn Interrupt> {
        Arc::new(PyInterrupt { session: Arc::clone(&self.session) })
    }
}

impl Drop for PyConnection {
    fn drop(&mut self) {
        Python::attach(|py| {
            // Whether it closes well or not, nobody is left who would want to know.
            let _ = self.session.bind(py).call_method0("close");
        });
    }
}

/// A batch on its way into a table, as Arrow's PyCapsule interface gives it.
#[pyclass(frozen)]
struct Inserted {
    batch: RecordBatch,
}

#[pymethods]
impl Inserted {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let field = struct_field(&self.batch.schema());
        let mut batches = std::iter::once(Arc::new(StructArray::from(self.batch.clone())) as ArrayRef);
        capsule::stream(py, ffi_stream::export(field, Box::new(move || Ok(batches.next()))))
    }
}

struct PyInterrupt {
    session: Arc<Py<PyAny>>,
}

impl Interrupt for PyInterrupt {
    fn interrupt(&self) {
        Python::attach(|py| {
            // A closed session has nothing to interrupt.
            let _ = self.session.bind(py).call_method0("interrupt");
        });
    }
}

/// A result that DuckDB streams.
struct PyRows {
    /// To be told at the end, where it wants to know.
    session: Option<Arc<Py<PyAny>>>,
    /// There until the end.
    reader: Option<RecordBatchStreamReader>,
    schema: SchemaRef,
    types: Vec<String>,
    statement: Translated,
}

impl Rows for PyRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn type_names(&self) -> &[String] {
        &self.types
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        let next = self.reader.as_mut().and_then(Iterator::next);
        next.transpose().map_err(|error| self.statement.error(producer_text(&error)))
    }
}

impl Drop for PyRows {
    fn drop(&mut self) {
        drop(self.reader.take());
        if let Some(session) = &self.session {
            finish(session);
        }
    }
}

/// Ends the transaction of a read-only user's statement.
fn finish(session: &Py<PyAny>) {
    Python::attach(|py| {
        // If that fails, so will the next statement, and say why.
        let _ = session.bind(py).call_method0("finish");
    });
}

/// The schema, with the columns' names, and the DuckDB type of those that were cast to text (TYPES.md).
fn named(schema: &Schema, names: &[String], types: &[String], cast: &[usize]) -> SchemaRef {
    let field = |(at, field): (usize, &Arc<Field>)| {
        let name = names.get(at).unwrap_or(field.name());
        let type_ = types.get(at).filter(|_| cast.contains(&at));
        if name == field.name() && type_.is_none() {
            return Arc::clone(field);
        }
        let mut metadata = field.metadata().clone();
        metadata.extend(type_.map(|type_| ("colonnade.type".to_owned(), type_.clone())));
        Arc::new(field.as_ref().clone().with_name(name).with_metadata(metadata))
    };
    let fields: Fields = schema.fields().iter().enumerate().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// What DuckDB said, out of what arrow-rs and, before it, pyarrow make of it.
fn producer_text(error: &ArrowError) -> &str {
    match error {
        ArrowError::CDataInterface(text) => {
            let text = text.split_once("Producer error: ").map_or(text.as_str(), |(_, text)| text);
            text.strip_prefix("IOError: ").unwrap_or(text)
        }
        _ => "INTERNAL Error: DuckDB's Arrow stream is not valid",
    }
}

fn engine_error(py: Python<'_>, error: &PyErr, statement: &Translated) -> EngineError {
    if error.is_instance_of::<Refused>(py)
        && let Ok(arguments) = error.value(py).getattr("args")
        && let Ok((message, code, position)) = arguments.extract::<(String, String, Option<usize>)>()
    {
        let code = SqlState::parse(&code).unwrap_or(SqlState::INSUFFICIENT_PRIVILEGE);
        let position = position.map(|position| statement.position(position));
        return EngineError { position, ..EngineError::new(code, message) };
    }
    if error.is_instance_of::<PyMemoryError>(py) {
        let text = "the server has no memory left for this; try again, or with a statement that needs less";
        return EngineError::new(SqlState::OUT_OF_MEMORY, text);
    }
    let text = error.value(py).to_string();
    let is_unsupported = error.get_type(py).name().is_ok_and(|name| name == "UnsupportedType");
    if is_unsupported { EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, text) } else { statement.error(&text) }
}
