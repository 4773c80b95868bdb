//! Batches in memory: `colonnade._core.Batch`, `Table` and `Column`.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{FieldRef, SchemaRef};
use colonnade_client as client;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::to_py;
use crate::ffi_stream::struct_field;
use crate::{capsule, ffi_stream};

/// One decoded batch.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Batch(pub(crate) RecordBatch);

#[pymethods]
impl Batch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// One column, which can be kept without the others.
    fn column(&self, index: usize) -> PyResult<Column> {
        let array = self.0.columns().get(index).ok_or_else(|| PyIndexError::new_err(index))?;
        Ok(Column { field: self.0.schema().fields()[index].clone(), arrays: vec![array.clone()] })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &*self.0.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let array: ArrayRef = Arc::new(StructArray::from(self.0.clone()));
        Ok((capsule::schema(py, &struct_field(&self.0.schema()))?, capsule::array(py, &array)?))
    }
}

/// All batches of a result. Encoded batches are decoded when a column or the whole table is read.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<client::Batch>,
}

#[pymethods]
impl Table {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(client::Batch::rows).sum()
    }

    #[getter]
    fn num_batches(&self) -> usize {
        self.batches.len()
    }

    /// One batch.
    fn batch(&self, py: Python<'_>, index: usize) -> PyResult<Batch> {
        let batch = self.batches.get(index).ok_or_else(|| PyIndexError::new_err(index))?;
        py.detach(|| batch.clone().decode()).map(Batch).map_err(|error| to_py(py, &error))
    }

    /// Decodes one column.
    fn column(&self, py: Python<'_>, index: usize) -> PyResult<Column> {
        let arrays = py.detach(|| self.batches.iter().map(|batch| batch.column(index)).collect::<Result<Vec<_>, _>>());
        let arrays = arrays.map_err(|error| to_py(py, &error))?;
        Ok(Column { field: self.schema.fields()[index].clone(), arrays })
    }

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
        let next = move || match batches.next().map(client::Batch::decode).transpose() {
            Ok(batch) => Ok(batch.map(|batch| Arc::new(StructArray::from(batch)) as ArrayRef)),
            Err(error) => Err(error.to_string()),
        };
        capsule::stream(py, ffi_stream::export(struct_field(&self.schema), Box::new(next)))
    }
}

/// One column of a table.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Column {
    field: FieldRef,
    arrays: Vec<ArrayRef>,
}

#[pymethods]
impl Column {
    #[getter]
    fn name(&self) -> &str {
        self.field.name()
    }

    #[getter]
    fn null_count(&self) -> usize {
        self.arrays.iter().map(|array| array.logical_null_count()).sum()
    }

    fn __len__(&self) -> usize {
        self.arrays.iter().map(|array| array.len()).sum()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &*self.field)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let mut arrays = self.arrays.clone().into_iter();
        capsule::stream(py, ffi_stream::export(self.field.as_ref().clone(), Box::new(move || Ok(arrays.next()))))
    }
}
