//! Where table functions run their queries: on the session's own connection, between two statements of it.
//!
//! A table function is called after its input was collected and before its statement runs. Then the connection is idle,
//! and its open transaction is that of the statement. So these queries see what the transaction has changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use colonnade_duckdb::{ServedDatabase, TranslatingSession, UserFence};
use colonnade_udf::{Loopback, LoopbackConnection, LoopbackError, LoopbackReply, LoopbackRows, StopFlag};
use pyo3::prelude::*;

use super::functions::{self, FunctionNames};
use super::open_rows::{BATCH, OpenRows};
use super::{PyConnection, PySession};
use crate::attached::attached;

/// The session's own connection.
pub(super) struct OwnConnection(Arc<Connection>);

struct Connection {
    handle: Arc<PySession>,
    /// Ends the calls within queries.
    stop: StopFlag,
    state: Mutex<State>,
}

struct State {
    rows: Option<OpenRows>,
    session: TranslatingSession<PyConnection>,
}

impl OwnConnection {
    pub fn new(
        caller: &Bound<'_, PyAny>,
        (served, fence): (&ServedDatabase, UserFence),
        (aggregates, tables): (&FunctionNames, &FunctionNames),
    ) -> PyResult<Self> {
        let handle = Arc::new(PySession(caller.clone().unbind()));
        let connection = PyConnection {
            session: Arc::clone(&handle),
            // The statement that calls the function has the transaction, and ends it.
            is_read_only: false,
            has_functions: true,
            aggregates: aggregates.clone(),
            tables: tables.clone(),
            ends_transaction: false,
            is_owner: false,
            processes: None,
        };
        let session = TranslatingSession::new(connection, served.clone(), fence);
        let stop = functions::session_of(caller)?.get().stop_flag();
        Ok(Self(Arc::new(Connection { handle, stop, state: Mutex::new(State { rows: None, session }) })))
    }
}

impl Loopback for OwnConnection {
    fn connect(&self) -> Result<Arc<dyn LoopbackConnection>, LoopbackError> {
        Ok(Arc::new(Used(Arc::clone(&self.0))))
    }
}

/// The connection while a call uses it.
struct Used(Arc<Connection>);

impl Connection {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoopbackConnection for Used {
    fn query(&self, sql: &str) -> Result<(), LoopbackError> {
        let mut state = self.0.lock();
        state.rows = None;
        self.0.stop.reset();
        state.rows = Some(OpenRows::new(state.session.read(sql, BATCH))?);
        Ok(())
    }

    fn next(&self, reply: LoopbackReply<'_>) -> Result<LoopbackRows, LoopbackError> {
        OpenRows::write_next(&mut self.0.lock().rows, reply)
    }

    /// Only the query ends: the session's own interrupt would cancel its statement.
    fn interrupt(&self) {
        self.0.stop.stop();
        attached(|py| drop(self.0.handle.0.bind(py).call_method0("interrupt_query")));
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        self.0.lock().rows = None;
        self.0.stop.reset();
    }
}
