//! Errors of the client as the package's exceptions.

use colonnade_client::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// The exception for an error; its class is one of `colonnade._errors`.
pub(crate) fn to_py(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let classes = CLASSES.get_or_try_init(py, || py.import("colonnade._errors").map(Bound::unbind))?;
    let attributes = PyDict::new(py);
    attributes.set_item("sqlstate", error.sqlstate())?;
    attributes.set_item("detail", error.detail())?;
    attributes.set_item("hint", error.hint())?;
    attributes.set_item("source", error.origin())?;
    let class = classes.bind(py).getattr(class(error))?;
    Ok(PyErr::from_value(class.call((error.message(),), Some(&attributes))?))
}

/// Text of others without what would steer a terminal.
#[pyfunction]
#[pyo3(signature = (text, *, lines=true))]
pub(crate) fn printable(text: &str, lines: bool) -> String {
    colonnade_client::printable(text, lines).into_owned()
}

/// PEP 249's classes, by who is at fault and by SQLSTATE class (PostgreSQL's appendix A).
fn class(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Usage | ErrorKind::Unavailable => "InterfaceError",
        ErrorKind::Unsupported => "NotSupportedError",
        ErrorKind::Connect | ErrorKind::ConnectionLost | ErrorKind::Interrupted => "OperationalError",
        ErrorKind::Protocol => "InternalError",
        _ => match error.sqlstate().and_then(|sqlstate| sqlstate.get(..2)) {
            Some("08" | "53" | "54" | "55" | "57" | "58") => "OperationalError",
            Some("0A") => "NotSupportedError",
            Some("22") => "DataError",
            Some("23") => "IntegrityError",
            Some("26" | "2B" | "34" | "3D" | "3F" | "42") => "ProgrammingError",
            Some("XX") => "InternalError",
            _ => "DatabaseError",
        },
    }
}
