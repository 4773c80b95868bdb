//! The form in which columns of other libraries are taken: with the meaning of each value in its field, and in types
//! that every reader of this package's results knows.
//!
//! - Decimals of 32 and 64 bits become decimal128. Readers of Arrow's C interface do not know them: polars 2.1 takes
//!   the bytes behind a value for its upper half.
//! - `arrow.bool8`, a byte for each boolean, becomes bool.
//! - A dictionary whose values have an extension type becomes these values: in arrow-rs, the values of a dictionary
//!   have no metadata, so only the C schema tells that 600 is a month.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};

/// What is said of fields in their metadata, a key with a value, by their places: the number of a column, of its child,
/// and so on. The child of a map is its entries.
pub type FieldNotes = HashMap<Vec<usize>, (String, String)>;

/// The schema with these notes.
pub(crate) fn noted(schema: SchemaRef, notes: &FieldNotes) -> SchemaRef {
    if notes.is_empty() {
        return schema;
    }
    let mut place = Vec::new();
    match fields(schema.fields(), &mut |at, field| noted_field(field, at, &mut place, notes)) {
        Some(fields) => Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())),
        None => schema,
    }
}

fn noted_field(of: &FieldRef, at: usize, place: &mut Vec<usize>, notes: &FieldNotes) -> Option<FieldRef> {
    place.push(at);
    let inner = children(of.data_type(), &mut |at, field| noted_field(field, at, place, notes));
    let note = notes.get(place);
    place.pop();
    if inner.is_none() && note.is_none() {
        return None;
    }
    let mut field = Field::clone(of);
    field.metadata_mut().extend(note.cloned());
    Some(Arc::new(match inner {
        Some(data_type) => field.with_data_type(data_type),
        None => field,
    }))
}

/// The schema in the form above. `described` is the same schema as the producer has described it.
pub(crate) fn taken(schema: SchemaRef, described: Option<&FFI_ArrowSchema>) -> SchemaRef {
    let child = |at| described.map(|described| described.child(at));
    match fields(schema.fields(), &mut |at, of| field(of, child(at))) {
        Some(fields) => Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())),
        None => schema,
    }
}

/// The batch with the columns of the schema that [`taken`] has made.
///
/// # Errors
/// The batch is not of the schema before.
pub(crate) fn take(batch: RecordBatch, to: &SchemaRef) -> Result<RecordBatch, ArrowError> {
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

/// The name of a field's extension type.
pub(crate) fn extension(field: &Field) -> Option<&str> {
    field.metadata().get(EXTENSION_TYPE_NAME_KEY).map(String::as_str)
}

/// Whether a field has no extension type, or one whose values a table can have.
pub(crate) fn is_known_extension(field: &Field) -> bool {
    let data_type = field.data_type();
    match extension(field) {
        None => true,
        Some("arrow.uuid") => *data_type == DataType::FixedSizeBinary(16),
        Some("arrow.json") => matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
        Some("geoarrow.wkb") => {
            matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
        }
        Some("arrow.parquet.variant") => matches!(data_type, DataType::Struct(_)),
        Some(_) => false,
    }
}

/// `None` if nothing changes.
fn field(of: &Field, described: Option<&FFI_ArrowSchema>) -> Option<FieldRef> {
    if let DataType::Dictionary(keys, values) = of.data_type() {
        let described = described.and_then(FFI_ArrowSchema::dictionary);
        let own = described.and_then(|described| Field::try_from(described).ok());
        let own = own.unwrap_or_else(|| Field::new("", values.as_ref().clone(), true));
        let made = field(&own, described);
        let inner = made.as_deref().unwrap_or(&own);
        if [of, &own, inner].iter().all(|field| extension(field).is_none()) {
            let keys = keys.clone();
            let with = |inner: FieldRef| DataType::Dictionary(keys, Box::new(inner.data_type().clone()));
            return made.map(|inner| Arc::new(of.clone().with_data_type(with(inner))));
        }
        let mut metadata = inner.metadata().clone();
        metadata.extend(of.metadata().clone());
        let plain = of.clone().with_data_type(inner.data_type().clone()).with_metadata(metadata);
        return Some(field(&plain, None).unwrap_or_else(|| Arc::new(plain)));
    }
    if *of.data_type() == DataType::Int8 && extension(of) == Some("arrow.bool8") {
        let mut plain = of.clone().with_data_type(DataType::Boolean);
        for key in [EXTENSION_TYPE_NAME_KEY, EXTENSION_TYPE_METADATA_KEY] {
            plain.metadata_mut().remove(key);
        }
        return Some(Arc::new(plain));
    }
    let data_type = match of.data_type() {
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        nested => {
            let child = |at| described.map(|described| described.child(at));
            children(nested, &mut |at, of| field(of, child(at)))?
        }
    };
    Some(Arc::new(of.clone().with_data_type(data_type)))
}

/// The type with other children, of which `change` gets the number and the field; `None` if nothing changes.
pub(crate) fn children(
    of: &DataType,
    change: &mut impl FnMut(usize, &FieldRef) -> Option<FieldRef>,
) -> Option<DataType> {
    Some(match of {
        DataType::List(item) => DataType::List(change(0, item)?),
        DataType::LargeList(item) => DataType::LargeList(change(0, item)?),
        DataType::ListView(item) => DataType::ListView(change(0, item)?),
        DataType::LargeListView(item) => DataType::LargeListView(change(0, item)?),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(change(0, item)?, *length),
        DataType::Struct(members) => DataType::Struct(fields(members, change)?),
        DataType::Map(entries, is_sorted) => DataType::Map(change(0, entries)?, *is_sorted),
        // Unions and runs are read by pyarrow alone, which knows all of this.
        _ => return None,
    })
}

/// `None` if nothing changes.
fn fields(of: &Fields, change: &mut impl FnMut(usize, &FieldRef) -> Option<FieldRef>) -> Option<Fields> {
    let made: Vec<_> = of.iter().enumerate().map(|(at, field)| change(at, field)).collect();
    if made.iter().all(Option::is_none) {
        return None;
    }
    Some(made.into_iter().zip(of).map(|(made, field)| made.unwrap_or_else(|| FieldRef::clone(field))).collect())
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
        let schema = taken(batch.schema(), None);
        let made = take(batch, &schema).unwrap();
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
        assert!(Arc::ptr_eq(&taken(schema.clone(), None), &schema));
    }
}
