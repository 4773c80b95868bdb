//! Waiting without the interpreter lock, but not past a Ctrl-C.

use colonnade_client::{Error, ErrorKind, Keep};
use pyo3::prelude::*;

use crate::error::to_py;

/// Runs `work` without the lock. Its `keep` lets Python's signal handlers run; what they raise ends the wait and is
/// raised here.
pub(crate) fn wait<T: Send>(py: Python<'_>, work: impl FnOnce(Keep<'_>) -> Result<T, Error> + Send) -> PyResult<T> {
    let mut raised = None;
    let done = py.detach(|| {
        work(&mut || match Python::try_attach(|py| py.check_signals()) {
            Some(Err(error)) => {
                raised = Some(error);
                false
            }
            // No interpreter, no signals.
            Some(Ok(())) | None => true,
        })
    });
    done.map_err(|error| match raised {
        Some(raised) if error.kind() == ErrorKind::Interrupted => raised,
        _ => to_py(py, &error),
    })
}
