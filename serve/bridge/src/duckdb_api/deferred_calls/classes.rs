//! Deferred calls for the package.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, StructArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::super::deferral::{Deferral, is_deferrable};
use super::super::registry::Definition;
use super::DeferredCalls;
use crate::capsule::stream;
use crate::ffi_stream;
use crate::ffi_stream::struct_field;

/// The function of a call that was bound.
#[pyclass(frozen, get_all, module = "colonnade_serve._core")]
pub(in super::super) struct BoundFunction {
    id: String,
    name: String,
    dispatcher: &'static str,
    parameters: Vec<String>,
    result: String,
    is_deferrable: bool,
    mark: String,
}

impl BoundFunction {
    pub fn new(definition: &Definition, deferral: &Deferral) -> Self {
        let function = &definition.function;
        Self {
            id: format!("{:016x}", function.id),
            name: function.name.clone(),
            dispatcher: definition.dispatcher(),
            parameters: function.parameters.iter().map(|parameter| parameter.name.clone()).collect(),
            result: definition.result.name.clone(),
            is_deferrable: is_deferrable(definition),
            mark: deferral.mark(definition),
        }
    }
}

/// A result whose functions run beside its plan. It can be read once.
#[pyclass(frozen, module = "colonnade_serve._core")]
pub(in super::super) struct DeferredStream(Mutex<Option<DeferredCalls>>);

impl DeferredStream {
    pub fn new(calls: DeferredCalls) -> Self {
        Self(Mutex::new(Some(calls)))
    }
}

#[pymethods]
impl DeferredStream {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may leave the wish out of account.
        drop(requested_schema);
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut calls = calls.ok_or_else(|| PyValueError::new_err("the stream was read already"))?;
        let field = struct_field(&calls.schema());
        let next = move || Ok(calls.next()?.map(|batch| Arc::new(StructArray::from(batch)) as ArrayRef));
        stream(py, ffi_stream::export(field, Box::new(next)))
    }
}
