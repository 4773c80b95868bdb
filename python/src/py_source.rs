//! A source that is written in Python (`colonnade._sources.arrow.ArrowSource`) as a `Connection` of the client library.

use std::sync::Arc;

use client::{Answer, Cancel, Connection, Dialect, Error, ErrorKind, Keep, QueryOptions, ResultStream, Statement};
use colonnade_client as client;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict as _;

use crate::stream::Stream;

/// One connection of another library.
pub(crate) struct PySource {
    source: Arc<Py<PyAny>>,
    name: String,
    server: String,
}

impl PySource {
    pub(crate) fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (name, server) = (source.getattr("name")?.extract()?, source.getattr("server")?.extract()?);
        Ok(Self { source: Arc::new(source.clone().unbind()), name, server })
    }

    /// Runs a statement by the source's `query` or `run`.
    fn call(&self, method: &str, statement: Statement<'_>, options: &QueryOptions) -> Result<Answer, Error> {
        if statement.parameters.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, "parameters are not passed to this source"));
        }
        let sql = statement.sql;
        let run = |py: Python<'_>| {
            let named = [("chunk_rows", options.chunk_rows.map(u64::from)), ("chunk_bytes", options.chunk_bytes)];
            let answer = self.source.bind(py).call_method(method, (sql,), Some(&named.into_py_dict(py)?))?;
            match answer.cast::<Stream>() {
                Ok(stream) => Ok(Answer::Rows(stream.get().rest())),
                Err(_) => Ok(Answer::Done(answer.extract()?)),
            }
        };
        Python::attach(|py| run(py).map_err(|error| from_py(py, &error)))
    }
}

impl Connection for PySource {
    fn query(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        _keep: Keep<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        match self.call("query", statement, options)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Done(_) => Err(Error::no_rows()),
        }
    }

    fn run(&self, statement: Statement<'_>, options: &QueryOptions, _keep: Keep<'_>) -> Result<Answer, Error> {
        self.call("run", statement, options)
    }

    fn execute(&self, statement: Statement<'_>, keep: Keep<'_>) -> Result<Option<u64>, Error> {
        match self.run(statement, &QueryOptions::default(), keep)? {
            Answer::Done(changed) => Ok(changed),
            Answer::Rows(mut rows) => {
                while rows.next(keep)?.is_some() {}
                Ok(None)
            }
        }
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::new(Canceller(Arc::clone(&self.source)))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Unknown
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn server(&self) -> &str {
        &self.server
    }

    fn is_open(&self) -> bool {
        let is_open = |py: Python<'_>| self.source.bind(py).getattr("is_open")?.extract();
        Python::attach(|py| is_open(py).unwrap_or(false))
    }

    fn close(&self) {
        Python::attach(|py| {
            // Nobody waits for the outcome any more.
            let _ = self.source.bind(py).call_method0("close");
        });
    }
}

struct Canceller(Arc<Py<PyAny>>);

impl Cancel for Canceller {
    fn cancel(&self) -> Result<(), Error> {
        Python::attach(|py| self.0.bind(py).call_method0("cancel").map(drop).map_err(|error| from_py(py, &error)))
    }
}

/// An exception of the package as the error from which it was made; any other exception as an error of the database.
pub(crate) fn from_py(py: Python<'_>, error: &PyErr) -> Error {
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
