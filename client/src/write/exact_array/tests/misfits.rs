//! Values out of their column's range, whether or not their type is the column's already, with the text of the error.

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Date64Array, Decimal128Array, Decimal256Array, DictionaryArray,
    DurationMicrosecondArray, DurationNanosecondArray, DurationSecondArray, FixedSizeListArray, Float64Array,
    Int64Array, IntervalMonthDayNanoArray, ListArray, StringArray, StructArray, Time32SecondArray,
    Time64NanosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, OffsetBuffer, i256};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};

use super::*;

/// The texts of the values in the type, or the error's text.
fn made(array: impl Array + 'static, to: &DataType) -> Result<Vec<String>, String> {
    let array: ArrayRef = Arc::new(array);
    let (field, target) = (field(&array), target(to.clone(), "T"));
    if target.check(&field).is_err() {
        return Err("never".to_owned());
    }
    let made = target.convert(&array, &field).map_err(|error| match error {
        ConversionError::Value(row, misfit) => misfit.at("a", row as u64 + 1).message().to_owned(),
        ConversionError::Types(error) => error.message().to_owned(),
    })?;
    assert_eq!(made.data_type(), to);
    Ok((0..made.len()).map(|row| array_value_to_string(&made, row).unwrap()).collect())
}

fn texts(texts: &[&str]) -> Result<Vec<String>, String> {
    Ok(texts.iter().map(|text| (*text).to_owned()).collect())
}

#[test]
fn integers_fit_or_are_named_with_their_row() {
    let numbers = UInt64Array::from(vec![Some(1), None, Some(1 << 63)]);
    let error = "column \"a\", row 3: 9223372036854775808 has no exact form in T";
    assert_eq!(made(numbers.clone(), &DataType::Int64).unwrap_err(), error);
    assert_eq!(made(numbers.slice(0, 2), &DataType::Int8), texts(&["1", ""]));
    assert_eq!(made(numbers.clone(), &DataType::Decimal128(38, 0)), texts(&["1", "", "9223372036854775808"]));
    assert_eq!(made(numbers, &DataType::Float64).unwrap().len(), 3);
    assert!(made(Int64Array::from(vec![(1 << 53) + 1]), &DataType::Float64).is_err());
    assert!(made(Int64Array::from(vec![(1 << 24) + 1]), &DataType::Float32).is_err());
    assert!(made(Int64Array::from(vec![i64::MAX]), &DataType::Float64).is_err());
    assert_eq!(made(Float64Array::from(vec![1.0]), &DataType::Int64).unwrap_err(), "never");
    assert_eq!(made(Float64Array::from(vec![0.5, f64::INFINITY]), &DataType::Float32), texts(&["0.5", "inf"]));
    assert!(made(Float64Array::from(vec![0.1]), &DataType::Float32).is_err());
    assert!(made(Float64Array::from(vec![1e300]), &DataType::Float32).is_err());
}

#[test]
fn decimals_keep_their_digits() {
    let decimals = |values: Vec<i128>, precision, scale| {
        Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap()
    };
    assert_eq!(made(decimals(vec![1230], 9, 3), &DataType::Decimal128(5, 2)), texts(&["1.23"]));
    assert!(made(decimals(vec![1234], 9, 3), &DataType::Decimal128(5, 2)).is_err());
    assert!(made(decimals(vec![100_000], 9, 2), &DataType::Decimal128(5, 2)).is_err());
    // Arrow does not stop a producer from more digits than the type has.
    assert!(made(decimals(vec![100_000], 5, 2), &DataType::Decimal128(5, 2)).is_err());
    assert_eq!(made(decimals(vec![-99_999], 5, 2), &DataType::Decimal128(5, 2)), texts(&["-999.99"]));
    assert_eq!(made(decimals(vec![12], 2, -2), &DataType::Decimal128(4, 0)), texts(&["1200"]));
    let wide = Decimal256Array::from(vec![i256::from_i128(i128::MAX)]).with_precision_and_scale(76, 0).unwrap();
    assert!(made(wide.clone(), &DataType::Decimal128(38, 0)).is_err());
    assert!(made(wide, &DataType::Decimal128(38, 38)).is_err());
}

#[test]
fn moments_stay_in_range() {
    let (us, zoned) = (DataType::Timestamp(TimeUnit::Microsecond, None), Some("UTC".into()));
    let seconds = TimestampSecondArray::from(vec![i64::MAX, -i64::MAX]);
    assert!(made(seconds, &us).is_ok(), "infinity");
    assert!(made(TimestampSecondArray::from(vec![i64::MAX - 1]), &us).is_err());
    assert!(made(TimestampSecondArray::from(vec![0]), &DataType::Timestamp(TimeUnit::Second, zoned)).is_err());
    for (value, is_right) in
        [(i64::MIN, false), (-9_223_372_022_400_000_001, false), (-9_223_372_022_400_000_000, true)]
    {
        assert_eq!(made(TimestampMicrosecondArray::from(vec![value]), &us).is_ok(), is_right, "{value}");
    }
    assert!(made(TimestampMicrosecondArray::from(vec![1]), &DataType::Timestamp(TimeUnit::Second, None)).is_err());
    let day = 86_400_000_000_000;
    let time = |value| made(Time64NanosecondArray::from(vec![value]), &DataType::Time64(TimeUnit::Microsecond)).is_ok();
    assert_eq!([-1000, 0, 1, 1000, day, day + 1000].map(time), [false, true, false, true, true, false]);
    assert!(made(Date32Array::from(vec![i32::MAX, -i32::MAX, i32::MIN + 2]), &DataType::Date32).is_ok());
    assert!(made(Date32Array::from(vec![i32::MIN]), &DataType::Date32).is_err());
    let date = |value| made(Date64Array::from(vec![value]), &DataType::Date32).is_ok();
    let infinity = i64::from(i32::MAX) * 86_400_000;
    assert_eq!(
        [0, 1, 86_400_000, infinity, -infinity, infinity - 86_400_000].map(date),
        [true, false, true, false, false, true]
    );
    assert!(
        made(TimestampNanosecondArray::from(vec![i64::MIN]), &DataType::Timestamp(TimeUnit::Nanosecond, None)).is_err()
    );
    let second = |value| made(Time32SecondArray::from(vec![value]), &DataType::Time32(TimeUnit::Second)).is_ok();
    assert_eq!([-1, 0, 86_400, 86_401].map(second), [false, true, true, false]);
    let interval = |nanos| {
        let array = IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, nanos)]);
        made(array, &DataType::Interval(IntervalUnit::MonthDayNano)).is_ok()
    };
    assert_eq!([1000, 1].map(interval), [true, false]);
}

#[test]
fn durations_are_whole_microseconds_that_an_interval_holds() {
    let (micros, seconds) = (DataType::Duration(TimeUnit::Microsecond), 2_562_047 * 3_600);
    let of = |value| made(DurationMicrosecondArray::from(vec![value]), &micros).is_ok();
    let longest = seconds * 1_000_000;
    assert_eq!([longest - 1, longest, -longest].map(of), [true, false, false]);
    let of = |value| made(DurationNanosecondArray::from(vec![value]), &micros).is_ok();
    assert_eq!([1_000, 1].map(of), [true, false]);
    let of =
        |value| made(DurationNanosecondArray::from(vec![value]), &DataType::Duration(TimeUnit::Nanosecond)).is_ok();
    assert_eq!([1_000, 1].map(of), [true, false]);
    let interval = DataType::Interval(IntervalUnit::MonthDayNano);
    let of = |value| made(DurationSecondArray::from(vec![value]), &interval).is_ok();
    assert_eq!([seconds - 1, seconds, i64::MIN].map(of), [true, false, false]);
}

#[test]
fn a_value_out_of_range_below_null_means_nothing() {
    let times = Time64NanosecondArray::new(vec![-1, 5].into(), Some(vec![false, true].into()));
    assert_eq!(made(times, &DataType::Time64(TimeUnit::Nanosecond)), texts(&["", "00:00:00.000000005"]));
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![i32::MIN, 0]));
    let fields = Fields::from(vec![Field::new("x", DataType::Date32, true)]);
    let rows = StructArray::new(fields.clone(), vec![dates], Some(vec![false, true].into()));
    assert_eq!(made(rows, &DataType::Struct(fields)), texts(&["", "{x: 1970-01-01}"]));
}

#[test]
fn the_first_row_of_a_struct_is_named() {
    let part = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let fields = |kind: &DataType| Fields::from(["x", "y"].map(|name| Field::new(name, kind.clone(), true)).to_vec());
    let rows = StructArray::new(fields(&DataType::Int64), vec![part(vec![1, 300]), part(vec![400, 1])], None);
    let error = made(rows, &DataType::Struct(fields(&DataType::Int8))).unwrap_err();
    assert_eq!(error, "column \"a\", row 1: 400 has no exact form in T");
}

#[test]
fn a_dictionary_of_lists_becomes_lists() {
    let mut lists = ListBuilder::new(Int64Builder::new());
    lists.append_value([Some(1)]);
    lists.append_value([Some(300)]);
    let keys = arrow_array::Int32Array::from(vec![Some(0), None, Some(1)]);
    let array = DictionaryArray::<Int32Type>::new(keys, Arc::new(lists.finish()));
    assert_eq!(made(array.clone(), &list_of(&DataType::Int16)), texts(&["[1]", "", "[300]"]));
    let error = made(array, &list_of(&DataType::Int8)).unwrap_err();
    assert_eq!(error, "column \"a\", row 3: 300 has no exact form in T");
}

#[test]
fn texts_become_uuids_and_dictionaries_plain() {
    let id = "123E4567-e89b-12d3-a456-426614174000";
    let made_ids = made(StringArray::from(vec![Some(id), None]), &DataType::FixedSizeBinary(16));
    assert_eq!(made_ids, texts(&["123e4567e89b12d3a456426614174000", ""]));
    let error = made(StringArray::from(vec![id, "123"]), &DataType::FixedSizeBinary(16)).unwrap_err();
    assert_eq!(error, "column \"a\", row 2: a text that is not a uuid of 36 characters");
    let words = DictionaryArray::<Int32Type>::from_iter([Some("x"), None, Some("x")]);
    assert_eq!(made(words, &DataType::Utf8), texts(&["x", "", "x"]));
}

fn list_of(item: &DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item.clone(), true)))
}

#[test]
fn an_item_is_named_by_the_row_of_its_list() {
    let mut lists = ListBuilder::new(Int64Builder::new());
    lists.append_value([Some(1), None]);
    lists.append_null();
    lists.append_value([]);
    lists.append_value([Some(2), Some(300)]);
    let lists = lists.finish();
    let error = made(lists.clone(), &list_of(&DataType::Int8)).unwrap_err();
    assert_eq!(error, "column \"a\", row 4: 300 has no exact form in T");
    // Rows of a slice are counted from its begin, and items outside of it have no meaning.
    let error = made(lists.slice(1, 3), &list_of(&DataType::Int8)).unwrap_err();
    assert_eq!(error, "column \"a\", row 3: 300 has no exact form in T");
    assert_eq!(made(lists.slice(0, 3), &list_of(&DataType::Int8)), texts(&["[1, ]", "", "[]"]));
}

#[test]
fn values_below_a_null_have_no_meaning() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 300, 400, 5, 6]));
    let nulls = Some(NullBuffer::from(vec![true, false, true]));
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let fixed = FixedSizeListArray::new(item.clone(), 2, numbers.clone(), nulls.clone());
    let to = DataType::FixedSizeList(Arc::new(Field::new_list_field(DataType::Int8, true)), 2);
    assert_eq!(made(fixed, &to), texts(&["[1, 2]", "", "[5, 6]"]));
    let lists = ListArray::new(item, OffsetBuffer::from_lengths([2, 2, 2]), numbers.clone(), nulls.clone());
    assert_eq!(made(lists, &list_of(&DataType::Int8)), texts(&["[1, 2]", "", "[5, 6]"]));
    let fields = Fields::from(vec![Field::new("x", DataType::Int64, true)]);
    let rows = StructArray::new(fields, vec![numbers.slice(1, 3)], nulls);
    let to = |name: &str| DataType::Struct(Fields::from(vec![Field::new(name, DataType::Int16, true)]));
    assert_eq!(made(rows.clone(), &to("x")), texts(&["{x: 2}", "", "{x: 400}"]));
    assert_eq!(made(rows, &to("y")).unwrap_err(), "never");
}
