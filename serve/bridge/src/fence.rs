//! The server's fence, for `serve/colonnade_serve/_duckdb/statement_check.py`.

use std::sync::Arc;

use colonnade_duckdb::AllowedStatement;
use colonnade_duckdb::fence::{self, CheckedStatement, Fence, Refusal, Rights, Section};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

pyo3::create_exception!(colonnade_serve._core, Refused, PyException, "A statement that clients may not run.");

/// Adds the fence and its exception to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Refused", module.py().get_type::<Refused>())?;
    module.add_class::<PyAllowedStatement>()?;
    module.add_class::<PyFence>()
}

/// A refusal as `Refused(message, sqlstate, position)`.
fn refused(refusal: &Refusal) -> PyErr {
    Refused::new_err((refusal.to_string(), refusal.code().as_str().to_owned(), refusal.position()))
}

/// A statement that the fence has let through. Python cannot make one in another way.
#[pyclass(name = "AllowedStatement", module = "colonnade_serve._core", frozen)]
pub(crate) struct PyAllowedStatement {
    /// Its text.
    #[pyo3(get)]
    sql: Py<PyString>,
    checked: CheckedStatement,
}

impl PyAllowedStatement {
    pub(crate) fn of(py: Python<'_>, allowed: &AllowedStatement<'_>) -> Self {
        Self::new(py, &allowed.statement().text, allowed.checked().clone())
    }

    fn new(py: Python<'_>, sql: &str, checked: CheckedStatement) -> Self {
        Self { sql: PyString::new(py, sql).unbind(), checked }
    }
}

#[pymethods]
impl PyAllowedStatement {
    /// The kinds that DuckDB may find; none for an empty text.
    #[getter]
    fn kinds(&self) -> &'static [&'static str] {
        self.checked.kinds
    }

    /// The statement within it, such as that of EXPLAIN, and the kinds that DuckDB may find for it.
    #[getter]
    fn inner<'py>(&'py self, py: Python<'py>) -> PyResult<Option<(&'py str, &'static [&'static str])>> {
        let sql = self.sql.bind(py).to_str()?;
        Ok(self.checked.inner.and_then(|(start, kinds)| Some((sql.get(start..)?, kinds))))
    }

    /// [`fence::form`].
    fn form(&self, py: Python<'_>) -> PyResult<String> {
        fence::form(self.sql.bind(py).to_str()?).map_err(|refusal| refused(&refusal))
    }

    /// Whether its result may have columns of tables.
    #[getter]
    fn may_have_origins(&self) -> bool {
        self.checked.may_have_origins
    }

    /// Whether the word RETURNING occurs.
    #[getter]
    fn has_returning(&self) -> bool {
        self.checked.has_returning
    }
}

/// The lists of what is allowed, for an engine with these functions.
#[pyclass(name = "Fence", module = "colonnade_serve._core", frozen)]
pub(crate) struct PyFence(Arc<Fence>);

impl PyFence {
    pub(crate) fn fence(&self) -> Arc<Fence> {
        Arc::clone(&self.0)
    }
}

#[pymethods]
impl PyFence {
    #[new]
    fn new(catalog: Vec<String>, max_bytes: usize) -> PyResult<Self> {
        let fence = Fence::new(catalog, max_bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self(Arc::new(fence)))
    }

    /// The statement, if a user with these rights may send it; otherwise `Refused`. It releases the interpreter lock.
    fn check(&self, py: Python<'_>, sql: &str, writes: bool, files: bool) -> PyResult<PyAllowedStatement> {
        let found = py.detach(|| self.0.check(sql, Rights { writes, files })).map_err(|refusal| refused(&refusal))?;
        Ok(PyAllowedStatement::new(py, sql, found))
    }

    /// The decision about a name of a list: `all`, `writers`, `files`, `writers-with-files` or `never`, or None.
    fn decision(&self, section: &str, name: &str) -> PyResult<Option<&'static str>> {
        let section = Section::named(section).ok_or_else(|| PyValueError::new_err(format!("no list {section:?}")))?;
        Ok(self.0.decision(section, name).map(|class| class.name()))
    }

    /// The start of each token in bytes, and its text, for comparison with the engine's lexer.
    #[staticmethod]
    fn tokens(sql: &str) -> PyResult<Vec<(usize, &str)>> {
        let tokens = fence::tokens(sql).map(|token| token.map(|token| (token.start, token.text)));
        tokens.collect::<Result<_, _>>().map_err(|refusal| refused(&refusal))
    }
}
