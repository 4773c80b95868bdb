//! The two processes of `colonnade serve`, for Python.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use colonnade_server::limits::Limits;
use colonnade_server::tls::TlsFiles;
use colonnade_server::{
    AddressError, Confinement, CredentialFiles, Engine, HelperProgram, ListenAddress, OwnMemory, Program, ServeError,
    ServeOptions, Supervisor, SupervisorOptions, Worker, confine, limit_memory,
};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::serve::PyEngine;
use crate::serve_source::SourceEngine;
use crate::templates::PyTemplates;

/// It differs from the system's only in a process that has called `limit_memory`.
#[global_allocator]
static ALLOCATOR: OwnMemory = OwnMemory;

/// Adds the classes of `colonnade serve` to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySupervisor>()?;
    module.add_class::<PyTemplates>()?;
    module.add_class::<PyWorker>()
}

/// A command, its environment, and its user and group if they are not this process's.
type PyProgram = (Vec<OsString>, Vec<(OsString, OsString)>, Option<(u32, u32)>);

fn program(command: Vec<OsString>, environment: Vec<(OsString, OsString)>) -> PyResult<Program> {
    let mut command = command.into_iter();
    let path = command.next().ok_or_else(|| PyValueError::new_err("a command is empty: give a program"))?;
    Ok(Program { path: path.into(), arguments: command.collect(), environment })
}

/// The process that listens.
#[pyclass(name = "Supervisor", module = "colonnade_serve._core", frozen)]
struct PySupervisor(Mutex<Supervisor>);

impl PySupervisor {
    fn supervisor(&self) -> MutexGuard<'_, Supervisor> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PySupervisor {
    /// Listens as a `colonnade_serve._serve.options.Listening` says, and starts the first worker: `command`, with
    /// `environment` in addition to its own environment. The worker receives the bytes of `settings`. `template` is the
    /// program that forks function processes, with its environment, and its user and group.
    #[new]
    #[pyo3(signature = (listening, command, environment, settings, template=None))]
    fn new(
        py: Python<'_>,
        listening: &Bound<'_, PyDict>,
        command: Vec<OsString>,
        environment: Vec<(OsString, OsString)>,
        settings: Vec<u8>,
        template: Option<PyProgram>,
    ) -> PyResult<Self> {
        let text = |name: &str| listening.as_any().get_item(name)?.extract::<Option<String>>();
        let path = |name: &str| listening.as_any().get_item(name)?.extract::<Option<PathBuf>>();
        let listen = text("listen")?
            .as_deref()
            .map(ListenAddress::from_str)
            .transpose()
            .map_err(|error| to_py(&error.into()))?;
        let addresses: Vec<_> = listen.into_iter().chain(path("unix")?.map(ListenAddress::Unix)).collect();
        let odd = |text: &str| {
            PyValueError::new_err(format!("--metrics {text} is not an address; write one such as 127.0.0.1:9433"))
        };
        let metrics = text("metrics")?.map(|text| text.parse().map_err(|_| odd(&text))).transpose()?;
        let (files, client_authorities) = (path("tls_certificate")?.zip(path("tls_key")?), path("tls_client_ca")?);
        let tls = files.map(|(certificate, key)| TlsFiles { certificate, key, client_authorities });
        let program = program(command, environment)?;
        let helper = template.map(|(command, environment, user)| {
            Ok::<_, PyErr>(HelperProgram { program: self::program(command, environment)?, user })
        });
        let helper = helper.transpose()?;
        let credentials = CredentialFiles { users: path("users")?, tls };
        let options = SupervisorOptions { program, helper, settings, credentials, log: path("log")?, metrics };
        let supervisor = py.detach(|| Supervisor::start(&addresses, options)).map_err(|error| to_py(&error))?;
        Ok(Self(Mutex::new(supervisor)))
    }

    /// The addresses: `host:port`, or the path of a socket.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        self.supervisor().addresses().iter().map(ToString::to_string).collect()
    }

    /// The address of `/metrics` and `/health`: `host:port`.
    #[getter]
    fn metrics(&self) -> Option<String> {
        self.supervisor().metrics().map(|address| address.to_string())
    }

    /// What the operator should know of the certificates that were read last.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.supervisor().warnings()
    }

    /// Reads the users file and the certificates again, and opens the log again.
    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.supervisor().reload()).map_err(|error| to_py(&error))
    }

    /// Refuses new sessions and waits for the statements and transactions of the others. Returns whether all sessions
    /// ended in time.
    fn drain(&self, py: Python<'_>, seconds: f64) -> bool {
        let grace = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| self.supervisor().drain(grace))
    }

    /// Ends all sessions and stops listening. Returns whether the worker ended without an error.
    fn stop(&self, py: Python<'_>) -> bool {
        py.detach(|| self.supervisor().stop())
    }
}

/// The options in a `colonnade_serve._serve.options.ServerOptions`. Times are in seconds, and 0 means no limit.
fn server_options(given: &Bound<'_, PyDict>) -> PyResult<ServeOptions> {
    let given = given.as_any();
    let limit = |name: &str| Ok::<_, PyErr>(Some(given.get_item(name)?.extract::<usize>()?).filter(|count| *count > 0));
    let time = |name: &str| given.get_item(name)?.extract().map(seconds);
    let limits = Limits {
        connections: given.get_item("max_connections")?.extract()?,
        user_connections: limit("max_user_connections")?,
        address_logins: limit("max_address_logins")?,
        login: time("login_timeout")?.unwrap_or(Duration::MAX),
        statement: time("statement_timeout")?,
        idle: time("idle_timeout")?,
        idle_in_transaction: time("idle_transaction_timeout")?,
        result_bytes: limit("max_result_bytes")?.map(|bytes| bytes as u64),
        session_memory: limit("max_session_memory")?,
        spool_bytes: limit("spool_bytes")?,
        spool_directory: given.get_item("spool_directory")?.extract()?,
        ticket_bytes: limit("ticket_bytes")?,
        user_ticket_bytes: limit("user_ticket_bytes")?,
        ticket_directory: given.get_item("ticket_directory")?.extract()?,
        ticket_ttl: time("ticket_ttl")?,
    };
    let encode_cpu = given.get_item("encode_cpu")?.extract()?;
    let log_statements = given.get_item("log_statements")?.extract()?;
    Ok(ServeOptions { encode_cpu, limits, log_statements, ..ServeOptions::default() })
}

/// The process that holds the engine.
#[pyclass(name = "Worker", module = "colonnade_serve._core", frozen)]
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

    /// The bytes that the supervisor received as `settings`.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.settings)
    }

    /// What starts templates of functions for this process. Errors name the interpreter so.
    fn templates(&self, interpreter: String) -> PyResult<PyTemplates> {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = worker.as_ref().ok_or_else(|| PyRuntimeError::new_err("the worker serves already"))?;
        Ok(PyTemplates::new(worker.helpers(), interpreter))
    }

    /// Permanently limits this process to the files in these directories, and to reading those in `readable`, and
    /// denies it the network. Returns None, or the part of this that the system does not support.
    #[staticmethod]
    #[pyo3(signature = (directories, readable=Vec::new()))]
    fn confine(directories: Vec<PathBuf>, readable: Vec<PathBuf>) -> Option<String> {
        match confine(&directories, &readable) {
            Confinement::Full => None,
            Confinement::Partial => Some("this kernel's Landlock lacks some of the rules".to_owned()),
            Confinement::None(reason) => Some(reason),
        }
    }

    /// Limits the memory of this process, in addition to that of its sessions.
    #[staticmethod]
    fn limit_memory(bytes: u64) {
        limit_memory(bytes);
    }

    /// Serves clients with a `colonnade_serve._duckdb.engine.Engine` or a `SourceEngine` until the supervisor ends it.
    /// Returns the process's exit status.
    fn serve(&self, py: Python<'_>, engine: Py<PyAny>, options: &Bound<'_, PyDict>) -> PyResult<i32> {
        let options = server_options(options)?;
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        let worker = worker.ok_or_else(|| PyRuntimeError::new_err("a worker serves only once"))?;
        let engine: Arc<dyn Engine> = match engine.bind(py).cast::<SourceEngine>() {
            Ok(front) => front.get().engine(),
            Err(_) => Arc::new(PyEngine::new(engine.bind(py))?),
        };
        let end = py.detach(|| worker.serve(engine, options)).map_err(|error| to_py(&error))?;
        Ok(end.exit_status())
    }
}

fn to_py(error: &ServeError) -> PyErr {
    match error {
        ServeError::Address(AddressError::Syntax(_) | AddressError::NotProtected(_))
        | ServeError::NoAddress
        | ServeError::RemoteMetrics(_) => PyValueError::new_err(error.to_string()),
        // The worker has written the reason to standard error.
        ServeError::Worker(status) if status.code() == Some(1) => PyOSError::new_err(""),
        _ => PyOSError::new_err(error.to_string()),
    }
}

fn seconds(count: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(count).ok().filter(|time| !time.is_zero())
}
