//! Errors of the client library as exceptions of the package, and back.

use colonnade_client::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict};

/// The exception for an error; its class is one of `colonnade._errors`.
pub fn to_py(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let classes = CLASSES.get_or_try_init(py, || py.import("colonnade._errors").map(Bound::unbind))?;
    let attributes = PyDict::new(py);
    attributes.set_item("sqlstate", error.sqlstate())?;
    attributes.set_item("detail", error.detail())?;
    attributes.set_item("hint", error.hint())?;
    attributes.set_item("place", error.place())?;
    attributes.set_item("source", error.origin())?;
    let class = classes.bind(py).getattr(class(error))?;
    Ok(PyErr::from_value(class.call((error.message(),), Some(&attributes))?))
}

/// An exception of the package as the error from which it was made; any other exception as an error of the database.
pub fn from_py(py: Python<'_>, error: &PyErr) -> Error {
    let value = error.value(py);
    let text = |name: &str| value.getattr(name).ok().and_then(|text| text.extract::<Option<String>>().ok()).flatten();
    let message = text("message").unwrap_or_else(|| value.to_string());
    let kind = match error.get_type(py).name() {
        Ok(name) if name == "InterfaceError" => ErrorKind::Usage,
        Ok(name) if name == "NotSupportedError" => ErrorKind::Unsupported,
        _ => ErrorKind::Database,
    };
    let made = Error::new(kind, message).with_detail(text("detail"));
    let made = text("sqlstate").into_iter().fold(made, Error::with_sqlstate);
    let made = text("hint").into_iter().fold(made, Error::with_hint);
    text("source").into_iter().fold(made, |made, source| made.with_origin(&source))
}

/// Text with escapes for the characters that control a terminal.
#[pyfunction]
#[pyo3(signature = (text, *, lines=true))]
pub fn printable(text: &str, lines: bool) -> String {
    colonnade_client::printable(text, lines).into_owned()
}

/// PEP 249's classes, by the first two characters of a SQLSTATE (PostgreSQL's appendix A). Class 70 of MySQL and
/// MariaDB means that a query was interrupted.
const BY_SQLSTATE: [(&str, &str); 20] = [
    ("08", "OperationalError"),
    ("0A", "NotSupportedError"),
    // More than one row of a subquery.
    ("21", "ProgrammingError"),
    ("22", "DataError"),
    ("23", "IntegrityError"),
    ("26", "ProgrammingError"),
    // No such user, a wrong password, or no right to connect.
    ("28", "OperationalError"),
    ("2B", "ProgrammingError"),
    ("34", "ProgrammingError"),
    ("3D", "ProgrammingError"),
    ("3F", "ProgrammingError"),
    // Serialization failures, deadlocks and conflicts with recovery: the transaction can be tried again.
    ("40", "OperationalError"),
    ("42", "ProgrammingError"),
    ("53", "OperationalError"),
    ("54", "OperationalError"),
    ("55", "OperationalError"),
    ("57", "OperationalError"),
    ("58", "OperationalError"),
    ("70", "OperationalError"),
    ("XX", "InternalError"),
];

/// Adds the classes of SQLSTATEs to the module, for the documentation.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SQLSTATE_CLASSES", BY_SQLSTATE.into_py_dict(module.py())?)
}

/// The exception's class: by the error's kind, and by the SQLSTATE of an error of the database.
fn class(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Usage | ErrorKind::Unavailable => "InterfaceError",
        ErrorKind::Unsupported => "NotSupportedError",
        ErrorKind::Connect | ErrorKind::ConnectionLost | ErrorKind::Interrupted => "OperationalError",
        ErrorKind::Protocol => "InternalError",
        _ => {
            let found = error.sqlstate().and_then(|sqlstate| sqlstate.get(..2)).unwrap_or_default();
            BY_SQLSTATE.iter().find(|(state, _)| *state == found).map_or("DatabaseError", |(_, class)| class)
        }
    }
}
