//! A statement's values on their way to Python.

use std::collections::HashMap;

use colonnade_server::Parameter;
use colonnade_server::parameter::ParameterValue;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

/// Values by name; the name is the parameter's number. `None` if there are none.
pub(super) fn named_values<'a>(parameters: &[&'a Parameter]) -> Option<HashMap<String, PyValue<'a>>> {
    let values = parameters.iter().map(|parameter| (parameter.number.to_string(), PyValue(&parameter.value)));
    (!parameters.is_empty()).then(|| values.collect())
}

/// A parameter's value on its way to Python.
pub(super) struct PyValue<'a>(&'a ParameterValue);

impl<'py> IntoPyObject<'py> for PyValue<'_> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.0 {
            ParameterValue::Null => py.None().into_bound(py),
            ParameterValue::Text(text) => PyString::new(py, text).into_any(),
            ParameterValue::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            ParameterValue::List(items) => PyList::new(py, items.iter().map(PyValue))?.into_any(),
            ParameterValue::Sent { .. } => {
                return Err(PyValueError::new_err("DuckDB takes no values in PostgreSQL's form"));
            }
        })
    }
}
