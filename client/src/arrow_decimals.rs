//! Decimals of 32 and 64 bits, which only the drivers of other libraries give. They become decimal128, because readers of Arrow's C
//! interface do not know them: polars 2.1 takes the bytes behind a value for its upper half.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};

/// The schema with wide decimals.
pub(crate) fn widened(schema: &SchemaRef) -> SchemaRef {
    match fields(schema.fields()) {
        Some(fields) => Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())),
        None => SchemaRef::clone(schema),
    }
}

/// The batch with the columns of the schema that [`widened`] has made.
///
/// # Errors
/// The batch is not of the schema before.
pub(crate) fn widen(batch: RecordBatch, to: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.columns().iter().zip(to.fields()).all(|(column, field)| column.data_type() == field.data_type()) {
        return batch.with_schema(SchemaRef::clone(to));
    }
    let exact = CastOptions { safe: false, ..CastOptions::default() };
    let columns = batch.columns().iter().zip(to.fields()).map(|(column, field)| {
        let is_same = column.data_type() == field.data_type();
        if is_same { Ok(Arc::clone(column)) } else { cast_with_options(column, field.data_type(), &exact) }
    });
    let rows = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(SchemaRef::clone(to), columns.collect::<Result<_, _>>()?, &rows)
}

/// `None` if nothing changes.
fn fields(of: &Fields) -> Option<Fields> {
    let wide: Vec<_> = of.iter().map(field).collect();
    if wide.iter().all(Option::is_none) {
        return None;
    }
    Some(wide.into_iter().zip(of).map(|(wide, field)| wide.unwrap_or_else(|| FieldRef::clone(field))).collect())
}

fn field(of: &FieldRef) -> Option<FieldRef> {
    data_type(of.data_type()).map(|wide| Arc::new(Field::clone(of).with_data_type(wide)))
}

fn data_type(of: &DataType) -> Option<DataType> {
    Some(match of {
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::List(item) => DataType::List(field(item)?),
        DataType::LargeList(item) => DataType::LargeList(field(item)?),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(field(item)?, *length),
        DataType::Struct(members) => DataType::Struct(fields(members)?),
        DataType::Map(entries, is_sorted) => DataType::Map(field(entries)?, *is_sorted),
        DataType::Dictionary(keys, values) => DataType::Dictionary(keys.clone(), Box::new(data_type(values)?)),
        // Others that contain types are read by pyarrow alone, which knows these decimals.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Int8Type};
    use arrow_array::*;
    use arrow_buffer::OffsetBuffer;

    use super::*;

    fn narrow() -> ArrayRef {
        Arc::new(Decimal32Array::from(vec![Some(150), None, Some(-225)]).with_precision_and_scale(5, 2).unwrap())
    }

    fn item(array: &ArrayRef) -> FieldRef {
        Arc::new(Field::new("item", array.data_type().clone(), true))
    }

    fn wide(array: ArrayRef) -> ArrayRef {
        let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
        let schema = widened(&batch.schema());
        let made = widen(batch, &schema).unwrap();
        assert_eq!(made.schema(), schema);
        made.column(0).to_data().validate_full().unwrap();
        Arc::clone(made.column(0))
    }

    fn values(array: &dyn Array) -> Vec<Option<i128>> {
        assert_eq!(array.data_type(), &DataType::Decimal128(5, 2));
        array.as_primitive::<Decimal128Type>().iter().collect()
    }

    #[test]
    fn decimals_keep_their_values_within_every_type() {
        let expected = vec![Some(150), None, Some(-225)];
        assert_eq!(values(&wide(narrow())), expected);
        let offsets = || OffsetBuffer::from_lengths([1, 2]);
        let list: ArrayRef = Arc::new(ListArray::new(item(&narrow()), offsets(), narrow(), None));
        assert_eq!(values(wide(Arc::clone(&list)).as_list::<i32>().values()), expected);
        let fixed = FixedSizeListArray::new(item(&narrow()), 3, narrow(), None);
        assert_eq!(values(wide(Arc::new(fixed)).as_fixed_size_list().values()), expected);
        let members = StructArray::from(vec![(item(&list), list), (item(&narrow()), narrow().slice(0, 2))]);
        let members = wide(Arc::new(members));
        assert_eq!(values(members.as_struct().column(0).as_list::<i32>().values()), expected);
        assert_eq!(values(members.as_struct().column(1)), expected[..2]);
        let words = DictionaryArray::new(Int8Array::from(vec![2, 0, 1, 2]), narrow());
        assert_eq!(values(wide(Arc::new(words)).as_dictionary::<Int8Type>().values()), expected);
        let keys: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
        let key = Arc::new(Field::new("key", DataType::Int8, false));
        let entries = StructArray::from(vec![(key, keys), (item(&narrow()), narrow())]);
        let entry = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let map = wide(Arc::new(MapArray::new(entry, offsets(), entries, None, false)));
        assert_eq!(values(map.as_map().values()), expected);
    }

    #[test]
    fn extremes_and_other_columns_stay() {
        let extremes = vec![i64::MAX, i64::MIN];
        let middle = PrimitiveArray::<Decimal64Type>::from(extremes.clone()).with_precision_and_scale(18, 0).unwrap();
        let found = wide(Arc::new(middle));
        let found: Vec<_> = found.as_primitive::<Decimal128Type>().values().iter().copied().collect();
        assert_eq!(found, extremes.into_iter().map(i128::from).collect::<Vec<_>>());
        let none = PrimitiveArray::<Decimal32Type>::from(Vec::<i32>::new());
        assert_eq!(wide(Arc::new(none)).len(), 0);
        let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("a", DataType::Int8, true)]));
        assert!(Arc::ptr_eq(&widened(&schema), &schema));
    }
}
