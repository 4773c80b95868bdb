#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Date64Array, Decimal128Array, Decimal256Array, DictionaryArray, FixedSizeListArray,
    Float64Array, Int64Array, IntervalMonthDayNanoArray, ListArray, StringArray, StructArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, OffsetBuffer, i256};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};

use super::*;

/// The texts of the values in the type, or the error's text.
fn made(array: impl Array + 'static, to: &DataType) -> Result<Vec<String>, String> {
    let array: ArrayRef = Arc::new(array);
    if !array::can_fit(array.data_type(), to) {
        return Err("never".to_owned());
    }
    let made = array::fit(&array, to, None, "T").map_err(|unfit| match unfit {
        Unfit::Value(row, misfit) => misfit.at("a", row as u64 + 1).message().to_owned(),
        Unfit::Failed(cause) => cause,
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
    let interval = |nanos| {
        let array = IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, nanos)]);
        made(array, &DataType::Interval(IntervalUnit::MonthDayNano)).is_ok()
    };
    assert_eq!([1000, 1].map(interval), [true, false]);
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

#[test]
fn rows_are_counted_over_all_batches() {
    let batch =
        |values: Vec<i64>| RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(values)) as ArrayRef)]).unwrap();
    let batches = [batch(vec![1, 2]), batch(vec![3, 70_000])];
    let target = Fields::from(vec![Field::new("other", DataType::Int16, true)]);
    let source = Box::new(Batches(batches[0].schema(), batches.into_iter()));
    let mut rows = fitted(source, &target, vec!["SMALLINT".to_owned()]).unwrap();
    assert_eq!(rows.schema().field(0).name(), "n");
    let first = rows.next(&mut || true).unwrap().unwrap().decode().unwrap();
    assert_eq!(first.column(0).data_type(), &DataType::Int16);
    let error = rows.next(&mut || true).err().unwrap();
    assert_eq!(error.message(), "column \"n\", row 4: 70000 has no exact form in SMALLINT");
    assert_eq!(error.sqlstate(), Some("22003"));
}

#[test]
fn the_first_row_is_named() {
    let columns = [("a", vec![1, 300, 300]), ("b", vec![300, 1, 1]), ("c", vec![300, 300, 300])];
    let columns = columns.map(|(name, values)| (name, Arc::new(Int64Array::from(values)) as ArrayRef));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let target = Fields::from(vec![Field::new("n", DataType::Int8, true); 3]);
    let source = Box::new(Batches(batch.schema(), [batch.clone(), batch].into_iter()));
    let mut rows = fitted(source, &target, vec!["TINYINT".to_owned(); 3]).unwrap();
    let error = rows.next(&mut || true).err().unwrap();
    assert_eq!(error.message(), "column \"b\", row 1: 300 has no exact form in TINYINT");
}

#[test]
fn a_type_that_never_fits_is_refused_before_a_row() {
    let batch = RecordBatch::try_from_iter([("n", Arc::new(StringArray::from(vec!["1"])) as ArrayRef)]).unwrap();
    let target = Fields::from(vec![Field::new("n", DataType::Int16, true)]);
    let source = Box::new(Batches(batch.schema(), [batch.clone(), batch].into_iter()));
    let error = fitted(source, &target, vec!["SMALLINT".to_owned()]).err().unwrap();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Unsupported, Some("0A000")));
    assert!(error.message().starts_with("column \"n\": a column of type SMALLINT"), "{}", error.message());
}

struct Batches(SchemaRef, std::array::IntoIter<RecordBatch, 2>);

impl ResultStream for Batches {
    fn schema(&self) -> &SchemaRef {
        &self.0
    }

    fn next(&mut self, _: Keep<'_>) -> Result<Option<Batch>, Error> {
        Ok(self.1.next().map(Batch::from))
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}
