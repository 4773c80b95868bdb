//! `colonnade._core.Connection`.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::available_parallelism;

use client::partition::{self, PartitionSplit};
use client::{Answer, EncoderKind, QueryOptions, Statement, Transaction, WriteTarget, catalog};
use colonnade_client as client;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_py;
use crate::of_process::{OfProcess, forked};
use crate::options::query_options;
use crate::params;
use crate::signals::wait;
use crate::stream::Stream;

/// The kind of a socket, and the version, the cipher suite and the verification of its TLS.
type TransportParts = (&'static str, Option<(&'static str, String, bool)>);

/// A connection to a server.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Connection {
    /// `None` after `close`.
    inner: OfProcess<RwLock<Option<Arc<dyn client::Connection>>>>,
    #[pyo3(get)]
    name: String,
    /// The server's software, for a closed connection.
    server: OnceLock<String>,
}

/// Connects to the database that a URI names.
#[pyfunction]
pub(crate) fn connect(py: Python<'_>, uri: &str) -> PyResult<Connection> {
    let inner = wait(py, |keep| client::connect(uri, keep))?;
    let name = inner.name().to_owned();
    Ok(Connection { inner: OfProcess::new(RwLock::new(Some(inner))), name, server: OnceLock::new() })
}

/// Whether a file is an SQLite database. Python's `open` and `close` would lose the locks that this process has on it.
#[pyfunction]
pub(crate) fn is_sqlite(py: Python<'_>, path: PathBuf) -> bool {
    py.detach(|| client::sqlite::is_database(path)).unwrap_or(false)
}

impl Connection {
    /// The connection of the client library.
    pub(crate) fn inner(&self, py: Python<'_>) -> PyResult<Arc<dyn client::Connection>> {
        let unavailable = |error: client::Error| to_py(py, &error.with_origin(&self.name));
        if self.inner.get().is_none() {
            return Err(unavailable(forked("connection")));
        }
        self.open().ok_or_else(|| {
            unavailable(client::Error::new(client::ErrorKind::Unavailable, "the connection is closed: open a new one"))
        })
    }

    /// `None` if it is closed, or belongs to another process.
    fn open(&self) -> Option<Arc<dyn client::Connection>> {
        self.inner.get()?.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[pymethods]
impl Connection {
    #[getter]
    fn is_open(&self) -> bool {
        self.open().is_some_and(|inner| inner.is_open())
    }

    /// The server's software and version. It may be asked for them.
    #[getter]
    fn server(&self, py: Python<'_>) -> PyResult<String> {
        let Some(inner) = self.open() else { return Ok(self.server.get().cloned().unwrap_or_default()) };
        // A connection that is busy or lost has the name that is known so far.
        let _ = wait(py, |keep| Ok(inner.identify(keep)))?;
        Ok(inner.server().to_owned())
    }

    /// Whose SQL the database reads: `Dialect::name`.
    #[getter]
    fn dialect(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.inner(py)?.dialect().name())
    }

    /// The socket and its encryption: (kind, (version, cipher, is verified) or None). None if there is no socket.
    #[getter]
    fn transport(&self, py: Python<'_>) -> PyResult<Option<TransportParts>> {
        Ok(self.inner(py)?.transport().map(|transport| {
            let tls = transport.tls.map(|tls| (tls.version, tls.cipher, tls.is_verified));
            (transport.socket.name(), tls)
        }))
    }

    /// The stream format that the server sends: ("server" or "extension", version). None if it sends none.
    #[getter]
    fn stream_format(&self, py: Python<'_>) -> PyResult<Option<(&'static str, u32)>> {
        let inner = self.inner(py)?;
        wait(py, |keep| inner.identify(keep))?;
        Ok(inner.stream_format().map(|format| {
            let encoder = match format.encoder {
                EncoderKind::Server => "server",
                EncoderKind::Extension => "extension",
            };
            (encoder, format.version)
        }))
    }

    /// The versions of PostgreSQL's extension: (in this database, of the files on the server). None if there are no
    /// extensions.
    fn extension(&self, py: Python<'_>) -> PyResult<Option<(Option<String>, Option<String>)>> {
        let inner = self.inner(py)?;
        let versions = wait(py, |keep| inner.extension(keep))?;
        Ok(versions.map(|versions| (versions.installed, versions.available)))
    }

    #[pyo3(signature = (sql, params=None, **options))]
    fn query(
        &self,
        py: Python<'_>,
        sql: &str,
        params: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let inner = self.inner(py)?;
        let parameters = params::given(params)?;
        let options = query_options(options)?;
        let statement = Statement { sql, parameters: parameters.as_ref() };
        let stream = wait(py, |keep| {
            inner.query(statement, &options, keep).map_err(|error| error.placed(sql, inner.dialect()))
        })?;
        Stream::new(py, stream, &self.name, inner.server())
    }

    /// One query, read in parts.
    #[pyo3(signature = (sql, params, key, count, range, consistent, setup, **options))]
    #[allow(clippy::too_many_arguments, reason = "they are the arguments of read_sql")]
    fn partitioned(
        &self,
        py: Python<'_>,
        sql: &str,
        params: Option<&Bound<'_, PyAny>>,
        key: Option<String>,
        count: usize,
        range: Option<(String, String)>,
        consistent: bool,
        setup: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        let inner = self.inner(py)?;
        let sql = params::bound(sql, params, inner.dialect())?;
        let options = query_options(options)?;
        let split = PartitionSplit { key, count, range, consistent, repeatable: false };
        let stream = wait(py, |keep| {
            let read = partition::read(&*inner, &sql, &split, &setup, &options, keep);
            read.map_err(|error| error.placed(&sql, inner.dialect()))
        })?;
        Stream::new(py, stream, &self.name, inner.server())
    }

    /// Several queries, read at the same time; None if they can only run one after another.
    #[pyo3(signature = (queries, params, at_once, setup, **options))]
    fn together(
        &self,
        py: Python<'_>,
        queries: Vec<String>,
        params: Option<&Bound<'_, PyAny>>,
        at_once: Option<usize>,
        setup: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Option<Stream>> {
        let inner = self.inner(py)?;
        let bound = |sql: &String| params::bound(sql, params, inner.dialect());
        let queries = queries.iter().map(bound).collect::<PyResult<Vec<_>>>()?;
        let options = query_options(options)?;
        let at_once = at_once.or_else(|| available_parallelism().ok().map(usize::from)).unwrap_or(1);
        let stream = wait(py, |keep| partition::read_each(&*inner, queries, at_once, &setup, &options, keep))?;
        stream.map(|stream| Stream::new(py, stream, &self.name, inner.server())).transpose()
    }

    #[pyo3(signature = (sql, params=None))]
    fn execute(&self, py: Python<'_>, sql: &str, params: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
        let inner = self.inner(py)?;
        let parameters = params::given(params)?;
        let statement = Statement { sql, parameters: parameters.as_ref() };
        wait(py, |keep| inner.execute(statement, keep).map_err(|error| error.placed(sql, inner.dialect())))
    }

    /// Writes the unread rows of a stream into a table, all of them or none. The stream must not be read afterwards.
    #[pyo3(signature = (rows, *, schema, table, if_exists, key, temporary))]
    #[allow(clippy::too_many_arguments, reason = "they are the arguments of write_sql")]
    fn write(
        &self,
        py: Python<'_>,
        rows: &Stream,
        schema: Option<String>,
        table: String,
        if_exists: &str,
        key: Vec<String>,
        temporary: bool,
    ) -> PyResult<u64> {
        let inner = self.inner(py)?;
        let if_exists = if_exists.parse().map_err(|error| to_py(py, &error))?;
        let target = WriteTarget { schema, table, if_exists, key, temporary };
        let mut rows = rows.rest();
        wait(py, move |keep| client::write(&*inner, &mut *rows, &target, keep))
    }

    /// Runs a statement that may return rows: a stream, or the number of rows that it changed.
    #[pyo3(signature = (sql, params=None, **options))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        sql: &str,
        params: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.inner(py)?;
        let parameters = params::given(params)?;
        let options = query_options(options)?;
        let statement = Statement { sql, parameters: parameters.as_ref() };
        match wait(py, |keep| inner.run(statement, &options, keep).map_err(|error| error.placed(sql, inner.dialect())))?
        {
            Answer::Rows(rows) => Ok(Stream::new(py, rows, &self.name, inner.server())?.into_pyobject(py)?.into_any()),
            Answer::Done(changed) => Ok(changed.into_pyobject(py)?),
        }
    }

    /// The tables of users, see `client::catalog::tables`.
    fn tables(&self, py: Python<'_>) -> PyResult<Stream> {
        let inner = self.inner(py)?;
        let unknown = || {
            let message = "this package does not know where the database lists its tables";
            to_py(py, &client::Error::new(client::ErrorKind::Unsupported, message).with_origin(&self.name))
        };
        let sql = catalog::tables(inner.dialect()).ok_or_else(unknown)?;
        let statement = Statement { sql: &sql, parameters: None };
        let stream = wait(py, |keep| inner.query(statement, &QueryOptions::default(), keep))?;
        Stream::new(py, stream, &self.name, inner.server())
    }

    /// Whether a transaction is open: "none", "open", or "failed" if it can only be rolled back. None if a result is
    /// still being read.
    #[getter]
    fn transaction(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        Ok(self.inner(py)?.transaction().map(|transaction| match transaction {
            Transaction::None => "none",
            Transaction::Open => "open",
            Transaction::Failed => "failed",
        }))
    }

    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let canceller = self.inner(py)?.canceller();
        py.detach(|| canceller.cancel()).map_err(|error| to_py(py, &error))
    }

    fn close(&self, py: Python<'_>) {
        let Some(inner) = self.inner.get() else { return };
        // The lock is released at once: whoever waits for it has the interpreter's lock.
        let taken = inner.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(inner) = taken {
            self.server.get_or_init(|| inner.server().to_owned());
            py.detach(|| inner.close());
        }
    }
}
