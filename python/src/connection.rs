//! `colonnade._core.Connection`.

use std::sync::{Arc, PoisonError, RwLock};

use client::{QueryOptions, Target};
use colonnade_client as client;
use pyo3::prelude::*;

use crate::error::to_py;
use crate::params;
use crate::signals::wait;
use crate::stream::Stream;

/// A connection to a server.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Connection {
    /// Gone once closed.
    inner: RwLock<Option<Arc<dyn client::Connection>>>,
    name: String,
    server: String,
}

/// Connects to the server that a `postgresql://` URI names.
#[pyfunction]
pub(crate) fn connect(py: Python<'_>, uri: &str) -> PyResult<Connection> {
    let target = Target::parse(uri).map_err(|error| to_py(py, &error))?;
    let inner = wait(py, |keep| client::postgres::connect(target, keep))?;
    let (name, server) = (client::Connection::name(&inner).to_owned(), client::Connection::server(&inner).to_owned());
    Ok(Connection { inner: RwLock::new(Some(Arc::new(inner))), name, server })
}

impl Connection {
    fn inner(&self, py: Python<'_>) -> PyResult<Arc<dyn client::Connection>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner).clone();
        inner.ok_or_else(|| {
            let error = client::Error::new(client::ErrorKind::Unavailable, "the connection is closed: open a new one");
            to_py(py, &error.with_origin(&self.name))
        })
    }
}

#[pymethods]
impl Connection {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn server(&self) -> &str {
        &self.server
    }

    #[getter]
    fn is_open(&self) -> bool {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|inner| inner.is_open())
    }

    #[pyo3(signature = (sql, params=None, *, compression=None, chunk_rows=None, chunk_bytes=None,
                        max_message_bytes=None, numeric=None, as_text=None, parallel=None))]
    #[allow(clippy::too_many_arguments, reason = "these are Python's keyword arguments")]
    fn query(
        &self,
        py: Python<'_>,
        sql: &str,
        params: Option<&Bound<'_, PyAny>>,
        compression: Option<String>,
        chunk_rows: Option<u32>,
        chunk_bytes: Option<u64>,
        max_message_bytes: Option<u64>,
        numeric: Option<(u8, u8)>,
        as_text: Option<Vec<String>>,
        parallel: Option<String>,
    ) -> PyResult<Stream> {
        let inner = self.inner(py)?;
        let sql = params::bound(sql, params, inner.dialect())?;
        let as_text = as_text.unwrap_or_default();
        let options =
            QueryOptions { compression, chunk_rows, chunk_bytes, max_message_bytes, numeric, as_text, parallel };
        let stream = wait(py, |keep| inner.query(&sql, &options, keep))?;
        Ok(Stream::new(stream, &self.name, &self.server))
    }

    #[pyo3(signature = (sql, params=None))]
    fn execute(&self, py: Python<'_>, sql: &str, params: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
        let inner = self.inner(py)?;
        let sql = params::bound(sql, params, inner.dialect())?;
        wait(py, |keep| inner.execute(&sql, keep))
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let canceller = self.inner(py)?.canceller();
        py.detach(|| canceller.cancel()).map_err(|error| to_py(py, &error))
    }

    fn close(&self, py: Python<'_>) {
        let inner = self.inner.write().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| inner.inspect(|inner| inner.close()));
    }
}
