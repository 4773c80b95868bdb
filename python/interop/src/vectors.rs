//! Results that are gathered from DuckDB's vectors, for the packages
//! (`colonnade/_sources/duckdb_types/gathering.py`).

use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_schema::SchemaRef;
use colonnade_duckdb_vectors::{Databases, VectorForm, VectorReader, VectorResult, register as register_function};
use pyo3::exceptions::{PyNotImplementedError, PyValueError};
use pyo3::prelude::*;

use crate::capsule::take_stream;
use crate::producer_text::producer_text;

/// Gives databases the function that gathers. Each extension module gives it another name: both may be in a process, and
/// each has results of its own.
///
/// # Errors
/// NotImplementedError: this DuckDB does not give its vectors.
pub fn register_vectors(py: Python<'_>, name: &'static CStr, databases: Databases) -> PyResult<()> {
    let path: String = py.import("_duckdb")?.getattr("__file__")?.extract()?;
    register_function(&path, name, databases).map_err(PyNotImplementedError::new_err)
}

/// A result whose columns have types that can be gathered. It can be read once.
#[pyclass(frozen)]
pub struct VectorRows {
    result: Arc<VectorResult>,
    /// DuckDB's stream of tickets.
    tickets: Mutex<Option<RecordBatchStreamReader>>,
}

#[pymethods]
impl VectorRows {
    /// The result with a token that no other has. Columns have names and DuckDB's names of their types. None if a type
    /// cannot be gathered. `form` is `encoded`, `plain` or `views`.
    #[staticmethod]
    fn begin(token: String, columns: Vec<(String, String)>, zone: &str, form: &str) -> PyResult<Option<Self>> {
        let form = match form {
            "encoded" => VectorForm::Encoded,
            "plain" => VectorForm::Plain,
            "views" => VectorForm::Views,
            _ => return Err(PyValueError::new_err(format!("there is no form {form:?}"))),
        };
        let result = VectorResult::begin(token, columns, zone, form);
        Ok(result.map(|result| Self { result, tickets: Mutex::default() }))
    }

    /// The rows that have been gathered so far.
    #[getter]
    fn rows(&self) -> u64 {
        self.result.rows()
    }

    /// Takes DuckDB's stream of the query's tickets.
    fn receive(&self, tickets: &Bound<'_, PyAny>) -> PyResult<()> {
        let reader = RecordBatchStreamReader::try_new(take_stream(tickets)?);
        let reader = reader.map_err(|error| PyValueError::new_err(producer_text(&error).to_owned()))?;
        *self.tickets.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader);
        Ok(())
    }
}

impl VectorRows {
    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.result.schema()
    }

    /// The rows. `None` if they were read already.
    pub fn reader(&self) -> Option<VectorReader<RecordBatchStreamReader>> {
        let tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(VectorReader::new(Arc::clone(&self.result), tickets))
    }
}
