#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int16Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, Date64Array, Decimal128Array, FixedSizeBinaryArray, FixedSizeListArray, Int32Array, Int64Array,
    LargeListArray, StringArray, StructArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Fields, Metadata, TimeUnit};

use super::*;

mod misfits;

fn target(data_type: DataType, type_name: &str) -> ArrayTarget {
    let uuid = [("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into_iter().collect::<Metadata>();
    let is_uuid = data_type == DataType::FixedSizeBinary(16);
    let field = Field::new("t", data_type, true);
    let field = Arc::new(if is_uuid { field.with_metadata(uuid) } else { field });
    ArrayTarget { field, type_name: type_name.to_owned() }
}

fn field(array: &ArrayRef) -> Field {
    Field::new("a", array.data_type().clone(), true)
}

fn converted(array: ArrayRef, target: &ArrayTarget) -> ArrayRef {
    target.check(&field(&array)).unwrap();
    let made = target.convert(&array, &field(&array)).unwrap();
    assert_eq!(made.len(), array.len());
    made
}

/// The row of the first value without an exact form, from 0.
fn misfit(array: ArrayRef, target: &ArrayTarget) -> usize {
    target.check(&field(&array)).unwrap();
    match target.convert(&array, &field(&array)) {
        Err(ConversionError::Value(row, _)) => row,
        other => panic!("{other:?}"),
    }
}

fn list(items: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("l", items, true)))
}

#[test]
fn integers_fit_or_are_refused() {
    let array: ArrayRef = Arc::new(Int64Array::from(vec![Some(-32768), None, Some(32767)]));
    let made = converted(array, &target(DataType::Int16, "SMALLINT"));
    assert_eq!(made.as_primitive::<Int16Type>().iter().collect::<Vec<_>>(), [Some(-32768), None, Some(32767)]);
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![1 << 63, u64::MAX]));
    assert_eq!(misfit(large.clone(), &target(DataType::Int64, "BIGINT")), 0);
    let made = converted(large.clone(), &target(DataType::Utf8, "UHUGEINT"));
    assert_eq!(made.as_string::<i32>().value(1), "18446744073709551615");
    let exact: ArrayRef = Arc::new(UInt64Array::from(vec![1 << 53, (1 << 53) + 1]));
    assert_eq!(misfit(exact, &target(DataType::Float64, "DOUBLE")), 1);
}

#[test]
fn decimals_keep_their_value_in_another_scale() {
    let decimals = |values: Vec<i128>| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(20, 3).unwrap())
    };
    let wanted = target(DataType::Decimal128(6, 1), "DECIMAL(6,1)");
    let made = converted(decimals(vec![1_500, -99_999_900, 0]), &wanted);
    assert_eq!(made.as_primitive::<Decimal128Type>().values(), &[15, -999_999, 0]);
    assert_eq!(misfit(decimals(vec![1_500, 1_550]), &wanted), 1);
    assert_eq!(misfit(decimals(vec![100_000_000]), &wanted), 0);
    let made = converted(decimals(vec![7_000]), &target(DataType::Decimal128(38, 0), "HUGEINT"));
    assert_eq!(made.as_primitive::<Decimal128Type>().value(0), 7);
}

#[test]
fn times_keep_their_moment() {
    let wanted = target(DataType::Timestamp(TimeUnit::Microsecond, None), "TIMESTAMP");
    let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![-3_000, i64::MAX]));
    let made = converted(array, &wanted);
    assert_eq!(made.as_primitive::<TimestampMicrosecondType>().values(), &[-3, i64::MAX]);
    let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![0, 1]));
    assert_eq!(misfit(array, &wanted), 1);
    let array: ArrayRef = Arc::new(Date64Array::from(vec![86_400_000, 1]));
    assert_eq!(misfit(array, &target(DataType::Date32, "DATE")), 1);
    let zoned: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![0]).with_timezone("UTC"));
    assert!(wanted.check(&field(&zoned)).is_err());
}

#[test]
fn uuids_are_texts_in_one_form() {
    let wanted = target(DataType::Utf8, "UUID");
    let text = "123e4567-e89b-12d3-a456-426614174000";
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text.to_uppercase()]));
    assert_eq!(converted(texts, &wanted).as_string::<i32>().value(0), text);
    let wrong: ArrayRef = Arc::new(StringArray::from(vec![text, "123e4567e89b12d3a456426614174000"]));
    assert_eq!(misfit(wrong, &wanted), 1);
    let bytes = u128::from_str_radix(&text.replace('-', ""), 16).unwrap().to_be_bytes();
    let array: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([bytes].into_iter()).unwrap());
    let metadata = [("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())];
    let field = field(&array).with_metadata(metadata.into_iter().collect::<Metadata>());
    wanted.check(&field).unwrap();
    assert_eq!(wanted.convert(&array, &field).unwrap().as_string::<i32>().value(0), text);
}

#[test]
fn an_enum_gets_a_dictionary_of_each_batch() {
    let index = Box::new(DataType::UInt8);
    let wanted = target(DataType::Dictionary(index, Box::new(DataType::Utf8)), "ENUM('a', 'b')");
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), None, Some("b")]));
    let made = converted(texts, &wanted);
    assert_eq!(made.as_any_dictionary().values().len(), 1);
    let many: ArrayRef = Arc::new(StringArray::from_iter_values((0..300).map(|n| n.to_string())));
    assert_eq!(misfit(many, &wanted), 256);
}

#[test]
fn lists_are_converted_item_by_item() {
    let lists = |values: Vec<i64>| -> ArrayRef {
        let item = Arc::new(Field::new("item", DataType::Int64, true));
        let valid = NullBuffer::from(vec![true, false, true]);
        // The second list is NULL and has an item that means nothing.
        Arc::new(LargeListArray::new(
            item,
            OffsetBuffer::new(vec![0, 1, 2, 4].into()),
            Arc::new(Int64Array::from(values)),
            Some(valid),
        ))
    };
    let wanted = target(list(DataType::Int16), "SMALLINT[]");
    let made = converted(lists(vec![1, 1 << 40, 3, 4]), &wanted);
    let made = made.as_list::<i32>();
    assert_eq!(made.value(2).as_primitive::<Int16Type>().values(), &[3, 4]);
    assert!(made.is_null(1));
    assert_eq!(misfit(lists(vec![1, 2, 3, 1 << 40]), &wanted), 2);
    let fixed = DataType::FixedSizeList(Arc::new(Field::new("l", DataType::Int64, true)), 2);
    assert_eq!(misfit(lists(vec![1, 2, 3, 4]), &target(fixed, "BIGINT[2]")), 0);
}

#[test]
fn a_slice_of_a_list_is_converted_as_it_is() {
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1 << 40, 1 << 40, 3, 4]));
    let array: ArrayRef = Arc::new(FixedSizeListArray::new(item, 2, values, None));
    let fixed = DataType::FixedSizeList(Arc::new(Field::new("l", DataType::Int16, true)), 2);
    let made = converted(array.slice(1, 1), &target(fixed, "SMALLINT[2]"));
    assert_eq!(made.as_fixed_size_list().value(0).as_primitive::<Int16Type>().values(), &[3, 4]);
}

#[test]
fn a_struct_has_the_names_of_the_column() {
    let wanted_fields: Fields = vec![Field::new("x", DataType::Int64, true)].into();
    let wanted = target(DataType::Struct(wanted_fields), "STRUCT(x BIGINT)");
    let structs = |name: &str| -> ArrayRef {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![7, 8]));
        let fields: Fields = vec![Field::new(name, DataType::Int32, true)].into();
        Arc::new(StructArray::new(fields, vec![values], Some(vec![true, false].into())))
    };
    let made = converted(structs("x"), &wanted);
    let made = made.as_struct();
    assert_eq!((made.column(0).as_primitive::<Int64Type>().value(0), made.is_null(1)), (7, true));
    assert!(wanted.check(&field(&structs("y"))).is_err());
}

#[test]
fn what_no_column_can_hold_exactly_is_refused_before() {
    let refused = |data_type: DataType, wanted: &ArrayTarget| wanted.check(&Field::new("a", data_type, true)).is_err();
    assert!(refused(DataType::Float64, &target(DataType::Int64, "BIGINT")));
    assert!(refused(DataType::Int64, &target(DataType::Utf8, "VARCHAR")));
    assert!(refused(DataType::Utf8, &target(DataType::Int64, "BIGINT")));
    assert!(refused(DataType::Binary, &target(DataType::Utf8, "VARCHAR")));
    assert!(refused(list(DataType::Utf8), &target(DataType::Utf8, "VARCHAR")));
    assert!(!refused(DataType::Null, &target(DataType::Int64, "BIGINT")));
}
