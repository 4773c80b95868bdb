//! The extension module `colonnade_serve._core`: the server for Python.
//!
//! Every wait releases the interpreter lock.

#[cfg(target_os = "linux")]
mod duckdb_api;
mod fence;
mod py_source;
mod serve;
mod serve_source;
mod supervise;
mod table;
mod templates;
mod users;

use colonnade_duckdb_vectors::Databases;
use colonnade_interop::vectors::{self, VectorRows};
use colonnade_interop::{attached, capsule, error, ffi_stream, producer_text};
use pyo3::prelude::*;

/// The module is private: only the names of the package `colonnade` are public.
#[pymodule(name = "_core")]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("BUILD_PROFILE", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    m.add_class::<serve_source::SourceEngine>()?;
    m.add_class::<table::Table>()?;
    #[cfg(target_os = "linux")]
    duckdb_api::register(m)?;
    fence::register(m)?;
    supervise::register(m)?;
    users::register(m)?;
    m.add_function(wrap_pyfunction!(register_vectors, m)?)?;
    m.add_class::<VectorRows>()?;
    // PyO3 adds a list of the public names, but the module is private.
    m.delattr("__all__")
}

/// Gives each database that is opened from now on the function that gathers.
#[pyfunction]
fn register_vectors(py: Python<'_>) -> PyResult<()> {
    vectors::register_vectors(py, c"colonnade_vectors", Databases::All)
}
