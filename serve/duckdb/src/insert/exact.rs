//! Values that Arrow's types can hold and the column's type cannot. DuckDB does not check them: it stores 999999.99 of
//! a stream as 0.00 in a column of type DECIMAL(4,2), and a time of -1 microsecond as it is.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, IntervalMonthDayNanoType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use colonnade_server::SqlState;

/// The first value that its column cannot hold.
pub(super) struct InexactValue {
    /// Its row, from 0.
    pub row: usize,
    /// What is wrong, as the end of an error's message.
    pub what: String,
    pub code: SqlState,
}

const MICROS_PER_DAY: i64 = 86_400_000_000;
/// 290309-12-22 BC, the first timestamp of DuckDB.
const FIRST_TIMESTAMP: i64 = -9_223_372_022_400_000_000;
/// The type whose values are sent as decimals of 38 digits and may have 39.
const HUGEINT: &str = "HUGEINT";
/// The longest time part of an interval that COPY … TO sends, in nanoseconds: 2562047 hours (TYPES.md).
const LONGEST_TIME: i64 = 2_562_047 * 3_600_000_000_000;

/// Finds a value that a column of this type cannot hold. `type_name` is the engine's name of the whole column's type.
pub(super) fn misfit(array: &ArrayRef, type_name: &str) -> Option<InexactValue> {
    visible_misfit(array, type_name, &|_| true)
}

/// The same for the rows that are visible: values of a row whose parent is NULL mean nothing.
fn visible_misfit(array: &ArrayRef, type_name: &str, is_visible: &dyn Fn(usize) -> bool) -> Option<InexactValue> {
    let moment = |found: Option<(usize, i64)>, unit: &str| {
        found.map(|(row, value)| InexactValue {
            row,
            what: format!("{value} {unit} has no exact form in {type_name}"),
            code: SqlState::DATETIME_FIELD_OVERFLOW,
        })
    };
    match array.data_type() {
        DataType::Decimal128(38, 0) if type_name == HUGEINT => None,
        DataType::Decimal128(precision, _) => {
            let bound = 10u128.pow(u32::from(*precision));
            first::<Decimal128Type>(array, is_visible, |value| value.unsigned_abs() >= bound).map(|(row, value)| {
                InexactValue {
                    row,
                    what: format!("a decimal of the digits {value} has no exact form in {type_name}"),
                    code: SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                }
            })
        }
        DataType::Date32 => {
            let found = first::<Date32Type>(array, is_visible, |value| value == i32::MIN);
            moment(found.map(|(row, value)| (row, value.into())), "days since 1970")
        }
        DataType::Time64(TimeUnit::Microsecond) => moment(
            first::<Time64MicrosecondType>(array, is_visible, |value| !(0..=MICROS_PER_DAY).contains(&value)),
            "us",
        ),
        DataType::Time64(TimeUnit::Nanosecond) => {
            let day = MICROS_PER_DAY * 1000;
            moment(first::<Time64NanosecondType>(array, is_visible, |value| !(0..=day).contains(&value)), "ns")
        }
        DataType::Timestamp(TimeUnit::Second, _) => moment(
            first::<TimestampSecondType>(array, is_visible, |value| !is_timestamp(value, 1_000_000)),
            "s since 1970",
        ),
        DataType::Timestamp(TimeUnit::Millisecond, _) => moment(
            first::<TimestampMillisecondType>(array, is_visible, |value| !is_timestamp(value, 1_000)),
            "ms since 1970",
        ),
        DataType::Timestamp(TimeUnit::Microsecond, _) => moment(
            first::<TimestampMicrosecondType>(array, is_visible, |value| !is_timestamp(value, 1)),
            "us since 1970",
        ),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            moment(first::<TimestampNanosecondType>(array, is_visible, |value| value == i64::MIN), "ns since 1970")
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let is_wrong = |nanos: i64| nanos % 1000 != 0 || nanos.unsigned_abs() >= LONGEST_TIME.unsigned_abs();
            let found = first::<IntervalMonthDayNanoType>(array, is_visible, |value| is_wrong(value.nanoseconds));
            moment(found.map(|(row, value)| (row, value.nanoseconds)), "ns")
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let row_of = |item| row_of(list.value_offsets(), item);
            let is_visible = |item| list.is_valid(row_of(item)) && is_visible(row_of(item));
            let found = visible_misfit(list.values(), type_name, &is_visible)?;
            Some(InexactValue { row: row_of(found.row), ..found })
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let row_of = |item| row_of(map.value_offsets(), item);
            let is_visible = |item| map.is_valid(row_of(item)) && is_visible(row_of(item));
            let columns = map.entries().columns().iter();
            let found = columns.filter_map(|column| visible_misfit(column, type_name, &is_visible));
            let found = found.min_by_key(|found| found.row)?;
            Some(InexactValue { row: row_of(found.row), ..found })
        }
        DataType::FixedSizeList(_, size) => {
            let list = array.as_fixed_size_list();
            let row_of = |item| item / (*size).max(1) as usize;
            let is_visible = |item| list.is_valid(row_of(item)) && is_visible(row_of(item));
            let found = visible_misfit(list.values(), type_name, &is_visible)?;
            Some(InexactValue { row: row_of(found.row), ..found })
        }
        DataType::Struct(_) => {
            let parent = array.as_struct();
            let is_visible = |row| parent.is_valid(row) && is_visible(row);
            let found = parent.columns().iter().filter_map(|column| visible_misfit(column, type_name, &is_visible));
            found.min_by_key(|found| found.row)
        }
        _ => None,
    }
}

/// The row of a list's item: the last one that begins before it or with it.
fn row_of(offsets: &[i32], item: usize) -> usize {
    offsets.partition_point(|&offset| offset as usize <= item).saturating_sub(1)
}

/// Infinity, or a timestamp of DuckDB's.
fn is_timestamp(value: i64, micros: i64) -> bool {
    value.unsigned_abs() == i64::MAX.unsigned_abs()
        || value.checked_mul(micros).is_some_and(|value| (FIRST_TIMESTAMP..i64::MAX).contains(&value))
}

/// The first value that is wrong, visible and not NULL, with its row.
fn first<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    is_visible: &dyn Fn(usize) -> bool,
    is_wrong: impl Fn(T::Native) -> bool,
) -> Option<(usize, T::Native)> {
    let array = array.as_primitive::<T>();
    // Without a branch for each value, because usually all are right.
    if !array.values().iter().fold(false, |any, value| any | is_wrong(*value)) {
        return None;
    }
    let row = (0..array.len()).find(|&row| array.is_valid(row) && is_wrong(array.value(row)) && is_visible(row))?;
    Some((row, array.value(row)))
}
