//! The extension module `colonnade._core`: the client and the server, as Python sees them.

use pyo3::prelude::*;

// mod serve;

/// What `python/colonnade` is built on. Nothing here is public: the package's names are.
#[pymodule(name = "_core")]
fn core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // serve::register(m)?;
    Ok(())
}
