//! What starts templates of functions, for Python.

use colonnade_server::HelperStarter;
use pyo3::prelude::*;

/// Starts templates of functions, by the supervisor.
#[pyclass(name = "Templates", module = "colonnade_serve._core", frozen)]
#[derive(Clone)]
pub(crate) struct PyTemplates {
    starter: HelperStarter,
    /// The interpreter, for the texts of errors.
    interpreter: String,
}

impl PyTemplates {
    pub(crate) fn new(starter: HelperStarter, interpreter: String) -> Self {
        Self { starter, interpreter }
    }
}

#[cfg(target_os = "linux")]
impl colonnade_udf::TemplateSource for PyTemplates {
    fn interpreter(&self) -> String {
        self.interpreter.clone()
    }

    fn start(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        self.starter.start()
    }
}
