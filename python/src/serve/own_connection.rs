//! Where table functions run their queries: on the session's own connection, on which no statement runs meanwhile. So they see what the
//! session's transaction has changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use colonnade_duckdb::{ServedDatabase, TranslatingSession};
use colonnade_udf::{Loopback, LoopbackConnection, LoopbackError, LoopbackReply, LoopbackRows};
use pyo3::prelude::*;

use super::functions::FunctionNames;
use super::siblings::{MAX_DEPTH, OpenRows};
use super::{PyConnection, PySession};

/// The session's connection.
pub(super) struct OwnConnection {
    session: Arc<PySession>,
    served: ServedDatabase,
    aggregates: FunctionNames,
    tables: FunctionNames,
    /// How many functions call each other by queries, up to this session.
    depth: usize,
}

impl OwnConnection {
    pub fn new(
        session: &Bound<'_, PyAny>,
        served: &ServedDatabase,
        (aggregates, tables): (&FunctionNames, &FunctionNames),
        depth: usize,
    ) -> Self {
        Self {
            session: Arc::new(PySession(session.clone().unbind())),
            served: served.clone(),
            aggregates: aggregates.clone(),
            tables: tables.clone(),
            depth,
        }
    }
}

impl Loopback for OwnConnection {
    fn connect(&self) -> Result<Arc<dyn LoopbackConnection>, LoopbackError> {
        if self.depth >= MAX_DEPTH {
            let text = format!("queries of functions call functions with queries, more than {MAX_DEPTH} levels deep");
            return Err(LoopbackError::new("54001", text));
        }
        let connection = PyConnection {
            session: Arc::clone(&self.session),
            // The transaction goes on after the query.
            is_read_only: false,
            has_functions: true,
            aggregates: self.aggregates.clone(),
            tables: self.tables.clone(),
            ends_transaction: false,
            is_borrowed: true,
        };
        let session = TranslatingSession::new(connection, self.served.clone());
        let state = Mutex::new(State { rows: None, session });
        Ok(Arc::new(Borrowed { session: Arc::clone(&self.session), state }))
    }
}

/// The connection while a call uses it.
struct Borrowed {
    session: Arc<PySession>,
    state: Mutex<State>,
}

struct State {
    rows: Option<OpenRows>,
    session: TranslatingSession<PyConnection>,
}

impl Borrowed {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoopbackConnection for Borrowed {
    fn query(&self, sql: &str) -> Result<(), LoopbackError> {
        let mut state = self.state();
        state.rows = None;
        state.rows = Some(OpenRows::read(&mut state.session, sql)?);
        Ok(())
    }

    fn next(&self, reply: LoopbackReply<'_>) -> Result<LoopbackRows, LoopbackError> {
        let mut state = self.state();
        let rows = state.rows.as_mut().ok_or_else(|| LoopbackError::new("55000", "the query has no more rows"))?;
        let written = rows.write(reply);
        if !written.as_ref().is_ok_and(|written| written.has_more) {
            state.rows = None;
        }
        written
    }

    fn interrupt(&self) {
        self.session.tell("interrupt_read");
    }
}
