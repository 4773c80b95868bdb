//! Values that a destination cannot represent: `colonnade._core.unrepresentable`.

use arrow_array::RecordBatchReader as _;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use colonnade_client::{self as client, Gaps};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::capsule;
use crate::error::to_py;
use crate::table::Table;

/// The first column with a value that a destination cannot represent: its name, and a description of the value.
#[pyfunction]
#[pyo3(signature = (data, *, midnight=false, years=None, seconds=false, only_nested=false))]
pub(crate) fn unrepresentable(
    data: &Bound<'_, PyAny>,
    midnight: bool,
    years: Option<(i32, i32)>,
    seconds: bool,
    only_nested: bool,
) -> PyResult<Option<(String, String)>> {
    let py = data.py();
    let gaps = Gaps { midnight, years, seconds, only_nested };
    if let Ok(table) = data.cast::<Table>() {
        let table = table.get();
        return py.detach(|| in_table(table, &gaps)).map_err(|error| to_py(py, &error));
    }
    let invalid = |error: arrow_schema::ArrowError| PyValueError::new_err(error.to_string());
    let reader = RecordBatchStreamReader::try_new(capsule::take_stream(data)?).map_err(invalid)?;
    let schema = reader.schema();
    for batch in reader {
        let batch = batch.map_err(invalid)?;
        let columns = schema.fields().iter().zip(batch.columns());
        let found = columns.into_iter().find_map(|(field, array)| Some((field.name().clone(), gaps.find(array)?)));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The same for a table, of which only the columns that may have such values are decoded.
fn in_table(table: &Table, gaps: &Gaps) -> Result<Option<(String, String)>, client::Error> {
    for (index, field) in table.schema.fields().iter().enumerate() {
        if !gaps.concern(field.data_type()) {
            continue;
        }
        for batch in &table.batches {
            if let Some(what) = gaps.find(&batch.column(index)?) {
                return Ok(Some((field.name().clone(), what)));
            }
        }
    }
    Ok(None)
}
