//! Functions in Python for the package: definitions, function processes, sessions.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use colonnade_udf::{
    Function, FunctionColumn, FunctionKind, Isolation, PrivatePath, ProcessLimits, ProcessPool, SessionProcesses,
    StopFlag, TemplateSource,
};
use pyo3::exceptions::{PyNotImplementedError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::capture::{Capture, Sampling};
use super::deferred_calls::{BoundFunction, DeferredCalls, DeferredStream};
use super::local::LocalFunctions;
use super::registry::{self, Definition, Volatility};
use super::session::{Failure, Queries, Session};
use super::sql_type::{SqlType, UnsupportedType};
use crate::capsule::take_stream;
use crate::table::Table;
use crate::templates::PyTemplates;

#[pyfunction]
pub(super) fn check_private(readable: Vec<PathBuf>, private: Vec<(String, PathBuf)>) -> PyResult<()> {
    colonnade_udf::check_private(&readable, &private_paths(private))
        .map_err(|exposure| PyValueError::new_err(exposure.to_string()))
}

fn private_paths(given: Vec<(String, PathBuf)>) -> Vec<PrivatePath> {
    given.into_iter().map(|(what, path)| PrivatePath { what, path }).collect()
}

fn parse_kind(kind: &str) -> PyResult<FunctionKind> {
    match kind {
        "scalar" => Ok(FunctionKind::Scalar),
        "aggregate" => Ok(FunctionKind::Aggregate),
        "aggregate_per_group" => Ok(FunctionKind::AggregatePerGroup),
        _ => Err(PyValueError::new_err(format!("{kind:?} is no kind of function that a dispatcher calls"))),
    }
}

fn parse_volatility(volatility: &str) -> PyResult<Volatility> {
    match volatility {
        "i" => Ok(Volatility::Immutable),
        "s" => Ok(Volatility::Stable),
        "v" => Ok(Volatility::Volatile),
        _ => Err(PyValueError::new_err(format!("volatility must be one of i, s, v, not {volatility:?}"))),
    }
}

#[pyfunction]
pub(super) fn function_dispatcher(kind: &str, volatility: &str) -> PyResult<&'static str> {
    Ok(registry::dispatcher(parse_kind(kind)?, parse_volatility(volatility)?))
}

pub(super) fn id_number(id: &str) -> PyResult<u64> {
    registry::parse_id(id).ok_or_else(|| PyValueError::new_err(format!("{id:?} is no id of a function")))
}

#[pyfunction]
#[pyo3(signature = (id, name, kind, parameters, result, source, *, strict=false, volatility="v", arrow=false))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "the parameters of a Python function")]
pub(super) fn define_function(
    id: &str,
    name: String,
    kind: &str,
    parameters: Option<Vec<(String, String, bool)>>,
    result: &str,
    source: String,
    strict: bool,
    volatility: &str,
    arrow: bool,
) -> PyResult<()> {
    let is_variadic = parameters.is_none();
    let parameters = parameters.unwrap_or_default();
    let unsupported = |error: UnsupportedType| PyNotImplementedError::new_err(error.to_string());
    let types = parameters.iter().map(|(_, type_, _)| SqlType::parse_converted(type_)).collect::<Result<Vec<_>, _>>();
    let types = types.map_err(unsupported)?;
    let result_name = result;
    let result = SqlType::parse_converted(result).map_err(unsupported)?;
    let kind = parse_kind(kind)?;
    let column = |name: &str, type_name: &str, type_: &SqlType, is_scalar| FunctionColumn {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        column_type: type_.column_type.clone(),
        is_scalar,
    };
    let columns = parameters.iter().zip(&types);
    let columns = columns.map(|((name, type_name, is_scalar), type_)| column(name, type_name, type_, *is_scalar));
    let function = Function {
        id: id_number(id)?,
        name,
        parameters: columns.collect(),
        results: vec![column("", result_name, &result, false)],
        source,
        kind,
        is_strict: strict,
        is_arrow: arrow,
    };
    let volatility = parse_volatility(volatility)?;
    let declared = function.id;
    let function = Arc::new(function);
    if registry::define(Definition { function, parameters: types, result, volatility, is_variadic, declared }) {
        Ok(())
    } else {
        Err(PyValueError::new_err(format!("the id {id} is that of another function")))
    }
}

#[pyfunction]
pub(super) fn column_type(name: &str) -> PyResult<String> {
    let type_ = SqlType::parse_converted(name).map_err(|error| PyNotImplementedError::new_err(error.to_string()))?;
    Ok(colonnade_udf::describe_type(&type_.column_type))
}

#[pyfunction]
pub(super) fn with_digits(type_name: &str) -> String {
    colonnade_duckdb::with_digits(type_name)
}

#[pyfunction]
pub(super) fn forget_function(id: &str) -> PyResult<()> {
    registry::forget(id_number(id)?);
    Ok(())
}

#[pyfunction]
pub(super) fn has_function(id: &str) -> PyResult<bool> {
    Ok(registry::find(id_number(id)?).is_some())
}

/// Starts templates as children of this process.
struct ChildTemplates {
    python: PathBuf,
    main: PathBuf,
    preload: Vec<String>,
    /// Those that were started. One that has ended is waited for when the next one starts.
    children: Mutex<Vec<Child>>,
}

impl TemplateSource for ChildTemplates {
    fn interpreter(&self) -> String {
        self.python.display().to_string()
    }

    fn start(&self) -> io::Result<OwnedFd> {
        let (own, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let mut command = Command::new(&self.python);
        command.args(["-I", "-B"]).arg(&self.main).args(&self.preload).stdin(Stdio::from(other)).env_clear();
        let child = command.spawn()?;
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        children.push(child);
        Ok(own)
    }
}

/// What runs templates: a program, or the supervisor.
#[derive(FromPyObject)]
enum Interpreter {
    Started(Py<PyTemplates>),
    Path(PathBuf),
}

#[pyclass(frozen, module = "colonnade_serve._core")]
pub(crate) struct FunctionProcesses {
    pool: ProcessPool,
}

#[pymethods]
impl FunctionProcesses {
    #[new]
    #[pyo3(signature = (python=None, *, isolation="sandbox", memory=2 << 30, server_memory=4 << 30, processes=8, timeout=None, readable=Vec::new(), private=Vec::new(), preload=Vec::new(), session_processes=None))]
    #[allow(clippy::too_many_arguments, reason = "the parameters of a Python class")]
    fn new(
        py: Python<'_>,
        python: Option<Interpreter>,
        isolation: &str,
        memory: u64,
        server_memory: u64,
        processes: usize,
        timeout: Option<f64>,
        readable: Vec<PathBuf>,
        private: Vec<(String, PathBuf)>,
        preload: Vec<String>,
        session_processes: Option<usize>,
    ) -> PyResult<Self> {
        let (isolation, is_local) = match isolation {
            "sandbox" => (Isolation::Sandbox, false),
            "process" => (Isolation::Process, false),
            "none" => (Isolation::Process, true),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "isolation must be one of sandbox, process, none, not {isolation:?}"
                )));
            }
        };
        let call = timeout.map(Duration::try_from_secs_f64).transpose();
        let call = call.map_err(|error| PyValueError::new_err(format!("the timeout is no time: {error}")))?;
        let private = private_paths(private);
        let limits =
            ProcessLimits { memory, server_memory, processes, session_processes, call, readable, private, isolation };
        if is_local {
            let pool = ProcessPool::local(Box::new(LocalFunctions), limits);
            return Ok(Self { pool: pool.map_err(|error| PyOSError::new_err(error.to_string()))? });
        }
        let source: Box<dyn TemplateSource> = match python {
            Some(Interpreter::Started(templates)) => Box::new(templates.get().clone()),
            python => {
                let python = match python {
                    Some(Interpreter::Path(path)) => path,
                    _ => py.import("sys")?.getattr("executable")?.extract()?,
                };
                let package: PathBuf = py.import("colonnade_serve")?.getattr("__file__")?.extract()?;
                let main = package.with_file_name("_udf").join("__main__.py");
                Box::new(ChildTemplates { python, main, preload, children: Mutex::default() })
            }
        };
        let pool = ProcessPool::new(source, limits);
        let pool = pool.map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Self { pool })
    }

    #[getter]
    fn running(&self) -> usize {
        self.pool.processes()
    }

    #[getter]
    fn used_memory(&self) -> usize {
        self.pool.used_memory()
    }
}

#[pyclass(frozen, module = "colonnade_serve._core")]
pub(crate) struct FunctionSession {
    pub(super) session: Arc<Session>,
    pub(super) processes: SessionProcesses,
    /// Whether the function processes, and the statement for which they work, are those of another session.
    is_sibling: bool,
}

impl FunctionSession {
    /// Sets where functions run their queries.
    pub(crate) fn set_loopback(&self, queries: Queries) {
        self.session.set_loopback(queries);
    }

    /// The processes of the session.
    pub(crate) fn processes(&self) -> &SessionProcesses {
        &self.processes
    }

    /// What ends the calls of this connection, and no others of the session.
    pub(crate) fn stop_flag(&self) -> StopFlag {
        self.session.stop.clone()
    }
}

#[pymethods]
impl FunctionSession {
    #[new]
    fn new(processes: &FunctionProcesses, token: &str) -> PyResult<Self> {
        let found = Session::find(token);
        let session = found.ok_or_else(|| PyValueError::new_err("no connection of DuckDB has this token"))?;
        let processes = processes.pool.session();
        session.set_processes(Some(processes.clone()));
        Ok(Self { session, processes, is_sibling: false })
    }

    fn sibling(&self, token: &str) -> PyResult<Self> {
        let found = Session::find(token);
        let session = found.ok_or_else(|| PyValueError::new_err("no connection of DuckDB has this token"))?;
        session.set_processes(Some(self.processes.clone()));
        Ok(Self { session, processes: self.processes.clone(), is_sibling: true })
    }

    fn begin_statement(&self) {
        if !self.is_sibling {
            self.processes.begin_statement();
        }
        self.session.begin_statement();
    }

    fn check<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        let definition = registry::find(id_number(id)?);
        let definition = definition.ok_or_else(|| PyValueError::new_err(format!("no function has the id {id}")))?;
        let checked = py.detach(|| self.processes.caller().check(&definition.function));
        checked.err().map(|error| failure_dict(py, Failure::of(&error, &definition.function))).transpose()
    }

    /// Begins a capture, which ends with `end_capture`.
    #[pyo3(signature = (id, call, count=None, *, by_groups=false, seed=0))]
    fn begin_capture(&self, id: &str, call: usize, count: Option<usize>, by_groups: bool, seed: u64) -> PyResult<()> {
        let sampling = count.map(|count| Sampling { count, by_groups, seed });
        let capture = Capture::new(id_number(id)?, call, sampling, self.processes.budget());
        self.session.set_capture(Some(Arc::new(capture)));
        Ok(())
    }

    /// How often the statement calls the function, and its arguments; None without rows, or if there is no capture.
    fn end_capture(&self, py: Python<'_>) -> PyResult<(usize, Option<Table>)> {
        let Some(capture) = self.session.set_capture(None) else { return Ok((0, None)) };
        let taken = py.detach(|| capture.take());
        let (batches, charges) =
            taken.map_err(|_| PyValueError::new_err("the inputs of a function do not fit together"))?;
        self.session.keep_inputs(charges);
        let schema = batches.first().map(RecordBatch::schema);
        let table = schema.map(|schema| Table { schema, batches });
        Ok((capture.calls(), table))
    }

    fn cancel(&self, py: Python<'_>) {
        py.detach(|| if self.is_sibling { self.session.stop.stop() } else { self.processes.cancel() });
    }

    fn note(&self, line: &str) {
        self.processes.note(line);
    }

    fn take_notices(&self) -> String {
        self.processes.take_notices()
    }

    fn take_failure<'py>(&self, py: Python<'py>, message: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.session.take_failure(message).map(|failure| failure_dict(py, failure)).transpose()
    }

    fn begin_binding(&self, defers: bool) {
        self.session.deferral.begin(defers);
    }

    fn end_binding(&self) -> Vec<BoundFunction> {
        let deferral = &self.session.deferral;
        deferral.end().iter().map(|definition| BoundFunction::new(definition, deferral)).collect()
    }

    fn call_deferred(&self, stream: &Bound<'_, PyAny>, columns: Vec<(usize, String)>) -> PyResult<DeferredStream> {
        let wrong = |text: String| PyValueError::new_err(text);
        let reader =
            RecordBatchStreamReader::try_new(take_stream(stream)?).map_err(|error| wrong(error.to_string()))?;
        let definition = |(column, id): (usize, String)| {
            let definition = registry::find(id_number(&id)?);
            Ok((column, definition.ok_or_else(|| wrong(format!("no function has the id {id}")))?))
        };
        let columns = columns.into_iter().map(definition).collect::<PyResult<_>>()?;
        let caller = self.session.caller().map_err(|error| wrong(error.text))?;
        DeferredCalls::new(&self.session, caller, reader, columns).map(DeferredStream::new).map_err(wrong)
    }

    fn end_idle(&self, py: Python<'_>, seconds: u64) {
        py.detach(|| self.processes.end_idle(Duration::from_secs(seconds)));
    }

    #[getter]
    fn process_ids(&self) -> Vec<i32> {
        self.processes.process_ids()
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            self.session.close();
            if !self.is_sibling {
                self.processes.end();
            }
        });
    }
}

pub(super) fn failure_dict(py: Python<'_>, failure: Failure) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("code", failure.code.as_ref())?;
    dict.set_item("message", failure.message)?;
    dict.set_item("detail", failure.detail)?;
    dict.set_item("context", failure.context)?;
    dict.set_item("line", failure.line)?;
    dict.set_item("position", failure.position)?;
    dict.set_item("source", failure.source)?;
    dict.set_item("unknown", failure.unknown)?;
    Ok(dict)
}
