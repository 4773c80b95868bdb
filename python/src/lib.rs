//! The extension module `colonnade._core`: the client for Python.
//!
//! It passes results on by Arrow's PyCapsule interface and knows no dataframe library. The package around it does.
//! Every wait releases the interpreter lock, and checks for signals.

mod connection;
mod gaps;
mod gathered;
mod observed;
mod of_process;
mod options;
mod params;
mod plan;
mod rare_types;
mod signals;
mod statements;
mod stream;
mod table;
mod watch;

use colonnade_interop::vectors::VectorRows;
use colonnade_interop::{capsule, error, ffi_stream};
use pyo3::prelude::*;

/// The module is private: only the names of the package `colonnade` are public.
#[pymodule(name = "_core")]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("BUILD_PROFILE", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    m.add_class::<connection::Connection>()?;
    m.add_class::<plan::HeldPlan>()?;
    m.add_class::<stream::Production>()?;
    m.add_class::<stream::Stream>()?;
    m.add_class::<table::Batch>()?;
    m.add_class::<table::Column>()?;
    m.add_class::<table::Table>()?;
    m.add_function(wrap_pyfunction!(capsule::has_columns, m)?)?;
    m.add_function(wrap_pyfunction!(connection::connect, m)?)?;
    m.add_function(wrap_pyfunction!(connection::is_sqlite, m)?)?;
    m.add_function(wrap_pyfunction!(options::refuse_for_plain_source, m)?)?;
    m.add_function(wrap_pyfunction!(error::printable, m)?)?;
    m.add_function(wrap_pyfunction!(gaps::unrepresentable, m)?)?;
    m.add_function(wrap_pyfunction!(params::bind, m)?)?;
    m.add_function(wrap_pyfunction!(params::file_uri, m)?)?;
    m.add_function(wrap_pyfunction!(params::quoted, m)?)?;
    m.add_function(wrap_pyfunction!(plan::plan, m)?)?;
    m.add_function(wrap_pyfunction!(plan::read_part, m)?)?;
    m.add_function(wrap_pyfunction!(plan::ticket_query, m)?)?;
    m.add_function(wrap_pyfunction!(statements::count_statements, m)?)?;
    m.add_function(wrap_pyfunction!(gathered::open_with_vectors, m)?)?;
    m.add_class::<VectorRows>()?;
    error::register(m)?;
    // PyO3 adds a list of the public names, but the module is private.
    m.delattr("__all__")
}
