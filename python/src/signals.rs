//! Waiting without the interpreter lock, until Ctrl-C. Every 50 ms a wait takes the lock to run signal handlers, and
//! calls the function of `progress` with the counts after the last batch, so that an exception of either ends the read
//! in the same way.

use std::time::{Duration, Instant};

use colonnade_client::{ContinueCheck, Error};
use pyo3::prelude::*;

use crate::error::to_py;

/// The time between two checks for signals. Each check takes the interpreter lock, which a busy thread may hold for
/// milliseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What a wait calls at each check for signals.
pub(crate) type Report<'a> = &'a mut (dyn FnMut(Python<'_>) -> PyResult<()> + Send);

/// Runs `work` without the lock. Its `keep` runs Python's signal handlers. An exception of a handler ends the wait and
/// is raised here, also if the work has succeeded in the meantime; its answer is dropped then.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(ContinueCheck<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    wait_reporting(py, None, work)
}

/// As [`wait`]; `report` is called after the signal handlers, and an exception that it raises has the same effect.
pub(crate) fn wait_reporting<T: Send>(
    py: Python<'_>,
    mut report: Option<Report<'_>>,
    work: impl FnOnce(ContinueCheck<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let mut looked = Instant::now();
    let mut keep = || {
        // Work that has missed one refusal must get another one.
        if raised.is_some() {
            return false;
        }
        if looked.elapsed() < POLL_INTERVAL {
            return true;
        }
        let checked = Python::try_attach(|py| {
            py.check_signals()?;
            report.as_mut().map_or(Ok(()), |report| report(py))
        });
        looked = Instant::now();
        match checked {
            Some(Err(error)) => {
                raised = Some(error);
                false
            }
            // Without an interpreter there are no signals.
            Some(Ok(())) | None => true,
        }
    };
    let done = py.detach(|| work(&mut keep));
    match raised {
        Some(raised) => Err(raised),
        None => done.map_err(|error| to_py(py, &error)),
    }
}
