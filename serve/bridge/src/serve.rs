//! The server over DuckDB: `serve/colonnade_serve/_duckdb/session.py` runs the statements, this file reads their rows.
//!
//! A session's thread holds the interpreter lock only while it passes a statement to DuckDB, which releases the lock
//! too. Reading, encoding and sending happen without the lock.

mod engine;
mod errors;
mod functions;
mod inputs;
#[cfg(target_os = "linux")]
mod open_rows;
#[cfg(target_os = "linux")]
mod own_connection;
mod rows;
#[cfg(target_os = "linux")]
mod siblings;
mod table_constraints;
mod tables;
mod values;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use colonnade_duckdb::{
    AggregateDispatch, AllowedStatement, LibraryConnection, StatementTypes, TableConstraint, TableFunctions,
    Translated, types,
};
use colonnade_interop::rows::RowStream;
use colonnade_server::functions::Functions;
use colonnade_server::value::oid::ColumnOrigin;
use colonnade_server::value::types::Type;
use colonnade_server::{
    BatchSize, CatalogVersion, ColumnCheck, Columns, EngineAnswer, EngineError, Interrupt, Origins, Parameter,
};
use colonnade_sql::statement::ExplainInputs;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

pub(crate) use engine::PyEngine;
use errors::engine_error;
use rows::{KeptBatches, PyRows};
use table_constraints::PyTableConstraint;
use values::named_values;

use crate::attached::attached;
use crate::fence::PyAllowedStatement;
use crate::producer_text::producer_text;
use crate::table::Table;

/// A `colonnade_serve._duckdb.session.Session`.
struct PySession(Py<PyAny>);

impl PySession {
    /// Calls a method and ignores its outcome: if `finish` fails, the next statement fails too and reports the cause.
    /// Nobody waits for the outcome of `close` and `interrupt`.
    fn tell(&self, method: &str) {
        attached(|py| drop(self.0.bind(py).call_method0(method)));
    }
}

impl Interrupt for PySession {
    fn interrupt(&self) {
        self.tell("interrupt");
    }
}

struct PyConnection {
    session: Arc<PySession>,
    /// If so, each statement runs in a transaction that `finish` ends.
    is_read_only: bool,
    has_functions: bool,
    aggregates: functions::FunctionNames,
    tables: functions::FunctionNames,
    /// Whether the statement has called table functions, so that `finish` may end a transaction too.
    ends_transaction: bool,
    /// Whether the session ends with this.
    is_owner: bool,
    /// The processes of functions, which have what functions print.
    #[cfg(target_os = "linux")]
    processes: Option<colonnade_udf::SessionProcesses>,
}

/// An `engine.Answer`.
#[derive(FromPyObject)]
struct PyAnswer<'py> {
    stream: Option<Bound<'py, PyAny>>,
    changed: Option<u64>,
    names: Vec<String>,
    types: Vec<String>,
    cast: Vec<usize>,
    origins: Vec<(u32, i16)>,
    keep: Option<Py<PyAny>>,
    must_finish: bool,
}

/// An `engine.Description`.
#[derive(FromPyObject)]
struct PyDescription {
    parameters: Vec<(String, String)>,
    columns: Option<Vec<(String, String)>>,
    origins: Vec<(u32, i16)>,
    catalog: Option<(u64, u64)>,
    late: bool,
}

impl PyConnection {
    /// Ends a statement that has no more rows, and its transaction, if it has one of its own.
    fn finish(&self) {
        if self.is_read_only {
            self.session.tell("finish");
        }
    }

    /// Calls the session with the interpreter lock. An exception becomes the statement's error.
    fn with_session<T>(
        &self,
        statement: &Translated,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, EngineError> {
        attached(|py| {
            let session = self.session.0.bind(py);
            work(session).map_err(|error| {
                let of_function =
                    self.has_functions.then(|| functions::failure(session, &error.value(py).to_string())).flatten();
                of_function.unwrap_or_else(|| engine_error(py, &error, statement))
            })
        })
    }

    /// Calls a method that returns an `Answer` or None.
    fn call<'p, A>(&self, method: &str, arguments: A, statement: &Translated) -> Result<EngineAnswer, EngineError>
    where
        A: for<'py> PyCallArgs<'py> + 'p,
    {
        let (stream, changed, columns, end) = self.with_session(statement, |session| {
            let answer = session.call_method1(method, arguments)?;
            let Some(answer) = answer.extract::<Option<PyAnswer<'_>>>()? else { return Ok(Default::default()) };
            let stream = answer.stream.map(|stream| RowStream::taken(&stream)).transpose()?;
            let end = (answer.keep.map(KeptBatches::new), answer.must_finish);
            Ok((stream, answer.changed, (answer.names, answer.types, answer.cast, answer.origins), end))
        })?;
        let Some(stream) = stream else { return Ok(EngineAnswer::Done { changed }) };
        let (found, reader) = stream.open().map_err(|error| statement.error(producer_text(&error)))?;
        let (names, types, cast, origins) = columns;
        let schema = named(&found, &names, &types, &cast);
        let session = (self.is_read_only || self.has_functions).then(|| Arc::clone(&self.session));
        let (reader, statement) = (Some(reader), statement.clone());
        let (has_functions, (kept, must_finish)) = (self.has_functions, end);
        Ok(EngineAnswer::Rows(Box::new(PyRows {
            session,
            ends_transaction: self.is_read_only || self.ends_transaction || must_finish,
            has_functions,
            reader,
            kept,
            schema,
            types,
            origins: origins.into_iter().map(origin).collect(),
            statement,
        })))
    }
}

#[cfg(target_os = "linux")]
fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// A statement for Python.
struct Allowed<'a>(&'a AllowedStatement<'a>);

impl<'py> IntoPyObject<'py> for Allowed<'_> {
    type Target = PyAllowedStatement;
    type Output = Bound<'py, Self::Target>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Bound::new(py, PyAllowedStatement::of(py, self.0))
    }
}

impl LibraryConnection for PyConnection {
    fn execute(
        &mut self,
        statement: &AllowedStatement<'_>,
        values: &[&Parameter],
        size: BatchSize,
        must_give_rows: bool,
    ) -> Result<EngineAnswer, EngineError> {
        let BatchSize { rows, bytes, columns, may_be_encoded, has_origins } = size;
        let has_origins = has_origins && statement.checked().may_have_origins;
        let values = named_values(values);
        let arguments = (Allowed(statement), rows, bytes, values, must_give_rows, columns, may_be_encoded, has_origins);
        let answer = self.call("execute", arguments, statement.statement());
        self.ends_transaction = false;
        // Without rows, it has ended there.
        if answer.is_err() {
            self.finish();
        }
        answer
    }

    fn discard(&mut self, what: &str) -> Result<(), EngineError> {
        let discarded =
            self.with_session(&Translated::default(), |session| session.call_method1("discard", (what,)).map(drop));
        if discarded.is_err() {
            self.finish();
        }
        discarded
    }

    fn read(&mut self, statement: &AllowedStatement<'_>, size: BatchSize) -> Result<EngineAnswer, EngineError> {
        let answer = self.call("read", (Allowed(statement), size.rows, size.bytes), statement.statement());
        self.ends_transaction = false;
        if answer.is_err() {
            self.finish();
        }
        answer
    }

    fn query_checked(
        &mut self,
        statement: &AllowedStatement<'_>,
        size: BatchSize,
        check: ColumnCheck,
    ) -> Result<EngineAnswer, EngineError> {
        let checked = match self.call("preview", (Allowed(statement), size.columns), statement.statement()) {
            Ok(EngineAnswer::Rows(columns)) => check(columns.as_ref()),
            // The statement only reads, or its columns are unknown until it runs.
            other => other.map(drop),
        };
        if let Err(error) = checked {
            self.finish();
            return Err(error);
        }
        self.execute(statement, &[], size, true)
    }

    fn describe(
        &mut self,
        statement: &AllowedStatement<'_>,
        values: &[&Parameter],
    ) -> Result<StatementTypes, EngineError> {
        let described = self.with_session(statement.statement(), |session| {
            session.call_method1("describe", (Allowed(statement), named_values(values)))?.extract::<PyDescription>()
        });
        self.finish();
        let described = described?;
        let number = |(name, type_name): (String, String)| Some((name.parse().ok()?, types::named(&type_name)));
        let columns = match described.columns {
            None => Columns::None,
            Some(_) if described.late => Columns::Deferred,
            Some(columns) => {
                Columns::Known(columns.into_iter().map(|(name, type_name)| (name, types::named(&type_name))).collect())
            }
        };
        let parameters = described.parameters.into_iter().filter_map(number).collect();
        let origins = Origins {
            columns: described.origins.into_iter().map(origin).collect(),
            catalog: described.catalog.map(catalog_version),
        };
        Ok(StatementTypes { parameters, columns, origins })
    }

    fn catalog_version(&mut self) -> Option<CatalogVersion> {
        let found = self.with_session(&Translated::default(), |session| {
            session.call_method0("catalog_version")?.extract::<Option<(u64, u64)>>()
        });
        found.ok().flatten().map(catalog_version)
    }

    fn open_literals(&mut self, statement: &AllowedStatement<'_>) -> Result<Vec<(usize, Type)>, EngineError> {
        let found = self.with_session(statement.statement(), |session| {
            session.call_method1("open_literals", (Allowed(statement),))?.extract::<Vec<(usize, String)>>()
        });
        self.finish();
        Ok(found?.into_iter().map(|(start, type_name)| (start, types::named(&type_name))).collect())
    }

    fn insert(
        &mut self,
        statement: &AllowedStatement<'_>,
        name: &str,
        batches: Vec<RecordBatch>,
    ) -> Result<u64, EngineError> {
        let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        self.with_session(statement.statement(), |session| {
            let table = Table { schema, batches };
            session.call_method1("insert", (Allowed(statement), name, table))?.extract()
        })
    }

    fn constraints(&mut self, table: &str) -> Result<Vec<TableConstraint>, EngineError> {
        let found = self.with_session(&Translated::default(), |session| {
            session.call_method1("constraints", (table,))?.extract::<Vec<PyTableConstraint>>()
        });
        self.finish();
        Ok(found?.into_iter().map(TableConstraint::from).collect())
    }

    fn functions(&mut self) -> Option<&mut dyn Functions> {
        if self.has_functions { Some(self) } else { None }
    }

    fn tables(&mut self) -> Option<&mut dyn TableFunctions> {
        if self.has_functions { Some(self) } else { None }
    }

    fn aggregates(&self) -> Option<Arc<HashSet<String>>> {
        self.aggregates.all()
    }

    fn aggregate(
        &mut self,
        schema: Option<&str>,
        name: &str,
        arguments: usize,
    ) -> Result<Option<AggregateDispatch>, EngineError> {
        self.dispatch(schema, name, arguments)
    }

    fn inputs(
        &mut self,
        inputs: &ExplainInputs,
        query: &AllowedStatement<'_>,
        values: &[&Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        self.captured(inputs, query, named_values(values), size)
    }

    fn begin_inputs(&mut self, inputs: &ExplainInputs) -> Result<(), EngineError> {
        self.begin_capture(inputs)
    }

    fn abandon_inputs(&mut self) {
        self.session.tell("abandon_inputs");
    }

    fn input_columns(&mut self, inputs: &ExplainInputs) -> Result<Option<Vec<(String, Type)>>, EngineError> {
        self.captured_columns(inputs)
    }

    fn take_notices(&mut self) -> Vec<String> {
        #[cfg(target_os = "linux")]
        return self.processes.iter().flat_map(|processes| lines(&processes.take_notices())).collect();
        #[cfg(not(target_os = "linux"))]
        Vec::new()
    }

    fn interrupt_handle(&self) -> Arc<dyn Interrupt> {
        self.session.clone()
    }
}

impl Drop for PyConnection {
    fn drop(&mut self) {
        if self.is_owner {
            self.session.tell("close");
        }
    }
}

fn origin((table, column): (u32, i16)) -> ColumnOrigin {
    ColumnOrigin { table, column }
}

fn catalog_version((objects, settings): (u64, u64)) -> CatalogVersion {
    CatalogVersion { objects, settings }
}

/// DuckDB's name of the type of NULL without a cast.
const UNTYPED: &str = "\"NULL\"";

/// The schema with the names that clients see. A column of untyped NULLs stays one, whatever type it is streamed in.
/// The metadata of a column that was cast to text names its DuckDB type (TYPES.md). The positions in `cast` are in
/// order.
fn named(schema: &Schema, names: &[String], types: &[String], cast: &[usize]) -> SchemaRef {
    let field = |(at, field): (usize, &Arc<Field>)| {
        let name = names.get(at).unwrap_or(field.name());
        let type_ = types.get(at).filter(|_| cast.binary_search(&at).is_ok());
        if types.get(at).is_some_and(|type_| type_ == UNTYPED) {
            return Arc::new(Field::new(name, DataType::Null, true));
        }
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
