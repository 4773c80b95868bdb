//! `colonnade serve`'s two processes, as Python starts them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use colonnade_server::limits::Limits;
use colonnade_server::tls::TlsFiles;
use colonnade_server::{
    AddressError, Confinement, CredentialFiles, Engine, ListenAddress, Program, ServeError, ServeOptions, Supervision,
    Supervisor, Worker, confine, limit_memory,
};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::serve::PyEngine;
use crate::serve_source::SourceEngine;

/// Adds what `colonnade serve` needs to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySupervisor>()?;
    module.add_class::<PyWorker>()
}

/// The process that listens.
#[pyclass(name = "Supervisor", module = "colonnade._core", frozen)]
struct PySupervisor {
    supervisor: Mutex<Supervisor>,
}

impl PySupervisor {
    fn supervisor(&self) -> MutexGuard<'_, Supervisor> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a server listens, and what its supervisor reads and writes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Listening {
    listen: Option<String>,
    unix: Option<PathBuf>,
    users: Option<PathBuf>,
    tls_certificate: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_client_ca: Option<PathBuf>,
    log: Option<PathBuf>,
    metrics: Option<String>,
}

#[pymethods]
impl PySupervisor {
    /// Listens, and starts the first worker: `command` with `environment` besides. It is told `settings`, byte for byte.
    #[new]
    fn new(
        py: Python<'_>,
        listening: Listening,
        command: Vec<OsString>,
        environment: Vec<(OsString, OsString)>,
        settings: Vec<u8>,
    ) -> PyResult<Self> {
        let Listening { listen, unix, users, tls_certificate, tls_key, tls_client_ca, log, metrics } = listening;
        let listen =
            listen.as_deref().map(ListenAddress::from_str).transpose().map_err(|error| to_py(&error.into()))?;
        let addresses: Vec<_> = listen.into_iter().chain(unix.map(ListenAddress::Unix)).collect();
        let odd = |text: &str| {
            PyValueError::new_err(format!("--metrics {text} is not an address; use one such as 127.0.0.1:9433"))
        };
        let metrics = metrics.map(|text| text.parse().map_err(|_| odd(&text))).transpose()?;
        let files = tls_certificate.zip(tls_key);
        let tls = files.map(|(certificate, key)| TlsFiles { certificate, key, client_authorities: tls_client_ca });
        let mut command = command.into_iter();
        let path = command.next().ok_or_else(|| PyValueError::new_err("a worker is a program"))?.into();
        let program = Program { path, arguments: command.collect(), environment };
        let credentials = CredentialFiles { users, tls };
        let supervision = Supervision { program, settings, credentials, log, metrics };
        let supervisor = py.detach(|| Supervisor::start(&addresses, supervision)).map_err(|error| to_py(&error))?;
        Ok(Self { supervisor: Mutex::new(supervisor) })
    }

    /// Where it listens: `host:port`, or the path of a socket.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        self.supervisor().addresses().iter().map(ToString::to_string).collect()
    }

    /// Where `/metrics` and `/health` are: `host:port`.
    #[getter]
    fn metrics(&self) -> Option<String> {
        self.supervisor().metrics().map(|address| address.to_string())
    }

    /// Reads the users file and the certificates again.
    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.supervisor().reload()).map_err(|error| to_py(&error))
    }

    /// Refuses new sessions, and waits for those that are there to do what they are at; gives whether all have ended in
    /// time.
    fn drain(&self, py: Python<'_>, seconds: f64) -> bool {
        let grace = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| self.supervisor().drain(grace))
    }

    /// Ends all sessions and stops to listen; gives whether the worker ended in good order.
    fn stop(&self, py: Python<'_>) -> bool {
        py.detach(|| self.supervisor().stop())
    }
}

/// `colonnade._core.ServerOptions`: times are in seconds, and 0 is no limit.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ServerOptions {
    encode_cpu: f64,
    max_connections: usize,
    max_user_connections: usize,
    max_address_logins: usize,
    login_timeout: f64,
    statement_timeout: f64,
    idle_timeout: f64,
    idle_transaction_timeout: f64,
    max_result_bytes: u64,
    max_session_memory: usize,
    spool_bytes: usize,
    spool_directory: Option<PathBuf>,
    log_statements: bool,
}

impl From<ServerOptions> for ServeOptions {
    fn from(options: ServerOptions) -> Self {
        let limits = Limits {
            connections: options.max_connections,
            user_connections: Some(options.max_user_connections).filter(|count| *count > 0),
            address_logins: Some(options.max_address_logins).filter(|count| *count > 0),
            login: seconds(options.login_timeout).unwrap_or(Duration::MAX),
            statement: seconds(options.statement_timeout),
            idle: seconds(options.idle_timeout),
            idle_in_transaction: seconds(options.idle_transaction_timeout),
            result_bytes: Some(options.max_result_bytes).filter(|count| *count > 0),
            session_memory: Some(options.max_session_memory).filter(|count| *count > 0),
            spool_bytes: Some(options.spool_bytes).filter(|count| *count > 0),
            spool_directory: options.spool_directory,
        };
        let ServerOptions { encode_cpu, log_statements, .. } = options;
        Self { encode_cpu, limits, log_statements, ..Self::default() }
    }
}

/// The process that holds the engine.
#[pyclass(name = "Worker", module = "colonnade._core", frozen)]
struct PyWorker {
    worker: Mutex<Option<Worker>>,
    settings: Vec<u8>,
}

#[pymethods]
impl PyWorker {
    /// Begins the worker of this process.
    #[new]
    fn new() -> PyResult<Self> {
        let worker = Worker::begin().map_err(|error| to_py(&error))?;
        let settings = worker.settings().to_owned();
        Ok(Self { worker: Mutex::new(Some(worker)), settings })
    }

    /// What the supervisor was given for it.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.settings)
    }

    /// Leaves this process, for good, no files but those in these directories, and no network. Gives what of that it did
    /// not do, or None.
    #[staticmethod]
    fn confine(directories: Vec<PathBuf>) -> Option<String> {
        match confine(&directories) {
            Confinement::Full => None,
            Confinement::Partial => Some("this kernel's Landlock lacks some of the rules".to_owned()),
            Confinement::None(reason) => Some(reason),
        }
    }

    /// Bounds the memory of this process, sessions apart.
    #[staticmethod]
    fn limit_memory(bytes: u64) {
        limit_memory(bytes);
    }

    /// Serves clients with a `colonnade._duckdb.engine.Engine` or a `SourceEngine` until the supervisor has no more; gives
    /// the process's exit status.
    fn serve(&self, py: Python<'_>, engine: Py<PyAny>, options: ServerOptions) -> PyResult<i32> {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        let worker = worker.ok_or_else(|| PyRuntimeError::new_err("the worker has served"))?;
        let engine: Arc<dyn Engine> = match engine.bind(py).cast::<SourceEngine>() {
            Ok(front) => front.get().engine(),
            Err(_) => Arc::new(PyEngine::new(engine.bind(py))?),
        };
        let end = py.detach(|| worker.serve(engine, options.into())).map_err(|error| to_py(&error))?;
        Ok(end.exit_status())
    }
}

fn to_py(error: &ServeError) -> PyErr {
    match error {
        ServeError::Address(AddressError::Syntax(_) | AddressError::NotProtected(_))
        | ServeError::NoAddress
        | ServeError::FarMetrics(_) => PyValueError::new_err(error.to_string()),
        // It has said why on standard error.
        ServeError::Worker(status) if status.code() == Some(1) => PyOSError::new_err(""),
        _ => PyOSError::new_err(error.to_string()),
    }
}

fn seconds(count: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(count).ok().filter(|time| !time.is_zero())
}
