//! From Arrow's arrays to a function process's ring.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::ArrowError;
use colonnade_udf::{CallError, CallInputs, ColumnType, Form};

use super::super::columns::{self, ConversionError, WriteError};

/// The rows of a call.
pub(super) enum Chosen {
    All,
    /// The rows of a strict function that have no NULL argument.
    Rows(Vec<u32>),
}

impl Chosen {
    /// The rows in which no column is NULL.
    pub fn without_nulls(columns: &[ArrayRef], rows: usize) -> Self {
        let nulls: Vec<_> =
            columns.iter().filter(|column| column.null_count() > 0).filter_map(|column| column.nulls()).collect();
        if nulls.is_empty() {
            return Self::All;
        }
        Self::Rows((0..rows as u32).filter(|row| nulls.iter().all(|nulls| nulls.is_valid(*row as usize))).collect())
    }

    /// How many of these rows there are.
    pub fn count(&self, rows: usize) -> usize {
        match self {
            Self::All => rows,
            Self::Rows(rows) => rows.len(),
        }
    }

    /// These rows of a column.
    fn of(&self, column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let Self::Rows(rows) = self else { return Ok(Arc::clone(column)) };
        let data = column.to_data();
        let mut taken = MutableArrayData::new(vec![&data], false, rows.len());
        for run in rows.chunk_by(|row, next| row + 1 == *next) {
            taken.try_extend(0, run[0] as usize, run[0] as usize + run.len())?;
        }
        Ok(make_array(taken.freeze()))
    }
}

/// Writes a column as the next parameter, which has this layout.
pub(super) fn write(
    inputs: &mut CallInputs<'_>,
    layout: &ColumnType,
    column: &ArrayRef,
    chosen: &Chosen,
) -> Result<(), WriteError<CallError>> {
    inputs.parameter(Form::Array).map_err(WriteError::Ring)?;
    let column = chosen.of(column).map_err(ConversionError::from)?;
    columns::write(inputs, layout, &column)
}
