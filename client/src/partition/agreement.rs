//! One schema for parts whose columns have types that depend on their rows: SQLite's columns without a declared type
//! (TYPES.md).

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::feed::POLL;
use crate::{ContinueCheck, Error, ErrorKind};

/// Doubles represent integers up to this size exactly.
const EXACT: u64 = 1 << 53;

/// Several parts agree on one schema before any of them passes on rows, so that it does not depend on which part is
/// first.
pub(super) struct Agreement {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Parts whose schemas are unknown.
    missing: usize,
    schema: Option<SchemaRef>,
}

impl Agreement {
    /// The agreement of this many parts.
    pub(super) fn new(parts: usize) -> Self {
        Self { state: Mutex::new(State { missing: parts, schema: None }), changed: Condvar::new() }
    }

    /// Adds a part's schema, and waits until all are known. Returns the common schema.
    ///
    /// # Errors
    /// The parts have no common schema, or `keep` ends the wait.
    pub(super) fn join(&self, schema: &SchemaRef, keep: ContinueCheck<'_>) -> Result<SchemaRef, Error> {
        // Every change is one assignment, so a panic elsewhere leaves nothing half-done.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let agreed = match &state.schema {
            Some(agreed) => common(agreed, schema)?,
            None => schema.clone(),
        };
        state.schema = Some(agreed);
        state.missing = state.missing.saturating_sub(1);
        self.changed.notify_all();
        while state.missing > 0 {
            state = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
            if !keep() {
                return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
            }
        }
        Ok(state.schema.clone().unwrap_or_else(|| schema.clone()))
    }
}

/// The schema that can represent the rows of both: every type has NULL, and float64 represents integers.
fn common(one: &SchemaRef, other: &SchemaRef) -> Result<SchemaRef, Error> {
    let wider = |one: &Arc<Field>, other: &Arc<Field>| match (one.data_type(), other.data_type()) {
        _ if one.name() != other.name() => None,
        _ if one == other => Some(one.clone()),
        (DataType::Null, _) | (DataType::Int64, DataType::Float64) => Some(other.clone()),
        (_, DataType::Null) | (DataType::Float64, DataType::Int64) => Some(one.clone()),
        _ => None,
    };
    let pairs = one.fields().iter().zip(other.fields());
    let fields: Option<Vec<_>> = pairs.map(|(one, other)| wider(one, other)).collect();
    match fields.filter(|fields| fields.len() == one.fields().len().max(other.fields().len())) {
        Some(fields) => Ok(Arc::new(Schema::new(fields))),
        None => Err(different(one, other).with_hint("cast the columns in the query")),
    }
}

/// A part's batch in the common schema.
///
/// # Errors
/// A double does not represent an integer exactly.
pub(super) fn fitted(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Error> {
    if batch.schema() == *schema {
        return Ok(batch);
    }
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(array, field)| column(array, field)).collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|cause| Error::new(ErrorKind::Protocol, "the batch does not fit its schema").with_cause(cause))
}

fn column(array: &ArrayRef, field: &Field) -> Result<ArrayRef, Error> {
    match (array.data_type(), field.data_type()) {
        (DataType::Null, wanted) => Ok(new_null_array(wanted, array.len())),
        (DataType::Int64, DataType::Float64) => {
            let integers = array.as_primitive::<Int64Type>();
            match integers.iter().flatten().find(|number| number.unsigned_abs() > EXACT) {
                Some(number) => {
                    let message = format!(
                        "column {:?}: {number} is not exact as float64, and other parts contain REAL values",
                        field.name()
                    );
                    let error = Error::new(ErrorKind::Database, message).with_sqlstate("22003");
                    Err(error.with_hint("cast the column in the query"))
                }
                None => Ok(Arc::new(integers.unary::<_, Float64Type>(|number| number as f64))),
            }
        }
        _ => Ok(array.clone()),
    }
}

/// The error of queries with different columns.
pub(super) fn different(one: &SchemaRef, other: &SchemaRef) -> Error {
    let list = |schema: &SchemaRef| {
        let columns = schema.fields().iter().map(|field| format!("{:?} {}", field.name(), field.data_type()));
        columns.collect::<Vec<_>>().join(", ")
    };
    Error::new(ErrorKind::Usage, "the queries have different columns").with_detail(Some(format!(
        "{} and {}",
        list(one),
        list(other)
    )))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow_array::{Float64Array, Int64Array, NullArray};

    use super::*;

    fn batch(array: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([("x", array, true)]).unwrap()
    }

    fn agreed(types: &[DataType]) -> Result<DataType, Error> {
        let schema = |type_: &DataType| Arc::new(Schema::new(vec![Field::new("x", type_.clone(), true)]));
        let mut schemas = types.iter().map(schema);
        let first = schemas.next().unwrap();
        let last = schemas.try_fold(first, |agreed, schema| common(&agreed, &schema))?;
        Ok(last.field(0).data_type().clone())
    }

    #[test]
    fn the_order_does_not_matter() {
        use DataType::{Float64, Int64, Null, Utf8};
        for types in [[Null, Int64, Float64], [Float64, Null, Int64], [Int64, Float64, Null]] {
            assert_eq!(agreed(&types).unwrap(), Float64);
        }
        assert_eq!(agreed(&[Null, Utf8, Null]).unwrap(), Utf8);
        assert_eq!(agreed(&[Null, Null]).unwrap(), Null);
        for types in [[Null, Int64, Utf8], [Utf8, Int64, Null]] {
            assert!(agreed(&types).unwrap_err().message().contains("different columns"));
        }
    }

    #[test]
    fn values_stay_what_they_are() {
        let wanted = batch(Arc::new(Float64Array::from(vec![Some(1.0), None]))).schema();
        let integers = batch(Arc::new(Int64Array::from(vec![Some(1 << 53), None])));
        let floats = fitted(integers, &wanted).unwrap();
        assert_eq!(
            floats.column(0).as_primitive::<Float64Type>(),
            &Float64Array::from(vec![Some((1u64 << 53) as f64), None])
        );
        let nulls = fitted(batch(Arc::new(NullArray::new(3))), &wanted).unwrap();
        assert_eq!((nulls.num_rows(), nulls.column(0).null_count()), (3, 3));
        let error = fitted(batch(Arc::new(Int64Array::from(vec![(1 << 53) + 1]))), &wanted).unwrap_err();
        assert!(error.message().starts_with("column \"x\": 9007199254740993 is not exact as float64"));
    }
}
