//! The session whose statement calls a function of SQL, as the function's code in the engine reaches it.
//!
//! The engine plans a session's statements on the session's thread, and runs them on any. So a function finds its
//! session when it is planned, and keeps it.

mod listing;
mod signals;

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use crate::advisory::LockHolder;
use crate::connection::cancel::Control;
use crate::connection::registry::Registry;
use crate::notifications::SessionNotifications;
use crate::session::prepared::lists::SessionLists;

pub use listing::{Listed, json_text};
pub use signals::{Signal, SignalRefusal};

/// A session, for the functions that its statements call.
pub struct Caller {
    /// Its advisory locks.
    pub locks: Arc<LockHolder>,
    /// The channels on which it listens, and what it sends.
    pub notifications: SessionNotifications,
    /// The number of the session.
    process: i32,
    control: Arc<Control>,
    registry: Arc<Registry>,
    lists: SessionLists,
    /// The warnings of functions, which the session has not sent yet.
    warnings: Mutex<Vec<String>>,
}

/// The most warnings that a statement keeps. Each row of a table may give one.
const MOST_WARNINGS: usize = 1000;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Caller>>> = const { RefCell::new(None) };
}

impl Caller {
    pub(crate) fn new(
        locks: Arc<LockHolder>,
        notifications: SessionNotifications,
        process: i32,
        control: Arc<Control>,
        registry: Arc<Registry>,
        lists: SessionLists,
    ) -> Self {
        Self { locks, notifications, process, control, registry, lists, warnings: Mutex::default() }
    }

    /// Makes this the session whose statements the present thread plans.
    pub(crate) fn enter(self: &Arc<Self>) {
        CURRENT.set(Some(Arc::clone(self)));
    }

    /// The session whose statements the present thread plans.
    pub fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Ends the session's statements on the present thread, its locks, and what it has of notifications.
    pub(crate) fn leave(&self) {
        CURRENT.set(None);
        self.locks.end();
        self.notifications.discard();
    }

    fn warn(&self, message: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.len() < MOST_WARNINGS {
            warnings.push(message);
        }
    }

    /// The warnings since the last call.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
