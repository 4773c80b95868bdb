//! A source that is written in Python (`colonnade._sources.arrow.ArrowSource`) as a `Connection` of the client library.

use std::sync::Arc;

use arrow_array::RecordBatchReader as _;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_schema::SchemaRef;
use client::{
    Answer, Batch, Cancel, Connection, ContinueCheck, Dialect, Error, ErrorKind, QueryOptions, ResultStream, Statement,
    Stats,
};
use colonnade_client as client;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict as _;

use crate::capsule::take_stream;
use crate::error::from_py;

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
            if !answer.hasattr("__arrow_c_stream__")? {
                return Ok(Answer::Done(answer.extract()?));
            }
            Ok(Answer::Rows(Box::new(PyStream::new(&answer, &self.name)?)))
        };
        Python::attach(|py| run(py).map_err(|error| from_py(py, &error)))
    }
}

impl Connection for PySource {
    fn query(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        _keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        match self.call("query", statement, options)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Done(_) => Err(Error::no_rows()),
        }
    }

    fn run(&self, statement: Statement<'_>, options: &QueryOptions, _keep: ContinueCheck<'_>) -> Result<Answer, Error> {
        self.call("run", statement, options)
    }

    fn execute(&self, statement: Statement<'_>, keep: ContinueCheck<'_>) -> Result<Option<u64>, Error> {
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

/// The rest of a `colonnade._core.Stream`, by its capsule.
struct PyStream {
    reader: RecordBatchStreamReader,
    schema: SchemaRef,
    stream: Py<PyAny>,
    name: String,
}

impl PyStream {
    fn new(stream: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let reader = RecordBatchStreamReader::try_new(take_stream(stream)?)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { schema: reader.schema(), reader, stream: stream.clone().unbind(), name: name.to_owned() })
    }

    /// The error of which the capsule has told the text.
    fn failure(&self, text: &str) -> Error {
        let found = |py: Python<'_>| {
            let told = self.stream.bind(py).call_method1("failure", (&self.name,))?;
            Ok((!told.is_none()).then(|| from_py(py, &PyErr::from_value(told))))
        };
        let found = Python::attach(|py| found(py).unwrap_or_else(|error: PyErr| Some(from_py(py, &error))));
        found.unwrap_or_else(|| Error::new(ErrorKind::Database, text).with_origin(&self.name))
    }
}

impl ResultStream for PyStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    // The canceller ends a wait for the next batch.
    fn next(&mut self, _keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        match self.reader.next().transpose() {
            Ok(batch) => Ok(batch.map(Into::into)),
            Err(error) => Err(self.failure(&error.to_string())),
        }
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}

struct Canceller(Arc<Py<PyAny>>);

impl Cancel for Canceller {
    fn cancel(&self) -> Result<(), Error> {
        Python::attach(|py| self.0.bind(py).call_method0("cancel").map(drop).map_err(|error| from_py(py, &error)))
    }
}
