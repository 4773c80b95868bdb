//! Values that stay with the process that made them.
//!
//! A process that `fork` makes has copies of connections and results, whose sockets are those of its parent, and whose
//! threads do not exist. Using one would mix both processes' answers, or wait for ever. Dropping one would end the
//! parent's session. So a use in another process is an error, and closing or dropping does nothing. `_sources/arrow.py`
//! does the same for sources in Python. Plans can be read in any process; only their own process ends them.

use std::sync::Arc;
use std::{mem, process};

use client::{Error, ErrorKind};
use colonnade_client as client;

/// A value that only the process that made it uses and drops. A forked process keeps its copy until it ends.
pub(crate) struct OfProcess<T> {
    value: Arc<T>,
    process: u32,
}

impl<T> OfProcess<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Arc::new(value), process: process::id() }
    }

    /// The value; `None` in a forked process. Locks within it are behind this too: a thread that does not exist there
    /// may hold them.
    pub(crate) fn get(&self) -> Option<&T> {
        self.is_here().then_some(&self.value)
    }

    /// The value in any process, to read what never changes in it.
    pub(crate) fn constant(&self) -> &T {
        &self.value
    }

    fn is_here(&self) -> bool {
        self.process == process::id()
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            // A reference that nobody gives back.
            mem::forget(self.value.clone());
        }
    }
}

/// The error in a forked process.
pub(crate) fn forked(what: &str) -> Error {
    let message = format!("the {what} belongs to the process from which this one was forked");
    Error::new(ErrorKind::Unavailable, message).with_hint("connect in each process, after the fork")
}
