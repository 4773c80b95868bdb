//! The rows of a result of another library, before they are read.

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader as _};
use arrow_schema::{ArrowError, SchemaRef};
use colonnade_duckdb_vectors::VectorReader;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::capsule::take_stream;
use crate::vectors::VectorRows;

/// A result whose rows begin.
pub enum RowStream {
    /// An Arrow stream.
    Arrow(FFI_ArrowArrayStream),
    /// The rows that are gathered from DuckDB's vectors, and their columns.
    Vectors(SchemaRef, VectorReader<RecordBatchStreamReader>),
}

impl RowStream {
    /// The rows of `VectorRows`, or of an object with Arrow's PyCapsule interface.
    ///
    /// # Errors
    /// It is neither, or its rows were read already.
    pub fn taken(producer: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(gathered) = producer.cast::<VectorRows>() else { return Ok(Self::Arrow(take_stream(producer)?)) };
        let reader = gathered.get().reader().ok_or_else(|| PyValueError::new_err("the rows were read already"))?;
        Ok(Self::Vectors(gathered.get().schema(), reader))
    }

    /// The columns, and the rows.
    ///
    /// # Errors
    /// The stream has no schema.
    pub fn open(self) -> Result<(SchemaRef, RowReader), ArrowError> {
        Ok(match self {
            Self::Arrow(stream) => {
                let reader = RecordBatchStreamReader::try_new(stream)?;
                (reader.schema(), RowReader::Arrow(reader))
            }
            Self::Vectors(schema, reader) => (schema, RowReader::Vectors(Box::new(reader))),
        })
    }
}

/// Rows that are read.
pub enum RowReader {
    /// Those of an Arrow stream.
    Arrow(RecordBatchStreamReader),
    /// Those that are gathered.
    Vectors(Box<VectorReader<RecordBatchStreamReader>>),
}

impl Iterator for RowReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Arrow(reader) => reader.next(),
            Self::Vectors(reader) => reader.next(),
        }
    }
}
