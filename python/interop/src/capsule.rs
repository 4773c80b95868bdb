//! Arrow's PyCapsule interface.
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use arrow_array::ArrayRef;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// An `arrow_schema` capsule of a result's columns, or of one column.
pub fn schema<'py, T>(py: Python<'py>, columns: &T) -> PyResult<Bound<'py, PyCapsule>>
where
    FFI_ArrowSchema: for<'a> TryFrom<&'a T, Error = ArrowError>,
{
    PyCapsule::new_with_value(py, FFI_ArrowSchema::try_from(columns).map_err(invalid)?, c"arrow_schema")
}

/// An `arrow_array` capsule.
pub fn array<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArray::new(&array.to_data()), c"arrow_array")
}

/// An `arrow_array_stream` capsule.
pub fn stream(py: Python<'_>, stream: FFI_ArrowArrayStream) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// Takes the stream out of the capsule that `object.__arrow_c_stream__()` returns.
pub fn take_stream(object: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let capsule = capsule_of(object, "__arrow_c_stream__")?;
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of this name holds a valid stream, and moving it out marks it as released (the interface's
    // rule for consumers).
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) })
}

/// The type in the capsule that `object.__arrow_c_schema__()` returns.
pub fn take_type(object: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let capsule = capsule_of(object, "__arrow_c_schema__")?;
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?;
    // SAFETY: a capsule of this name holds a valid schema, which is only read here and released by the capsule.
    DataType::try_from(unsafe { pointer.cast::<FFI_ArrowSchema>().as_ref() }).map_err(invalid)
}

/// Whether the schema that `object.__arrow_c_schema__()` returns has any columns.
#[pyfunction]
pub fn has_columns(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match take_type(object)? {
        DataType::Struct(columns) => Ok(!columns.is_empty()),
        other => Err(PyTypeError::new_err(format!("a schema must be a struct of columns, not {other}"))),
    }
}

fn capsule_of<'py>(object: &Bound<'py, PyAny>, method: &str) -> PyResult<Bound<'py, PyCapsule>> {
    let capsule = object.call_method0(method)?;
    capsule.cast_into().map_err(|_| PyTypeError::new_err(format!("{method} must return a PyCapsule")))
}

fn invalid(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
