//! The server's fence, for `serve/colonnade_serve/_duckdb/statement_check.py`.

use colonnade_duckdb::fence::{self, Fence, Refusal, Rights, Section};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(colonnade_serve._core, Refused, PyException, "A statement that clients may not run.");

/// Adds the fence and its exception to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Refused", module.py().get_type::<Refused>())?;
    module.add_class::<PyFence>()
}

/// A refusal as `Refused(message, sqlstate, position)`.
fn refused(refusal: &Refusal) -> PyErr {
    Refused::new_err((refusal.to_string(), refusal.code().as_str().to_owned(), refusal.position()))
}

/// The lists of what is allowed, for an engine with these functions.
#[pyclass(name = "Fence", module = "colonnade_serve._core", frozen)]
struct PyFence(Fence);

/// The kinds that a statement may have; the statement within it, such as that of EXPLAIN, and its kinds; whether
/// RETURNING occurs.
type Checked<'a> = (&'static [&'static str], Option<(&'a str, &'static [&'static str])>, bool);

#[pymethods]
impl PyFence {
    #[new]
    fn new(catalog: Vec<String>, max_bytes: usize) -> PyResult<Self> {
        Fence::new(catalog, max_bytes).map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The kinds that a statement may have, or `Refused`. It releases the interpreter lock.
    fn check<'a>(&self, py: Python<'_>, sql: &'a str, writes: bool, files: bool) -> PyResult<Checked<'a>> {
        let found = py.detach(|| self.0.check(sql, Rights { writes, files })).map_err(|refusal| refused(&refusal))?;
        let inner = found.inner.and_then(|(start, kinds)| Some((sql.get(start..)?, kinds)));
        Ok((found.kinds, inner, found.has_returning))
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
