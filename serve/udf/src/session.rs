//! The function processes of one SQL session.

pub(crate) mod state;

use std::sync::Arc;
use std::time::Duration;

use state::SessionState;

use crate::caller::FunctionCaller;
use crate::memory::MemoryBudget;
use crate::pool::state::PoolState;

/// The function processes of one SQL session. No other session ever uses them. Clones are handles to the same.
#[derive(Clone)]
pub struct SessionProcesses(Arc<SessionState>);

impl SessionProcesses {
    pub(crate) fn new(pool: Arc<PoolState>) -> Self {
        Self(Arc::new(SessionState::new(pool)))
    }

    /// Begins a statement: a cancellation and printed text of the one before are forgotten.
    pub fn begin_statement(&self) {
        self.0.begin_statement();
    }

    /// A caller for one thread. Its process is an idle one of the session, or is forked at the first call. Dropping it
    /// gives it back.
    pub fn caller(&self) -> FunctionCaller {
        FunctionCaller::new(Arc::clone(&self.0))
    }

    /// The memory that its functions may use in this process (`--udf-memory`): rows that are collected, results, rows
    /// of groups.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.0.budget
    }

    /// Cancels the statement: processes that run a function are killed, and their calls fail, as later ones of the
    /// statement do.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Ends the session: its processes end, whoever still has a handle, and calls fail from now on.
    pub fn end(&self) {
        self.0.end();
    }

    /// Tells the session's client something, in a line, in addition to what functions print.
    pub fn note(&self, line: &str) {
        self.0.add_notices(&format!("{line}\n"));
    }

    /// The text that the statement's functions have printed since it was last taken.
    pub fn take_notices(&self) -> String {
        self.0.take_notices()
    }

    /// Ends processes that have been idle for this time. A server calls this from time to time for each session.
    pub fn end_idle(&self, time: Duration) {
        self.0.end_idle(time);
    }

    /// The ids of the session's function processes.
    pub fn process_ids(&self) -> Vec<i32> {
        self.0.process_ids()
    }
}
