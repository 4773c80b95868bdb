//! Functions in the server's own interpreter (`--udf-isolation none`): `serve/colonnade_serve/_udf/local.py`.

use std::io;

use colonnade_udf::{LocalInterpreter, LocalSource};
use pyo3::prelude::*;

use crate::attached::attached;

/// Makes interpreters in this process.
pub(super) struct LocalFunctions;

impl LocalSource for LocalFunctions {
    fn start(&self, address: usize, size: usize) -> io::Result<Box<dyn LocalInterpreter>> {
        let made = attached(|py| {
            let class = py.import("colonnade_serve._udf.local")?.getattr("LocalInterpreter")?;
            Ok(class.call1((address, size))?.getattr("handle")?.unbind())
        });
        let made = made.map_err(|error: PyErr| io::Error::other(error.to_string()))?;
        Ok(Box::new(PyInterpreter(made)))
    }
}

/// The method `handle` of a `LocalInterpreter`.
#[derive(Debug)]
struct PyInterpreter(Py<PyAny>);

impl LocalInterpreter for PyInterpreter {
    fn handle(&self) {
        attached(|py| {
            if let Err(error) = self.0.bind(py).call0() {
                // It catches all exceptions of functions. Without an answer, the call fails.
                error.write_unraisable(py, None);
            }
        });
    }
}
