//! Arrow's values as a query's parameters.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, TimeUnit};
use colonnade_client::{Date, Time, Value};

const DAY: i64 = 86_400_000_000;
const MICROSECONDS: i64 = 1_000_000;

/// The value in a row of an array of the field's type.
///
/// # Errors
/// The value or the type has no form as a parameter; the text says what to do.
pub(crate) fn value(field: &Field, array: &dyn Array, row: usize) -> Result<Value, String> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => integer::<Int8Type>(array, row),
        DataType::Int16 => integer::<Int16Type>(array, row),
        DataType::Int32 => integer::<Int32Type>(array, row),
        DataType::Int64 => integer::<Int64Type>(array, row),
        DataType::UInt8 => integer::<UInt8Type>(array, row),
        DataType::UInt16 => integer::<UInt16Type>(array, row),
        DataType::UInt32 => integer::<UInt32Type>(array, row),
        DataType::UInt64 => integer::<UInt64Type>(array, row),
        DataType::Float16 => Value::Float(native::<Float16Type>(array, row).to_f64()),
        DataType::Float32 => Value::Float(native::<Float32Type>(array, row).into()),
        DataType::Float64 => Value::Float(native::<Float64Type>(array, row)),
        DataType::Decimal32(_, scale) => decimal(native::<Decimal32Type>(array, row).into(), *scale)?,
        DataType::Decimal64(_, scale) => decimal(native::<Decimal64Type>(array, row).into(), *scale)?,
        DataType::Decimal128(_, scale) => decimal(native::<Decimal128Type>(array, row), *scale)?,
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(row).to_vec()),
        DataType::FixedSizeBinary(_) => fixed(field, array.as_fixed_size_binary().value(row)),
        DataType::Date32 => Value::Date(date(native::<Date32Type>(array, row).into())?),
        DataType::Date64 => {
            let (date, time) = moment(native::<Date64Type>(array, row), TimeUnit::Millisecond)?;
            if time != MIDNIGHT {
                return Err("a date64 must be a whole number of days".to_owned());
            }
            Value::Date(date)
        }
        DataType::Time32(TimeUnit::Second) => time(native::<Time32SecondType>(array, row).into(), TimeUnit::Second)?,
        DataType::Time32(_) => time(native::<Time32MillisecondType>(array, row).into(), TimeUnit::Millisecond)?,
        DataType::Time64(TimeUnit::Nanosecond) => {
            time(native::<Time64NanosecondType>(array, row), TimeUnit::Nanosecond)?
        }
        DataType::Time64(_) => time(native::<Time64MicrosecondType>(array, row), TimeUnit::Microsecond)?,
        DataType::Timestamp(unit, zone) => {
            let (date, time) = moment(timestamp(array, row, *unit), *unit)?;
            if zone.is_some() { Value::Instant(date, time) } else { Value::Timestamp(date, time) }
        }
        DataType::Duration(unit) => {
            Value::Duration { days: 0, microseconds: microseconds(duration(array, row, *unit), *unit)? }
        }
        DataType::List(item) => list(item, &array.as_list::<i32>().value(row))?,
        DataType::LargeList(item) => list(item, &array.as_list::<i64>().value(row))?,
        DataType::FixedSizeList(item, _) => list(item, &array.as_fixed_size_list().value(row))?,
        other => {
            return Err(format!("a value of type {other} cannot be bound: bind its text, and cast it in the query"));
        }
    })
}

const MIDNIGHT: Time = Time { hour: 0, minute: 0, second: 0, microsecond: 0 };

fn native<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn integer<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &dyn Array, row: usize) -> Value {
    Value::Integer(native::<T>(array, row).into())
}

fn decimal(unscaled: i128, scale: i8) -> Result<Value, String> {
    let scale = u8::try_from(scale).map_err(|_| "a decimal's scale must not be negative: cast it".to_owned())?;
    Ok(Value::Decimal { unscaled, scale })
}

fn fixed(field: &Field, bytes: &[u8]) -> Value {
    let is_uuid = field.metadata().get(EXTENSION_TYPE_NAME_KEY).is_some_and(|name| name == "arrow.uuid");
    match <[u8; 16]>::try_from(bytes) {
        Ok(uuid) if is_uuid => Value::Uuid(uuid),
        _ => Value::Bytes(bytes.to_vec()),
    }
}

fn list(item: &Field, values: &dyn Array) -> Result<Value, String> {
    (0..values.len()).map(|row| value(item, values, row)).collect::<Result<_, _>>().map(Value::List)
}

fn timestamp(array: &dyn Array, row: usize, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => native::<TimestampSecondType>(array, row),
        TimeUnit::Millisecond => native::<TimestampMillisecondType>(array, row),
        TimeUnit::Microsecond => native::<TimestampMicrosecondType>(array, row),
        TimeUnit::Nanosecond => native::<TimestampNanosecondType>(array, row),
    }
}

fn duration(array: &dyn Array, row: usize, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => native::<DurationSecondType>(array, row),
        TimeUnit::Millisecond => native::<DurationMillisecondType>(array, row),
        TimeUnit::Microsecond => native::<DurationMicrosecondType>(array, row),
        TimeUnit::Nanosecond => native::<DurationNanosecondType>(array, row),
    }
}

fn microseconds(count: i64, unit: TimeUnit) -> Result<i64, String> {
    let product = match unit {
        TimeUnit::Second => count.checked_mul(MICROSECONDS),
        TimeUnit::Millisecond => count.checked_mul(1000),
        TimeUnit::Microsecond => Some(count),
        TimeUnit::Nanosecond if count % 1000 == 0 => Some(count / 1000),
        TimeUnit::Nanosecond => return Err("it has nanoseconds, and databases have microseconds: round it".to_owned()),
    };
    product.ok_or_else(|| "it has more than 64 bits of microseconds".to_owned())
}

fn moment(count: i64, unit: TimeUnit) -> Result<(Date, Time), String> {
    let microseconds = microseconds(count, unit)?;
    Ok((date(microseconds.div_euclid(DAY))?, of_day(microseconds.rem_euclid(DAY))))
}

fn time(count: i64, unit: TimeUnit) -> Result<Value, String> {
    let microseconds = microseconds(count, unit)?;
    if !(0..DAY).contains(&microseconds) {
        return Err("a time of day must be less than 24 hours".to_owned());
    }
    Ok(Value::Time(of_day(microseconds), None))
}

fn of_day(microseconds: i64) -> Time {
    let seconds = microseconds / MICROSECONDS;
    Time {
        hour: (seconds / 3600) as u8,
        minute: (seconds / 60 % 60) as u8,
        second: (seconds % 60) as u8,
        microsecond: (microseconds % MICROSECONDS) as u32,
    }
}

fn date(days: i64) -> Result<Date, String> {
    let error = "its year is not between 1 and 9999: bind its text, and cast it in the query";
    Date::from_days(days).ok_or_else(|| error.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow_array::{Decimal128Array, Int64Array, ListArray, StringViewArray, TimestampNanosecondArray, UInt64Array};

    use super::*;

    fn first(array: &dyn Array) -> Result<Value, String> {
        value(&Field::new("", array.data_type().clone(), true), array, 0)
    }

    fn day(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }

    #[test]
    fn days_are_dates() {
        for (days, expected) in [
            (0, day(1970, 1, 1)),
            (-1, day(1969, 12, 31)),
            (11_016, day(2000, 2, 29)),
            (19_782, day(2024, 2, 29)),
            (-719_162, day(1, 1, 1)),
            (2_932_896, day(9999, 12, 31)),
        ] {
            assert_eq!(date(days).unwrap(), expected);
        }
        assert!(date(-719_163).is_err());
        assert!(date(2_932_897).is_err());
    }

    #[test]
    fn values_keep_their_meaning() {
        assert_eq!(first(&Int64Array::from(vec![i64::MIN])).unwrap(), Value::Integer(i64::MIN.into()));
        assert_eq!(first(&UInt64Array::from(vec![u64::MAX])).unwrap(), Value::Integer(u64::MAX.into()));
        assert_eq!(first(&StringViewArray::from(vec!["ß"])).unwrap(), Value::Text("ß".to_owned()));
        assert_eq!(first(&Int64Array::from(vec![None])).unwrap(), Value::Null);
        let decimal = Decimal128Array::from(vec![-150]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(first(&decimal).unwrap(), Value::Decimal { unscaled: -150, scale: 2 });
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None])]);
        assert_eq!(first(&list).unwrap(), Value::List(vec![Value::Integer(1), Value::Null]));
    }

    #[test]
    fn moments_before_1970_and_nanoseconds() {
        let before = TimestampNanosecondArray::from(vec![-1000]);
        let time = Time { hour: 23, minute: 59, second: 59, microsecond: 999_999 };
        assert_eq!(first(&before).unwrap(), Value::Timestamp(day(1969, 12, 31), time));
        assert_eq!(first(&before.with_timezone("Europe/Berlin")).unwrap(), Value::Instant(day(1969, 12, 31), time));
        let error = first(&TimestampNanosecondArray::from(vec![1])).unwrap_err();
        assert!(error.contains("round it"), "{error}");
    }
}
