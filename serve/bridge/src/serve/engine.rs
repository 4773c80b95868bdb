//! The engine of a served database: it opens a session for each client.

use std::sync::Arc;

use colonnade_duckdb::fence::{Fence, Rights};
use colonnade_duckdb::{CatalogNames, ServedDatabase, Translated, TranslatingSession, UserFence};
use colonnade_server::{Engine, EngineError, EngineSession, Role, SessionUser};
use pyo3::prelude::*;

use super::errors::engine_error;
#[cfg(target_os = "linux")]
use super::siblings;
use super::{PyConnection, PySession, functions};
use crate::attached::attached;
use crate::fence::PyFence;

/// A `colonnade_serve._duckdb.engine.Engine`.
pub(crate) struct PyEngine {
    engine: Py<PyAny>,
    version: String,
    database: Option<String>,
    served: ServedDatabase,
    fence: Arc<Fence>,
    /// Whether the operator allows files.
    files: bool,
    /// Whether sessions have functions in Python.
    has_functions: bool,
    aggregates: functions::FunctionNames,
    tables: functions::FunctionNames,
}

impl PyEngine {
    pub(crate) fn new(engine: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (version, database) = (engine.getattr("version")?.extract()?, engine.getattr("database")?.extract()?);
        let (database_name, has_public) = engine.getattr("served")?.extract()?;
        let names = engine.getattr("catalog_names")?;
        let list = |attribute: &str| -> PyResult<Vec<String>> { names.getattr(attribute)?.extract() };
        let engine_functions: Vec<(String, String)> = names.getattr("engine_functions")?.extract()?;
        let (types, engine_types) = (list("types")?, list("engine_types")?);
        let catalog = CatalogNames::new(list("relations")?, list("functions")?, engine_functions, types, engine_types);
        let served = ServedDatabase { database: database_name, has_public, catalog };
        let fence = engine.getattr("fence")?.cast::<PyFence>()?.get().fence();
        let files = engine.getattr("files")?.extract()?;
        let has_functions = engine.getattr("has_functions")?.extract()?;
        let names = |attribute: &str| -> PyResult<functions::FunctionNames> {
            let (known, names) =
                (functions::FunctionNames::default(), engine.getattr(attribute)?.extract::<Vec<String>>()?);
            names.iter().for_each(|name| known.add(name));
            Ok(known)
        };
        let (aggregates, tables) = (names("aggregates")?, names("table_functions")?);
        let engine = engine.clone().unbind();
        Ok(Self { version, database, served, fence, files, has_functions, aggregates, tables, engine })
    }

    fn fence_for(&self, writes: bool) -> UserFence {
        UserFence { fence: Arc::clone(&self.fence), rights: Rights { writes, files: self.files } }
    }
}

impl Engine for PyEngine {
    fn version(&self) -> String {
        self.version.clone()
    }

    fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    fn session(&self, user: &SessionUser) -> Result<Box<dyn EngineSession>, EngineError> {
        attached(|py| {
            let is_read_only = user.role == Role::ReadOnly;
            let session = self.engine.bind(py).call_method1("session", (&user.name, is_read_only));
            let session = session.map_err(|error| engine_error(py, &error, &Translated::default()))?;
            #[cfg(target_os = "linux")]
            if self.has_functions {
                siblings::Siblings::install(
                    self.engine.bind(py),
                    &session,
                    (&self.served, self.fence_for(false)),
                    (&self.aggregates, &self.tables),
                    0,
                )
                .map_err(|error| engine_error(py, &error, &Translated::default()))?;
            }
            #[cfg(target_os = "linux")]
            let processes = self.has_functions.then(|| functions::processes_of(&session)).transpose();
            #[cfg(target_os = "linux")]
            let processes = processes.map_err(|error| engine_error(py, &error, &Translated::default()))?;
            let session = Arc::new(PySession(session.unbind()));
            let connection = PyConnection {
                session,
                is_read_only,
                has_functions: self.has_functions,
                aggregates: self.aggregates.clone(),
                tables: self.tables.clone(),
                ends_transaction: false,
                is_owner: true,
                #[cfg(target_os = "linux")]
                processes,
            };
            Ok(Box::new(TranslatingSession::new(connection, self.served.clone(), self.fence_for(!is_read_only)))
                as Box<dyn EngineSession>)
        })
    }
}
