//! Results that are gathered from DuckDB's vectors.

use arrow_schema::ArrowError;
use colonnade_duckdb_vectors::{Databases, with_function};
use colonnade_interop::producer_text::producer_text;
use colonnade_interop::vectors::register_vectors;
use pyo3::prelude::*;

/// Opens a database that has the function that gathers, by a call of `open`. Other databases of the process do not get
/// it. Returns what `open` returns.
#[pyfunction]
pub(crate) fn open_with_vectors<'py>(open: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    register_vectors(open.py(), c"colonnade_read_vectors", Databases::Own)?;
    with_function(|| open.call0())
}

/// The error as of the query alone, before which `duckdb_types/gathering.py` puts a line.
pub(crate) fn of_query(error: &ArrowError) -> ArrowError {
    let text = producer_text(error);
    // arrow-rs puts this before the text of a producer.
    ArrowError::CDataInterface(format!("Producer error: {}", without_first_line(text).as_deref().unwrap_or(text)))
}

/// The text of an error that ends with `LINE n: …` and a caret below, for the same query without its first line.
fn without_first_line(text: &str) -> Option<String> {
    let (before, excerpt) = text.rsplit_once("\nLINE ")?;
    let (number, shown) = excerpt.split_once(':')?;
    let own = number.parse::<usize>().ok()?.checked_sub(1).filter(|own| *own > 0)?.to_string();
    let (line, caret) = shown.split_once('\n')?;
    // The caret stands below a line that may have become shorter.
    let caret = caret.get(number.len() - own.len()..)?;
    Some(format!("{before}\nLINE {own}:{line}\n{caret}"))
}
