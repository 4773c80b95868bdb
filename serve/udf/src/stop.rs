//! When calls end before they are done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Ends calls before their time: those of a cancelled statement, and those within a query that a function has started,
/// when that function's call has to end.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Ends the calls that have this flag. They notice it within some 20 ms.
    pub fn stop(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Allows calls again.
    pub fn reset(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Whether calls have to end.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// When a call has to end.
#[derive(Clone)]
pub(crate) struct EndCondition {
    /// Set if the session has cancelled its statement.
    pub cancelled: StopFlag,
    pub stop: StopFlag,
    pub deadline: Option<Instant>,
}

impl EndCondition {
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_set() || self.stop.is_set()
    }
}
