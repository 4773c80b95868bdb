use std::sync::Arc;

use arrow_array::builder::{Date32Builder, ListBuilder};
use arrow_array::{ArrayRef, Date32Array, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray};
use arrow_array::{TimestampSecondArray, types::Int32Type};
use arrow_schema::Field;

use super::*;

const PYTHON: Gaps = Gaps { midnight: true, years: Some((1, 9999)), seconds: false, only_nested: false };
const DAY: i64 = 86_400_000_000;

#[test]
fn days_and_years_agree() {
    for (first, day) in
        [(1970, 0), (1, -719_162), (10_000, 2_932_897), (0, -719_528), (2000, 10_957), (-4712, -2_440_550)]
    {
        assert_eq!((first_day(first), year(day), year(day - 1)), (day, first, first - 1), "{first}");
    }
    assert_eq!(year(i128::from(i32::MAX)), 5_881_580);
}

#[test]
fn a_time_and_the_limits_of_years() {
    let times = |values: Vec<Option<i64>>| PYTHON.find(&Time64MicrosecondArray::from(values));
    assert_eq!(times(vec![Some(DAY - 1), None]), None);
    assert_eq!(times(vec![None, Some(DAY)]), Some("the time 24:00:00".to_owned()));
    let dates = |value: i32| PYTHON.find(&Date32Array::from(vec![Some(value), None]));
    assert_eq!((dates(-719_162), dates(2_932_896)), (None, None));
    assert_eq!(dates(-719_163), Some("a date of the year 0".to_owned()));
    assert_eq!(dates(2_932_897), Some("a date of the year 10000".to_owned()));
    assert_eq!(dates(-i32::MAX), Some("an infinite date".to_owned()));
    let moments = |value: i64| PYTHON.find(&TimestampMicrosecondArray::from(vec![value]));
    assert_eq!(moments(2_932_897 * DAY - 1), None);
    assert_eq!(moments(2_932_897 * DAY), Some("a timestamp of the year 10000".to_owned()));
    assert_eq!(moments(i64::MAX), Some("an infinite timestamp".to_owned()));
}

#[test]
fn seconds_have_room_in_milliseconds_or_not() {
    let gaps = Gaps { seconds: true, ..Gaps::default() };
    let find = |value: i64| gaps.find(&TimestampSecondArray::from(vec![value]));
    assert_eq!((find(i64::MAX / 1_000), find(-i64::MAX / 1_000)), (None, None));
    assert!(find(i64::MAX / 1_000 + 1).is_some_and(|what| what.starts_with("a timestamp of the year ")));
    assert_eq!(find(i64::MAX), Some("an infinite timestamp".to_owned()));
    assert_eq!(gaps.find(&TimestampMicrosecondArray::from(vec![i64::MAX])), None);
}

#[test]
fn what_lies_below_null_is_no_value() {
    let times: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![DAY, 1]));
    let field = Arc::new(Field::new("t", times.data_type().clone(), true));
    let pairs = |valid: Vec<bool>| {
        StructArray::new(vec![field.clone()].into(), vec![times.clone()], Some(NullBuffer::from(valid)))
    };
    assert_eq!(PYTHON.find(&pairs(vec![false, true])), None);
    assert!(PYTHON.find(&pairs(vec![true, true])).is_some());
    assert!(PYTHON.find(&pairs(vec![true, true]).slice(1, 1)).is_none());
}

#[test]
fn lists_are_searched_within_their_bounds() {
    let mut builder = ListBuilder::new(Date32Builder::new());
    builder.append_value([Some(i32::MAX), Some(0)]);
    builder.append_value([Some(1), None]);
    builder.append_null();
    let lists = builder.finish();
    assert_eq!(PYTHON.find(&lists), Some("an infinite date".to_owned()));
    assert_eq!(PYTHON.find(&lists.slice(1, 2)), None);
    let nested = Gaps { only_nested: true, ..PYTHON };
    assert!(nested.find(&lists).is_some());
    assert!(nested.find(lists.values()).is_none());
    assert!(!nested.concern(&arrow_schema::DataType::Date32));
    assert!(!PYTHON.concern(arrow_array::Int32Array::from(vec![1]).data_type()), "{:?}", Int32Type::DATA_TYPE);
}
