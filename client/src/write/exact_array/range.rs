//! The values that a column can hold of those that its Arrow type can. Neither DuckDB's library nor Arrow checks them.

use std::ops::RangeInclusive;

use arrow_array::{ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{IntervalMonthDayNano, i256};
use arrow_schema::{DataType, TimeUnit};

use crate::write::kind::per_second;
use crate::write::values::ColumnValues;

/// DuckDB's name of a type whose values are sent as decimals of 38 digits and may have 39.
const HUGEINT: &str = "HUGEINT";
/// The first timestamp that DuckDB has, in microseconds. It stores earlier ones from Arrow, too, but a cast of one to
/// text is then a fatal error, after which the database must be opened again (DuckDB 2.0.0).
const FIRST_MOMENT: i64 = -9_223_372_022_400_000_000;
/// Seconds.
const DAY: i64 = 86_400;
/// The seconds from which on the time part of an interval is not read: 2562047 hours (TYPES.md).
const LONGEST_TIME: i64 = 2_562_047 * 3_600;

/// Whether all values, which have the column's type, are in its range. Values of rows that are NULL count, too, so that
/// no value needs a branch: if it says no, the rows have to be looked at.
pub(super) fn are_all_in(values: &ColumnValues, target: &DataType, own_name: &str) -> bool {
    match (values, target) {
        (ColumnValues::Decimal(values), DataType::Decimal128(precision, _)) => {
            let digits = digits(*precision, own_name).and_then(|digits| 10_i128.checked_pow(digits.into()));
            digits.is_none_or(|limit| all(values, |value| value > -limit && value < limit))
        }
        (ColumnValues::WideDecimal(values), DataType::Decimal256(precision, _)) => {
            let limit = i256::from_i128(10).checked_pow(u32::from(*precision));
            limit.is_none_or(|limit| all(values, |value| value > limit.wrapping_neg() && value < limit))
        }
        (ColumnValues::Integer(values), DataType::Date32) => all(values, is_date),
        (ColumnValues::Integer(values), DataType::Time32(unit) | DataType::Time64(unit)) => {
            let range = times(per_second(*unit));
            all(values, |value| range.contains(&value))
        }
        (ColumnValues::Integer(values), DataType::Timestamp(unit, _)) => {
            let range = timestamps(per_second(*unit));
            all(values, |value| range.contains(&value) | is_infinite(value))
        }
        (ColumnValues::Integer(values), DataType::Duration(unit)) => {
            let range = durations(per_second(*unit));
            let finer = if *unit == TimeUnit::Nanosecond { 1_000 } else { 1 };
            all(values, |value| range.contains(&value) & (value % finer == 0))
        }
        (ColumnValues::Interval(values), DataType::Interval(_)) => all(values, is_interval),
        _ => true,
    }
}

fn all<T: ArrowPrimitiveType>(values: &PrimitiveArray<T>, is_right: impl Fn(T::Native) -> bool) -> bool {
    values.values().iter().fold(true, |all, value| all & is_right(*value))
}

/// Whether arrays of a type can have values that are out of its range.
pub(super) fn has_range(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(
        data_type,
        D::Decimal128(..)
            | D::Decimal256(..)
            | D::Date32
            | D::Time32(_)
            | D::Time64(_)
            | D::Timestamp(..)
            | D::Duration(_)
            | D::Interval(_)
    )
}

/// The most digits of a decimal; `None` if its 128 bits may have all.
pub(super) fn digits(precision: u8, own_name: &str) -> Option<u8> {
    (own_name != HUGEINT).then_some(precision)
}

/// Whether days since 1970 are a date. The largest and the smallest of these mean infinity (TYPES.md).
pub(super) fn is_date(days: i64) -> bool {
    (-i64::from(i32::MAX)..=i64::from(i32::MAX)).contains(&days)
}

/// The times from 0:00 to 24:00, in units of which a second has `per_second`.
pub(super) fn times(per_second: i64) -> RangeInclusive<i64> {
    0..=DAY * per_second
}

/// The timestamps that are not infinite.
pub(super) fn timestamps(per_second: i64) -> RangeInclusive<i64> {
    match 1_000_000 / per_second {
        0 => -(i64::MAX - 1)..=i64::MAX - 1,
        micros => FIRST_MOMENT / micros..=(i64::MAX - 1) / micros,
    }
}

/// The largest and the smallest number mean infinity in each unit (TYPES.md).
pub(super) fn is_infinite(timestamp: i64) -> bool {
    timestamp == i64::MAX || timestamp == -i64::MAX
}

/// The durations that an interval holds, in units of which a second has at most 10^9.
pub(super) fn durations(per_second: i64) -> RangeInclusive<i64> {
    let limit = LONGEST_TIME * per_second;
    -limit + 1..=limit - 1
}

/// Whether an interval is one of whole microseconds that can be read.
pub(super) fn is_interval(value: IntervalMonthDayNano) -> bool {
    value.nanoseconds % 1_000 == 0 && durations(1_000_000_000).contains(&value.nanoseconds)
}
