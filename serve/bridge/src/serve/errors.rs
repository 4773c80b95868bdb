//! Exceptions of the engine as errors of the server.

use colonnade_duckdb::Translated;
use colonnade_server::{EngineError, SqlState};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::fence::Refused;

/// What a `Refused` says: message, SQLSTATE, position, and often neither detail nor hint.
type Refusal = (String, String, Option<usize>, Option<String>, Option<String>);

fn refusal(arguments: &Bound<'_, PyAny>) -> PyResult<Refusal> {
    arguments.extract::<Refusal>().or_else(|_| {
        let (message, code, position) = arguments.extract()?;
        Ok((message, code, position, None, None))
    })
}

pub(super) fn engine_error(py: Python<'_>, error: &PyErr, statement: &Translated) -> EngineError {
    if error.is_instance_of::<Refused>(py)
        && let Ok(arguments) = error.value(py).getattr("args")
        && let Ok((message, code, position, detail, hint)) = refusal(&arguments)
    {
        let code = SqlState::parse(&code).unwrap_or(SqlState::INSUFFICIENT_PRIVILEGE);
        let position = position.map(|position| statement.position(position));
        return EngineError { position, detail, hint, ..EngineError::new(code, message) };
    }
    if error.is_instance_of::<PyMemoryError>(py) {
        let text = "the server has no memory left for this; try again, or with a statement that needs less";
        return EngineError::new(SqlState::OUT_OF_MEMORY, text);
    }
    let text = error.value(py).to_string();
    let is_unsupported = error.get_type(py).name().is_ok_and(|name| name == "UnsupportedType");
    if is_unsupported { EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, text) } else { statement.error(&text) }
}
