//! Results that are gathered from DuckDB's vectors, for the package (`serve/colonnade_serve/_duckdb/vector_rows.py`).

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_schema::SchemaRef;
use colonnade_duckdb_vectors::{VectorReader, VectorResult, register as register_function};
use pyo3::exceptions::{PyNotImplementedError, PyValueError};
use pyo3::prelude::*;

use crate::capsule::take_stream;
use crate::producer_text::producer_text;

/// Adds them to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(register_vectors, module)?)?;
    module.add_class::<VectorRows>()
}

/// Gives each database that is opened from now on the function that gathers.
#[pyfunction]
fn register_vectors(py: Python<'_>) -> PyResult<()> {
    let path: String = py.import("_duckdb")?.getattr("__file__")?.extract()?;
    register_function(&path).map_err(PyNotImplementedError::new_err)
}

/// A result whose columns have types that can be gathered.
#[pyclass(frozen, module = "colonnade_serve._core")]
pub(crate) struct VectorRows {
    result: Arc<VectorResult>,
    /// DuckDB's stream of tickets.
    tickets: Mutex<Option<RecordBatchStreamReader>>,
}

#[pymethods]
impl VectorRows {
    /// The result with a token that no other has. None if a type cannot be gathered.
    #[staticmethod]
    fn begin(token: String, types: Vec<String>, zone: &str) -> Option<Self> {
        VectorResult::begin(token, types, zone).map(|result| Self { result, tickets: Mutex::default() })
    }

    /// The rows that have been gathered so far.
    #[getter]
    fn rows(&self) -> u64 {
        self.result.rows()
    }

    /// Takes DuckDB's stream of the query's tickets.
    fn receive(&self, stream: &Bound<'_, PyAny>) -> PyResult<()> {
        let reader = RecordBatchStreamReader::try_new(take_stream(stream)?);
        let reader = reader.map_err(|error| PyValueError::new_err(producer_text(&error).to_owned()))?;
        *self.tickets.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader);
        Ok(())
    }
}

impl VectorRows {
    /// The columns, without their names.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.result.schema()
    }

    /// The rows. `None` if they were read already.
    pub(crate) fn reader(&self) -> Option<VectorReader<RecordBatchStreamReader>> {
        let tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(VectorReader::new(Arc::clone(&self.result), tickets))
    }
}
