//! The interpreter lock within callbacks of DuckDB.

use pyo3::prelude::*;

/// As `Python::attach`, and also right in a callback of DuckDB.
///
/// Python calls DuckDB, which releases the lock without telling PyO3, and DuckDB calls a function back on the same
/// thread. There PyO3 takes the lock for held, because its own counter says so.
pub fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let _lock = InterpreterLock::new();
    Python::attach(work)
}

/// Holds the lock, whoever has released it.
struct InterpreterLock(pyo3::ffi::PyGILState_STATE);

impl InterpreterLock {
    fn new() -> Self {
        // SAFETY: the interpreter runs as long as this module. The lock is released once, by the same thread, in the
        // reverse order.
        Self(unsafe { pyo3::ffi::PyGILState_Ensure() })
    }
}

impl Drop for InterpreterLock {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { pyo3::ffi::PyGILState_Release(self.0) }
    }
}
