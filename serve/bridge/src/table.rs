//! `colonnade_serve._core.Table`: batches in memory, which go to DuckDB and to Python as a stream.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::ffi_stream::struct_field;
use crate::{capsule, ffi_stream};

/// Rows of known columns.
#[pyclass(frozen, module = "colonnade_serve._core")]
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &*self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let mut batches = self.batches.clone().into_iter();
        let next = move || Ok(batches.next().map(|batch| Arc::new(StructArray::from(batch)) as ArrayRef));
        capsule::stream(py, ffi_stream::export(struct_field(&self.schema), Box::new(next)))
    }
}
