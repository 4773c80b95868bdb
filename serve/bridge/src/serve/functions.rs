//! Functions in Python: passes definitions to `colonnade_serve._duckdb.functions.SessionFunctions`.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use colonnade_duckdb::{AggregateCandidate, AggregateDispatch, Translated};
use colonnade_server::functions::{DefinedParameter, DefinedResult, DefinitionKind, FunctionDefinition, Functions};
use colonnade_server::{EngineError, FunctionPlace, SqlState};
use colonnade_sql::statement::{CommentOnFunction, DropFunction, DroppedFunction, ParallelSafety, Volatility};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::PyConnection;
#[cfg(target_os = "linux")]
use crate::duckdb_api::FunctionSession;

/// A function's schema, its name, and the types of its parameters as they are written.
pub(super) type Written<'a> = (Option<&'a str>, &'a str, Option<&'a [String]>);

/// What `functions.SessionFunctions.dispatch` gives: the dispatcher, and for each aggregate the id, the signature, the
/// types of the parameters and the constants of the last ones.
type Dispatch = (String, Vec<(String, String, Option<Vec<String>>, Vec<String>)>);

/// A `functions.Failure`.
#[derive(FromPyObject)]
struct PyFailure {
    code: String,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    context: String,
    body: String,
    position: Option<usize>,
}

/// The `FunctionSession` of an `engine.Session`.
#[cfg(target_os = "linux")]
pub(super) fn session_of<'py>(session: &Bound<'py, PyAny>) -> PyResult<Bound<'py, FunctionSession>> {
    Ok(session.getattr("functions")?.getattr("processes")?.cast_into()?)
}

/// The processes of a session's functions.
#[cfg(target_os = "linux")]
pub(super) fn processes_of(session: &Bound<'_, PyAny>) -> PyResult<colonnade_udf::SessionProcesses> {
    Ok(session_of(session)?.get().processes().clone())
}

/// The error of a function, if that is what the text of an error of DuckDB's means.
pub(super) fn failure(session: &Bound<'_, PyAny>, text: &str) -> Option<EngineError> {
    let found = session.getattr("functions").and_then(|functions| functions.call_method1("failure", (text,)));
    // If this fails, the text that DuckDB has given is the best there is.
    let PyFailure { code, message, detail, hint, context, body, position } =
        found.ok()?.extract::<Option<_>>().ok()??;
    let code = SqlState::parse(&code).unwrap_or(SqlState::INTERNAL_ERROR);
    let place = FunctionPlace { context, body, position };
    let function = (!place.context.is_empty()).then(|| Box::new(place));
    Some(EngineError { detail, hint, function, ..EngineError::new(code, message) })
}

impl PyConnection {
    /// Calls a method of the session's functions.
    pub(super) fn with_functions<T>(
        &self,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, EngineError> {
        self.with_session(&Translated::default(), |session| work(&session.getattr("functions")?))
    }
}

/// The names that may be those of aggregates, or of table functions: of all that this process has seen, whatever has
/// become of them.
#[derive(Clone, Default)]
pub(super) struct FunctionNames(Arc<RwLock<Option<Arc<HashSet<String>>>>>);

impl FunctionNames {
    /// The names, in lower case; `None` if there are none.
    pub fn all(&self) -> Option<Arc<HashSet<String>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn add(&self, name: &str) {
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(names.get_or_insert_default()).insert(name.to_lowercase());
    }
}

impl PyConnection {
    /// How an aggregate is called; `None` if the session has none with this name and number of arguments.
    pub(super) fn dispatch(
        &self,
        schema: Option<&str>,
        name: &str,
        arguments: usize,
    ) -> Result<Option<AggregateDispatch>, EngineError> {
        let found: Option<Dispatch> =
            self.with_functions(|functions| functions.call_method1("dispatch", (schema, name, arguments))?.extract())?;
        Ok(found.map(|(dispatcher, candidates)| {
            let candidate = |(id, signature, types, defaults)| AggregateCandidate { id, signature, types, defaults };
            AggregateDispatch { dispatcher, candidates: candidates.into_iter().map(candidate).collect() }
        }))
    }
}

impl Functions for PyConnection {
    fn create(&mut self, function: &FunctionDefinition) -> Result<(), EngineError> {
        match function.kind {
            DefinitionKind::Aggregate => self.aggregates.add(&function.name.name),
            DefinitionKind::Table => self.tables.add(&function.name.name),
            // It gets whole columns too.
            DefinitionKind::Scalar if !function.is_map => self.tables.add(&function.name.name),
            DefinitionKind::Scalar => {}
        }
        self.with_functions(|functions| {
            functions.call_method1("create", (to_dict(functions.py(), function)?,)).map(drop)
        })
    }

    fn has(&mut self, functions: &DropFunction) -> Result<bool, EngineError> {
        let names: Vec<_> = functions.functions.iter().map(written).collect();
        self.with_functions(|functions| functions.call_method1("has", (names,))?.extract())
    }

    fn drop(&mut self, dropped: &DropFunction) -> Result<bool, EngineError> {
        let names: Vec<_> = dropped.functions.iter().map(written).collect();
        let arguments = (names, dropped.is_aggregate, dropped.if_exists, dropped.cascades);
        self.with_functions(|functions| functions.call_method1("drop", arguments)?.extract())
    }

    fn comment(&mut self, comment: &CommentOnFunction) -> Result<bool, EngineError> {
        let (schema, name, types) = written(&comment.function);
        let arguments = (schema, name, types, comment.text.as_deref());
        self.with_functions(|functions| functions.call_method1("comment", arguments)?.extract())
    }
}

/// A function as Python takes it.
pub(super) fn written(function: &DroppedFunction) -> Written<'_> {
    (function.name.schema.as_deref(), &function.name.name, function.types.as_deref())
}

/// The definition as Python reads it.
fn to_dict<'py>(py: Python<'py>, function: &FunctionDefinition) -> PyResult<Bound<'py, PyDict>> {
    let kind = match function.kind {
        DefinitionKind::Scalar => "scalar",
        DefinitionKind::Aggregate => "aggregate",
        DefinitionKind::Table => "table",
    };
    let parameter = |parameter: &DefinedParameter| {
        (parameter.name.clone(), parameter.type_.clone(), parameter.default.clone(), parameter.is_scalar)
    };
    let parameters: Option<Vec<_>> =
        function.parameters.as_ref().map(|parameters| parameters.iter().map(parameter).collect());
    let results = match &function.result {
        DefinedResult::Type(type_) => Some(vec![(String::new(), type_.clone())]),
        DefinedResult::Columns(columns) => Some(columns.clone()),
        DefinedResult::AnyColumns => None,
    };
    let volatility = match function.volatility {
        Volatility::Immutable => "i",
        Volatility::Stable => "s",
        Volatility::Volatile => "v",
    };
    let parallel = match function.parallel {
        ParallelSafety::Safe => "s",
        ParallelSafety::Restricted => "r",
        ParallelSafety::Unsafe => "u",
    };
    let dict = PyDict::new(py);
    dict.set_item("or_replace", function.or_replace)?;
    dict.set_item("schema", function.name.schema.as_deref())?;
    dict.set_item("name", &function.name.name)?;
    dict.set_item("kind", kind)?;
    dict.set_item("language", if function.is_map { "python_map" } else { "python" })?;
    dict.set_item("parameters", parameters)?;
    dict.set_item("results", results)?;
    dict.set_item("volatility", volatility)?;
    dict.set_item("strict", function.is_strict)?;
    dict.set_item("parallel", parallel)?;
    dict.set_item("style", if function.is_arrow { "arrow" } else { "numpy" })?;
    dict.set_item("source", &function.source)?;
    Ok(dict)
}
