//! Where functions in the plan of a statement run their queries: connections beside that of the calling session.
//!
//! A connection of DuckDB runs one statement at a time, so the queries of functions need others. Each has the caller's name and settings,
//! and is read-only. Its queries see what is committed, and not the caller's open transaction. A session keeps these connections: there are
//! as many as calls have run queries at the same time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use colonnade_duckdb::{ServedDatabase, Translated, TranslatingSession};
use colonnade_server::{BatchSize, EngineAnswer, EngineError, Interrupt as _, Rows};
use colonnade_udf::{
    FunctionColumn, Loopback, LoopbackConnection, LoopbackError, LoopbackReply, LoopbackRows, StopFlag,
};
use pyo3::prelude::*;

use super::functions::FunctionNames;
use super::own_connection::OwnConnection;
use super::{PyConnection, PySession, engine_error};
use crate::attached::attached;
use crate::duckdb_api::{FunctionSession, WriteError, column, write_column};

/// How deep queries of functions may be nested: a query calls a function, which runs a query.
pub(super) const MAX_DEPTH: usize = 8;
/// The rows of a query are sent to the worker in batches of this size.
const BATCH: BatchSize = BatchSize { rows: 122_880, bytes: 4 << 20 };

/// The connections beside a session.
pub(super) struct Siblings {
    /// A `colonnade._duckdb.engine.Engine`.
    engine: Py<PyAny>,
    /// The `engine.Session` of the caller.
    caller: Py<PyAny>,
    served: ServedDatabase,
    aggregates: FunctionNames,
    tables: FunctionNames,
    /// How many functions call each other by queries, up to the caller.
    depth: usize,
    /// Those that no call uses.
    idle: Mutex<Vec<Sibling>>,
}

/// A connection for queries.
struct Sibling {
    session: TranslatingSession<PyConnection>,
    handle: Arc<PySession>,
    /// Ends the calls within its queries.
    stop: StopFlag,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Siblings {
    /// Lets the functions of a session run queries.
    pub(super) fn install(
        engine: &Bound<'_, PyAny>,
        caller: &Bound<'_, PyAny>,
        served: &ServedDatabase,
        (aggregates, tables): (&FunctionNames, &FunctionNames),
        depth: usize,
    ) -> PyResult<()> {
        let siblings = Self {
            engine: engine.clone().unbind(),
            caller: caller.clone().unbind(),
            served: served.clone(),
            aggregates: aggregates.clone(),
            tables: tables.clone(),
            depth,
            idle: Mutex::default(),
        };
        let functions = function_session(caller)?;
        functions.get().set_loopback(Arc::new(Shared(Arc::new(siblings))));
        let own = OwnConnection::new(caller, served, (aggregates, tables), depth);
        functions.get().set_table_loopback(Arc::new(own));
        Ok(())
    }

    fn open(&self) -> Result<Sibling, LoopbackError> {
        attached(|py| {
            let opened = || -> PyResult<Sibling> {
                let engine = self.engine.bind(py);
                let session = engine.call_method1("sibling", (&self.caller,))?;
                Self::install(engine, &session, &self.served, (&self.aggregates, &self.tables), self.depth + 1)?;
                let stop = function_session(&session)?.get().stop_flag();
                let handle = Arc::new(PySession(session.unbind()));
                let connection = PyConnection {
                    session: Arc::clone(&handle),
                    is_read_only: true,
                    has_functions: true,
                    aggregates: self.aggregates.clone(),
                    tables: self.tables.clone(),
                    ends_transaction: false,
                    is_borrowed: false,
                };
                Ok(Sibling { session: TranslatingSession::new(connection, self.served.clone()), handle, stop })
            };
            opened().map_err(|error| loopback_error(engine_error(py, &error, &Translated::default())))
        })
    }

    /// Gives a connection the caller's present settings.
    fn follow(&self, sibling: &Sibling) -> Result<(), LoopbackError> {
        attached(|py| {
            let followed = sibling.handle.0.bind(py).call_method1("follow", (&self.caller,));
            let failed = |error| loopback_error(engine_error(py, &error, &Translated::default()));
            followed.map(drop).map_err(failed)
        })
    }
}

fn function_session<'py>(session: &Bound<'py, PyAny>) -> PyResult<Bound<'py, FunctionSession>> {
    Ok(session.getattr("functions")?.getattr("workers")?.cast_into()?)
}

/// The siblings of a session, as the session's workers know them.
struct Shared(Arc<Siblings>);

impl Loopback for Shared {
    fn connect(&self) -> Result<Arc<dyn LoopbackConnection>, LoopbackError> {
        let siblings = &self.0;
        if siblings.depth >= MAX_DEPTH {
            let text = format!("queries of functions call functions with queries, more than {MAX_DEPTH} levels deep");
            return Err(LoopbackError::new("54001", text));
        }
        // In a statement of its own, so that the list is not locked while a connection is opened.
        let idle = lock(&siblings.idle).pop();
        let sibling = idle.map_or_else(|| siblings.open(), Ok)?;
        siblings.follow(&sibling)?;
        let (handle, stop) = (Arc::clone(&sibling.handle), sibling.stop.clone());
        let state = Mutex::new(State { rows: None, sibling: Some(sibling) });
        Ok(Arc::new(Leased { siblings: Arc::clone(siblings), handle, stop, state }))
    }
}

/// A connection that a call uses.
struct Leased {
    siblings: Arc<Siblings>,
    handle: Arc<PySession>,
    stop: StopFlag,
    state: Mutex<State>,
}

struct State {
    rows: Option<OpenRows>,
    sibling: Option<Sibling>,
}

/// A query that runs.
pub(super) struct OpenRows {
    pub(super) rows: Box<dyn Rows>,
    pub(super) columns: Vec<FunctionColumn>,
    /// The next batch.
    pub(super) next: Option<RecordBatch>,
}

impl LoopbackConnection for Leased {
    fn query(&self, sql: &str) -> Result<(), LoopbackError> {
        let mut state = lock(&self.state);
        state.rows = None;
        // The interrupt of a query before this one has ended with it.
        self.stop.reset();
        let sibling = state.sibling.as_mut().ok_or_else(|| LoopbackError::new("XX000", "the connection is gone"))?;
        state.rows = Some(OpenRows::read(&mut sibling.session, sql)?);
        Ok(())
    }

    fn next(&self, reply: LoopbackReply<'_>) -> Result<LoopbackRows, LoopbackError> {
        let mut state = lock(&self.state);
        let rows = state.rows.as_mut().ok_or_else(|| LoopbackError::new("55000", "the query has no more rows"))?;
        let written = rows.write(reply);
        if !written.as_ref().is_ok_and(|written| written.has_more) {
            state.rows = None;
        }
        written
    }

    fn interrupt(&self) {
        self.handle.interrupt();
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.rows = None;
        lock(&self.siblings.idle).extend(state.sibling.take());
    }
}

impl OpenRows {
    /// Begins a query.
    pub(super) fn read(session: &mut TranslatingSession<PyConnection>, sql: &str) -> Result<Self, LoopbackError> {
        let mut rows = match session.read(sql, BATCH).map_err(loopback_error)? {
            EngineAnswer::Rows(rows) => rows,
            EngineAnswer::Done { .. } => return Err(LoopbackError::new("25006", "this statement gives no rows")),
        };
        let columns = columns(rows.as_ref())?;
        let next = rows.next().map_err(loopback_error)?;
        Ok(Self { rows, columns, next })
    }

    pub(super) fn write(&mut self, reply: LoopbackReply<'_>) -> Result<LoopbackRows, LoopbackError> {
        let batch = self.next.take().unwrap_or_else(|| RecordBatch::new_empty(self.rows.schema()));
        self.next = self.rows.next().map_err(loopback_error)?;
        let mut reply = reply.begin(&self.columns, batch.num_rows())?;
        for (column, array) in self.columns.iter().zip(batch.columns()) {
            write_column(&mut reply, &column.column_type, array).map_err(|error| match error {
                WriteError::Ring(error) => error.into(),
                WriteError::Value(error) => LoopbackError::new("XX000", error.to_string()),
            })?;
        }
        Ok(reply.finish(self.next.is_some())?)
    }
}

/// The columns of a query. Each has a name of its own, because the function gets them by name.
pub(super) fn columns(rows: &dyn Rows) -> Result<Vec<FunctionColumn>, LoopbackError> {
    let schema = rows.schema();
    let mut names = std::collections::HashSet::new();
    if let Some(twice) = schema.fields().iter().find(|field| !names.insert(field.name().as_str())) {
        let text = format!("two columns of the query have the name \"{}\"", twice.name());
        let hint = "Give one of them another name with AS.".to_owned();
        return Err(LoopbackError { hint, ..LoopbackError::new("42701", text) });
    }
    let types = rows.type_names().iter().map(String::as_str).chain(std::iter::repeat(""));
    let columns = schema.fields().iter().zip(types).map(|(field, type_name)| column(field, type_name));
    columns.collect::<Result<_, _>>().map_err(|error| LoopbackError::new("0A000", error.to_string()))
}

/// An error of the engine as the function gets it.
pub(super) fn loopback_error(error: EngineError) -> LoopbackError {
    let context = error.function.map(|place| place.context).unwrap_or_default();
    let (detail, hint) = (error.detail.unwrap_or_default(), error.hint.unwrap_or_default());
    LoopbackError { code: error.code.as_str().to_owned(), message: error.message, detail, hint, context }
}
