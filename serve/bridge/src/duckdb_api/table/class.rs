//! A call of a table function for the package.

use std::sync::{Arc, Mutex, OnceLock};

use colonnade_udf::{CallError, Function, FunctionColumn, FunctionKind};
use pyo3::exceptions::{PyMemoryError, PyNotImplementedError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Argument, Batches, Block, Call, Source, VALUES, group};
use crate::duckdb_api::classes::{FunctionSession, failure_dict, id_number};
use crate::duckdb_api::session::Failure;
use crate::duckdb_api::sql_type::{SqlType, UnsupportedType};

/// A call of a table function.
#[pyclass(frozen, module = "colonnade_serve._core")]
pub(crate) struct TableCall {
    call: Arc<Call>,
    name: String,
}

/// Name, type, whether it is one value, and the number of its query; 0 is that of the single values.
type Given = (String, String, bool, usize);

/// A call in a block: the function's id, name and parameters (name, type, whether it is one value, and the column of
/// the query), the type of its result, its body, whether it is STRICT, and whether its parameters have the style ARROW.
#[derive(FromPyObject)]
struct BlockCall(String, String, Vec<(String, String, bool, usize)>, String, String, bool, bool);

impl BlockCall {
    fn made(self, query: &[(String, SqlType)]) -> PyResult<(Function, Vec<Argument>, SqlType)> {
        let Self(id, name, given, result, source, is_strict, is_arrow) = self;
        let unsupported = |error: UnsupportedType| PyNotImplementedError::new_err(error.to_string());
        let (mut parameters, mut arguments) = (Vec::new(), Vec::new());
        for (name, type_, is_scalar, column) in given {
            let type_name = type_;
            let type_ = SqlType::parse_converted(&type_name).map_err(unsupported)?;
            if query.get(column).is_none_or(|(_, found)| *found != type_) {
                return Err(PyValueError::new_err("an argument has another type than its parameter"));
            }
            parameters.push(FunctionColumn { name, type_name, column_type: type_.column_type.clone(), is_scalar });
            arguments.push(Argument { group: VALUES + 1, column, type_ });
        }
        let result = SqlType::parse_converted(&result).map_err(unsupported)?;
        let column = FunctionColumn {
            name: String::new(),
            type_name: result.name.clone(),
            column_type: result.column_type.clone(),
            is_scalar: false,
        };
        let function = Function {
            id: id_number(&id)?,
            name,
            parameters,
            results: vec![column],
            source,
            kind: FunctionKind::Scalar,
            is_strict,
            is_arrow,
        };
        Ok((function, arguments, result))
    }
}

#[pymethods]
impl TableCall {
    #[new]
    #[pyo3(signature = (session, id, name, arguments, results, source, *, threads=None, call=None, arrow=false))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "the parameters of a Python class")]
    fn new(
        session: &FunctionSession,
        id: &str,
        name: String,
        arguments: Vec<Given>,
        results: Vec<(String, String)>,
        source: String,
        threads: Option<usize>,
        call: Option<String>,
        arrow: bool,
    ) -> PyResult<Self> {
        let unsupported = |error: UnsupportedType| PyNotImplementedError::new_err(error.to_string());
        let count = arguments.iter().map(|(.., group)| group + 1).max().unwrap_or(0).max(VALUES + 1);
        if count > arguments.len() + 1 {
            return Err(PyValueError::new_err("a query has no columns"));
        }
        let mut of_groups = vec![Vec::new(); count];
        let (mut parameters, mut placed) = (Vec::new(), Vec::new());
        for (name, type_, is_scalar, group) in arguments {
            let type_name = type_;
            let type_ = SqlType::parse_converted(&type_name).map_err(unsupported)?;
            let column = of_groups[group].len();
            parameters.push(FunctionColumn {
                name: name.clone(),
                type_name,
                column_type: type_.column_type.clone(),
                is_scalar,
            });
            of_groups[group].push((name, type_.clone()));
            placed.push(Argument { group, column, type_ });
        }
        let results = results.into_iter().map(|(name, type_)| Ok((name, SqlType::parse_converted(&type_)?)));
        let results = results.collect::<Result<Vec<_>, _>>().map_err(unsupported)?;
        let result = |(name, type_): &(String, SqlType)| FunctionColumn {
            name: name.clone(),
            type_name: type_.name.clone(),
            column_type: type_.column_type.clone(),
            is_scalar: false,
        };
        let function = Function {
            id: id_number(id)?,
            name,
            parameters,
            results: results.iter().map(result).collect(),
            source,
            kind: if results.is_empty() { FunctionKind::AnyTable } else { FunctionKind::Table },
            is_strict: false,
            is_arrow: arrow,
        };
        let groups =
            of_groups.into_iter().map(|types| group(&function, types, session.processes.budget()).map(Mutex::new));
        let groups = groups.collect::<Result<Vec<_>, CallError>>();
        let made = Arc::new(Call {
            session: Arc::clone(&session.session),
            processes: session.processes.clone(),
            function: Arc::new(function),
            arguments: placed,
            results,
            groups: groups.map_err(|error| PyMemoryError::new_err(error.to_string()))?,
            batches: threads.map(Batches::new),
            block: None,
            output: OnceLock::new(),
        });
        let name = made.publish(call).map_err(PyOSError::new_err)?;
        Ok(Self { call: made, name })
    }

    #[staticmethod]
    #[pyo3(signature = (session, query, calls, columns, *, call=None))]
    fn block(
        session: &FunctionSession,
        query: Vec<(String, String)>,
        calls: Vec<BlockCall>,
        columns: Vec<(String, usize, bool)>,
        call: Option<String>,
    ) -> PyResult<Self> {
        let types = query.into_iter().map(|(name, type_)| Ok((name, SqlType::parse_converted(&type_)?)));
        let types = types.collect::<Result<Vec<_>, UnsupportedType>>();
        let types = types.map_err(|error| PyNotImplementedError::new_err(error.to_string()))?;
        let made = calls.into_iter().map(|call| call.made(&types)).collect::<PyResult<Vec<_>>>()?;
        let (mut sources, mut results) = (Vec::new(), Vec::new());
        for (name, index, is_call) in columns {
            let type_ =
                if is_call { made.get(index).map(|made| &made.2) } else { types.get(index).map(|(_, type_)| type_) };
            let type_ = type_.ok_or_else(|| PyValueError::new_err("a column does not belong to the query"))?;
            results.push((name, type_.clone()));
            sources.push(if is_call { Source::Call(index) } else { Source::Query(index) });
        }
        let calls: Vec<_> = made.into_iter().map(|(function, arguments, _)| (Arc::new(function), arguments)).collect();
        let function = Arc::clone(&calls.first().ok_or_else(|| PyValueError::new_err("there is no call"))?.0);
        let groups =
            [Vec::new(), types].map(|types| group(&function, types, session.processes.budget()).map(Mutex::new));
        let groups = groups.into_iter().collect::<Result<Vec<_>, CallError>>();
        let made = Arc::new(Call {
            session: Arc::clone(&session.session),
            processes: session.processes.clone(),
            function,
            arguments: Vec::new(),
            results,
            groups: groups.map_err(|error| PyMemoryError::new_err(error.to_string()))?,
            batches: None,
            block: Some(Block { calls, columns: sources }),
            output: OnceLock::new(),
        });
        let name = made.publish(call).map_err(PyOSError::new_err)?;
        Ok(Self { call: made, name })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The names and types of the columns that the function has returned. None if they are declared.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        let batches = self.call.output.get().map(|output| output.batches.as_slice());
        batches.and_then(<[_]>::first).map(|batch| batch.names.clone()).unwrap_or_default()
    }

    fn check<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let checked = py.detach(|| self.call.processes.caller().check(&self.call.function));
        checked.err().map(|error| failure_dict(py, Failure::of(&error, &self.call.function))).transpose()
    }

    fn collect_texts(&self, texts: Vec<String>) -> PyResult<()> {
        let collected = self.call.collect_texts(&texts);
        collected.map_err(|error| PyRuntimeError::new_err(error.text))
    }

    fn run(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.call.run()).map_err(|error| PyRuntimeError::new_err(error.text))
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.call.forget(&self.name));
    }
}

impl Drop for TableCall {
    fn drop(&mut self) {
        self.call.forget(&self.name);
    }
}
