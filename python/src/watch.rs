//! A function of Python that is told how far a read is.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use client::{ContinueCheck, Error, Stats};
use colonnade_client as client;
use pyo3::prelude::*;

use crate::signals::{wait, wait_reporting};

/// A function, and the counts with which it is called next. Without a function, nothing is counted.
pub(crate) struct Watch {
    function: Option<Py<PyAny>>,
    rows: AtomicU64,
    wire_bytes: AtomicU64,
}

impl Watch {
    pub(crate) fn new(function: Option<Py<PyAny>>) -> Self {
        Self { function, rows: AtomicU64::new(0), wire_bytes: AtomicU64::new(0) }
    }

    /// Sets the counts. A wait holds the stream, so they cannot be read from it when the function is called.
    pub(crate) fn note(&self, stats: impl FnOnce() -> Stats) {
        if self.function.is_some() {
            let stats = stats();
            self.rows.store(stats.rows, Relaxed);
            self.wire_bytes.store(stats.wire_bytes, Relaxed);
        }
    }

    /// Waits for `work`, and calls the function meanwhile. Its exception ends the wait and is raised here.
    pub(crate) fn wait<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(ContinueCheck<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let Some(function) = &self.function else { return wait(py, work) };
        let mut report = |py: Python<'_>| {
            let counts = (self.rows.load(Relaxed), self.wire_bytes.load(Relaxed));
            function.call1(py, counts).map(drop)
        };
        wait_reporting(py, Some(&mut report), work)
    }
}
