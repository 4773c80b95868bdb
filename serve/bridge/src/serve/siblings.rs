//! Where functions in the plan of a statement run their queries: connections other than that of the calling session.
//!
//! A connection of DuckDB runs one statement at a time, so these queries need others. Each has the caller's name and
//! settings, and is read-only. Its queries see what is committed, and not the caller's open transaction. A session
//! keeps these connections: there are as many as calls have run queries at the same time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use colonnade_duckdb::{ServedDatabase, Translated, TranslatingSession, UserFence};
use colonnade_server::Interrupt as _;
use colonnade_udf::{Loopback, LoopbackConnection, LoopbackError, LoopbackReply, LoopbackRows, StopFlag};
use pyo3::prelude::*;

use super::functions::{self, FunctionNames};
use super::open_rows::{BATCH, OpenRows, loopback_error};
use super::own_connection::OwnConnection;
use super::{PyConnection, PySession, engine_error};
use crate::attached::attached;
use crate::duckdb_api::Queries;

/// How deep queries of functions may be nested: a query calls a function, which runs a query.
const MAX_DEPTH: usize = 8;

/// The additional connections of a session.
pub(super) struct Siblings {
    /// A `colonnade_serve._duckdb.engine.Engine`.
    engine: Py<PyAny>,
    /// The `engine.Session` of the caller.
    caller: Py<PyAny>,
    served: ServedDatabase,
    /// That of a user who only reads.
    fence: UserFence,
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
        (served, fence): (&ServedDatabase, UserFence),
        (aggregates, tables): (&FunctionNames, &FunctionNames),
        depth: usize,
    ) -> PyResult<()> {
        let between_statements = OwnConnection::new(caller, (served, fence.clone()), (aggregates, tables))?;
        let siblings = Self {
            engine: engine.clone().unbind(),
            caller: caller.clone().unbind(),
            served: served.clone(),
            fence,
            aggregates: aggregates.clone(),
            tables: tables.clone(),
            depth,
            idle: Mutex::default(),
        };
        let within_statements = Arc::new(Shared(Arc::new(siblings)));
        let between_statements = Arc::new(between_statements);
        functions::session_of(caller)?.get().set_loopback(Queries { within_statements, between_statements });
        Ok(())
    }

    fn open(&self) -> Result<Sibling, LoopbackError> {
        attached(|py| {
            let opened = || -> PyResult<Sibling> {
                let engine = self.engine.bind(py);
                let session = engine.call_method1("sibling", (&self.caller,))?;
                let (served, names) = ((&self.served, self.fence.clone()), (&self.aggregates, &self.tables));
                Self::install(engine, &session, served, names, self.depth + 1)?;
                let stop = functions::session_of(&session)?.get().stop_flag();
                let handle = Arc::new(PySession(session.unbind()));
                let connection = PyConnection {
                    session: Arc::clone(&handle),
                    is_read_only: true,
                    has_functions: true,
                    aggregates: self.aggregates.clone(),
                    tables: self.tables.clone(),
                    ends_transaction: false,
                    is_owner: true,
                    processes: None,
                };
                let session = TranslatingSession::new(connection, self.served.clone(), self.fence.clone());
                Ok(Sibling { session, handle, stop })
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

/// The siblings of a session, as the session's function processes know them.
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

impl LoopbackConnection for Leased {
    fn query(&self, sql: &str) -> Result<(), LoopbackError> {
        let mut state = lock(&self.state);
        state.rows = None;
        // The interrupt of a query before this one has ended with it.
        self.stop.reset();
        let sibling = state.sibling.as_mut().ok_or_else(|| LoopbackError::new("XX000", "the connection is gone"))?;
        state.rows = Some(OpenRows::new(sibling.session.read(sql, BATCH))?);
        Ok(())
    }

    fn next(&self, reply: LoopbackReply<'_>) -> Result<LoopbackRows, LoopbackError> {
        OpenRows::write_next(&mut lock(&self.state).rows, reply)
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
