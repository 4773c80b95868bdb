//! The options of a query, as Python gives them.

use std::num::NonZeroU64;
use std::str::FromStr;

use client::QueryOptions;
use colonnade_client as client;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::error::to_py;

/// The options among Python's keyword arguments. None means the default.
pub(crate) fn query_options(given: Option<&Bound<'_, PyDict>>) -> PyResult<QueryOptions> {
    let mut options = QueryOptions::default();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        match name.as_str() {
            "compression" => options.compression = named(&value)?,
            "chunk_rows" => options.chunk_rows = value.extract()?,
            "chunk_bytes" => options.chunk_bytes = value.extract()?,
            "max_message_bytes" => options.max_message_bytes = value.extract()?,
            "max_result_bytes" => options.max_result_bytes = limit(&value)?,
            "numeric" => options.numeric = value.extract()?,
            "as_text" => options.as_text = value.extract::<Option<_>>()?.unwrap_or_default(),
            "parallel" => options.parallel = named(&value)?,
            // The package converts the results of all sources, and reports their progress. Some sources give views.
            "dtype" if !value.is_none() => {
                let dtype = value.py().import("colonnade._frames.dtype")?;
                (options.stored_dates.all_as_text, options.stored_dates.as_text) =
                    dtype.call_method1("texts", (value,))?.extract()?;
            }
            "stored_dates" => options.stored_dates.by_values = value.extract()?,
            "dtype" | "progress" | "views" => {}
            _ => return Err(PyTypeError::new_err(format!("query() has no argument {name:?}"))),
        }
    }
    Ok(options)
}

/// The value of an option that has a fixed set of names. None is the default.
fn named<T: FromStr<Err = client::Error> + Default>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let Some(name) = value.extract::<Option<String>>()? else { return Ok(T::default()) };
    name.parse().map_err(|error| to_py(value.py(), &error))
}

/// A number of bytes, or a size such as `100MB`.
pub(crate) fn limit(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let py = value.py();
    let bytes = match value.extract::<String>() {
        Ok(text) => py.import("colonnade._options.sizes")?.call_method1("size", (text,)).ok(),
        Err(_) => Some(value.clone()).filter(|value| !value.is_instance_of::<PyBool>()),
    };
    let bytes = bytes.and_then(|bytes| bytes.extract::<Option<NonZeroU64>>().ok());
    let wrong = "max_result_bytes is a number of bytes, at least 1, or a size such as '100MB'";
    let wrong = || to_py(py, &client::Error::new(client::ErrorKind::Usage, wrong));
    Ok(bytes.ok_or_else(wrong)?.map(NonZeroU64::get))
}

/// Refuses options that a source in this process cannot follow, because its results are not encoded.
#[pyfunction]
#[pyo3(signature = (source, has_as_text, **options))]
pub(crate) fn refuse_for_plain_source(
    py: Python<'_>,
    source: &str,
    has_as_text: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let refused = query_options(options)?.refuse_for_plain_source(has_as_text);
    refused.map_err(|error| to_py(py, &error.with_origin(source)))
}
