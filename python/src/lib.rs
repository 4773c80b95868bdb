//! The extension module `colonnade._core`: the client and the server, as Python sees them.
//!
//! It hands results over by Arrow's PyCapsule interface and knows no dataframe library; the package around it does.
//! Whatever waits, waits without the interpreter lock and asks for signals ten times a second.

mod capsule;
mod connection;
mod error;
mod fence;
mod ffi_stream;
mod gaps;
mod params;
mod py_source;
mod serve;
mod serve_source;
mod signals;
mod statements;
mod stream;
mod supervise;
mod table;
mod users;

use pyo3::prelude::*;

/// What `python/colonnade` is built on. Nothing here is public: the package's names are.
#[pymodule(name = "_core")]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<connection::Connection>()?;
    m.add_class::<stream::Production>()?;
    m.add_class::<stream::Stream>()?;
    m.add_class::<table::Batch>()?;
    m.add_class::<table::Column>()?;
    m.add_class::<table::Table>()?;
    m.add_function(wrap_pyfunction!(capsule::has_columns, m)?)?;
    m.add_function(wrap_pyfunction!(connection::connect, m)?)?;
    m.add_function(wrap_pyfunction!(connection::refuse_for_plain_source, m)?)?;
    m.add_function(wrap_pyfunction!(error::printable, m)?)?;
    m.add_function(wrap_pyfunction!(gaps::unrepresentable, m)?)?;
    m.add_function(wrap_pyfunction!(params::bind, m)?)?;
    m.add_function(wrap_pyfunction!(params::file_uri, m)?)?;
    m.add_function(wrap_pyfunction!(statements::count_statements, m)?)?;
    m.add_class::<serve_source::SourceEngine>()?;
    error::register(m)?;
    fence::register(m)?;
    supervise::register(m)?;
    users::register(m)?;
    Ok(())
}
