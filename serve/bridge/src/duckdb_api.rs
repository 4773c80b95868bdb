//! Functions in Python inside DuckDB's plans.
//!
//! `client/duckdb_api/` has DuckDB's C interface. `entry.rs` registers dispatchers, DuckDB functions that take the id
//! of a function in Python, the caller's token, and the arguments. `registry.rs` knows what an id means, `session.rs`
//! whose function processes a token means.
//!
//! ```text
//! bind     bound.rs      id and token are constants: which function, whose processes, which types
//! execute  arguments.rs  vectors of DuckDB to a process's ring     (map.rs, or aggregate.rs after it has gathered groups)
//!          results.rs    checked results of the process to a vector of DuckDB
//! ```
//!
//! Table functions are called between two statements (`table.rs`).

mod aggregate;
mod arguments;
mod bound;
mod capture;
mod classes;
mod columns;
mod deferral;
mod deferred_calls;
mod entry;
mod gathered;
mod local;
mod map;
mod postgres_types;
mod registry;
mod results;
mod session;
mod session_functions;
mod sql_type;
mod table;

use classes::FunctionProcesses;
pub(crate) use classes::FunctionSession;
use colonnade_duckdb_api::{handles, symbols, vectors};
use deferred_calls::{BoundFunction, DeferredStream};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use table::TableCall;

pub(crate) use columns::{WriteError, column, write as write_column};
pub(crate) use session::Queries;

/// Adds functions in Python to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(register_functions, module)?)?;
    module.add_function(wrap_pyfunction!(register_types, module)?)?;
    module.add_function(wrap_pyfunction!(register_session_functions, module)?)?;
    module.add_function(wrap_pyfunction!(classes::function_dispatcher, module)?)?;
    module.add_function(wrap_pyfunction!(classes::define_function, module)?)?;
    module.add_function(wrap_pyfunction!(classes::forget_function, module)?)?;
    module.add_function(wrap_pyfunction!(classes::has_function, module)?)?;
    module.add_function(wrap_pyfunction!(classes::column_type, module)?)?;
    module.add_function(wrap_pyfunction!(classes::with_digits, module)?)?;
    module.add_function(wrap_pyfunction!(classes::check_private, module)?)?;
    module.add_class::<FunctionProcesses>()?;
    module.add_class::<BoundFunction>()?;
    module.add_class::<DeferredStream>()?;
    module.add_class::<FunctionSession>()?;
    module.add_class::<TableCall>()
}

#[pyfunction]
fn register_functions(py: Python<'_>) -> PyResult<()> {
    let register = entry::register(&library(py)?);
    register.map_err(|reason| PyNotImplementedError::new_err(format!("functions in Python: {reason}")))
}

#[pyfunction]
fn register_session_functions(py: Python<'_>) -> PyResult<()> {
    let register = session_functions::register(&library(py)?);
    register.map_err(|reason| PyNotImplementedError::new_err(format!("functions of sessions: {reason}")))
}

#[pyfunction]
fn register_types(py: Python<'_>) -> PyResult<()> {
    let register = postgres_types::register(&library(py)?);
    register.map_err(|reason| PyNotImplementedError::new_err(format!("types of PostgreSQL: {reason}")))
}

/// The file of DuckDB's library.
fn library(py: Python<'_>) -> PyResult<String> {
    py.import("_duckdb")?.getattr("__file__")?.extract()
}
