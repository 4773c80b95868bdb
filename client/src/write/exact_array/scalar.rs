//! Single values: which types accept which, and columns of single values.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, PrimitiveBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNanoType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

use super::nested::{broken, cast};
use super::value::Source;
use super::{ConversionError, TypeNames, range};
use crate::parameter;
use crate::write::kind::{ColumnMeaning, per_second};
use crate::write::misfit::ValueMisfit;
use crate::write::uuid::uuid;
use crate::write::values::{ColumnValues, Scalar, decimal_scale};
use crate::{Error, ErrorKind};

/// DuckDB's name of a type whose values are sent as texts.
const UUID: &str = "UUID";
/// Those of whole numbers that are sent as texts.
const WHOLE: [&str; 2] = ["UHUGEINT", "BIGNUM"];

/// Whether a column that is sent as `target` can hold such values exactly, or refuses them one by one.
pub(super) fn accepts(meaning: &ColumnMeaning, target: &Field, type_name: &str) -> bool {
    use ColumnMeaning as M;
    match target.data_type() {
        DataType::Boolean => *meaning == M::Bool,
        target if target.is_integer() => matches!(meaning, M::Integer { .. }),
        DataType::Float32 | DataType::Float64 => matches!(meaning, M::Float { .. } | M::Integer { .. }),
        DataType::Decimal128(..) | DataType::Decimal256(..) => matches!(meaning, M::Integer { .. } | M::Decimal { .. }),
        DataType::Utf8 if type_name == UUID => matches!(meaning, M::Uuid | M::Text),
        DataType::Utf8 if WHOLE.contains(&type_name) => {
            matches!(meaning, M::Integer { .. } | M::Decimal { .. } | M::Text)
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => matches!(meaning, M::Text | M::Json),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => *meaning == M::Bytes,
        DataType::FixedSizeBinary(16) if ColumnMeaning::of(target).is_ok_and(|wanted| wanted == M::Uuid) => {
            matches!(meaning, M::Uuid | M::Text)
        }
        DataType::Date32 => matches!(meaning, M::Date { .. }),
        DataType::Time32(_) | DataType::Time64(_) => matches!(meaning, M::Time { .. }),
        DataType::Timestamp(_, zone) => matches!(meaning, M::Timestamp { zoned, .. } if *zoned == zone.is_some()),
        DataType::Duration(_) => matches!(meaning, M::Duration { .. }),
        DataType::Interval(IntervalUnit::MonthDayNano) => matches!(meaning, M::Interval | M::Duration { .. }),
        DataType::Dictionary(_, values) => **values == DataType::Utf8 && *meaning == M::Text,
        _ => false,
    }
}

pub(super) fn convert(
    array: &ArrayRef,
    field: &Field,
    target: &DataType,
    names: TypeNames<'_>,
) -> Result<ArrayRef, ConversionError> {
    // A text for a UUID has several forms.
    let is_same = is_same_type(field.data_type(), target) && !(*target == DataType::Utf8 && names.own == UUID);
    if is_same && !range::has_range(target) {
        return Ok(array.clone());
    }
    let source = Source {
        values: ColumnValues::of(array).map_err(ConversionError::Types)?,
        meaning: ColumnMeaning::of(field).map_err(ConversionError::Types)?,
        scale: decimal_scale(field.data_type()),
        rows: array.len(),
        names,
    };
    if is_same && range::are_all_in(&source.values, target, names.own) {
        return labelled(array.clone(), target, field);
    }
    let made = match target {
        DataType::Boolean => booleans(&source),
        DataType::Int8 => integers::<Int8Type>(&source),
        DataType::Int16 => integers::<Int16Type>(&source),
        DataType::Int32 => integers::<Int32Type>(&source),
        DataType::Int64 => integers::<Int64Type>(&source),
        DataType::UInt8 => integers::<UInt8Type>(&source),
        DataType::UInt16 => integers::<UInt16Type>(&source),
        DataType::UInt32 => integers::<UInt32Type>(&source),
        DataType::UInt64 => integers::<UInt64Type>(&source),
        DataType::Float32 => primitives::<Float32Type>(&source, |value| source.float32(value)),
        DataType::Float64 => primitives::<Float64Type>(&source, |value| source.float64(value)),
        DataType::Decimal128(precision, scale) => {
            let precision = range::digits(*precision, names.own);
            primitives::<Decimal128Type>(&source, |value| {
                let number = source.decimal(value, precision, *scale)?;
                number.to_i128().ok_or_else(|| source.misfit(number))
            })
        }
        DataType::Decimal256(precision, scale) => {
            primitives::<Decimal256Type>(&source, |value| source.decimal(value, Some(*precision), *scale))
        }
        DataType::Utf8 => texts(&source),
        DataType::Binary => bytes(&source),
        DataType::FixedSizeBinary(16) => uuids(&source),
        DataType::LargeUtf8 | DataType::Utf8View | DataType::LargeBinary | DataType::BinaryView => {
            return cast(array, target, field);
        }
        DataType::Date32 => primitives::<Date32Type>(&source, |value| source.date(value)),
        DataType::Time32(TimeUnit::Second) => {
            primitives::<Time32SecondType>(&source, |value| source.time(value, 1).map(|time| time as i32))
        }
        DataType::Time32(_) => {
            primitives::<Time32MillisecondType>(&source, |value| source.time(value, 1_000).map(|time| time as i32))
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            primitives::<Time64NanosecondType>(&source, |value| source.time(value, 1_000_000_000))
        }
        DataType::Time64(_) => primitives::<Time64MicrosecondType>(&source, |value| source.time(value, 1_000_000)),
        DataType::Timestamp(TimeUnit::Second, _) => timestamps::<TimestampSecondType>(&source, TimeUnit::Second),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            timestamps::<TimestampMillisecondType>(&source, TimeUnit::Millisecond)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            timestamps::<TimestampMicrosecondType>(&source, TimeUnit::Microsecond)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            timestamps::<TimestampNanosecondType>(&source, TimeUnit::Nanosecond)
        }
        DataType::Duration(TimeUnit::Second) => durations::<DurationSecondType>(&source, TimeUnit::Second),
        DataType::Duration(TimeUnit::Millisecond) => {
            durations::<DurationMillisecondType>(&source, TimeUnit::Millisecond)
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            durations::<DurationMicrosecondType>(&source, TimeUnit::Microsecond)
        }
        DataType::Duration(TimeUnit::Nanosecond) => durations::<DurationNanosecondType>(&source, TimeUnit::Nanosecond),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            primitives::<IntervalMonthDayNanoType>(&source, |value| source.interval(value))
        }
        DataType::Dictionary(index, _) => match **index {
            DataType::UInt8 => labels::<UInt8Type>(&source),
            DataType::UInt16 => labels::<UInt16Type>(&source),
            _ => labels::<UInt32Type>(&source),
        },
        _ => {
            let message = format!("column {:?}: no value can be written as {target}", field.name());
            return Err(ConversionError::Types(Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000")));
        }
    };
    let made = made.map_err(|(row, misfit)| ConversionError::Value(row, misfit))?;
    labelled(made, target, field)
}

/// Whether values of both types are the same in Arrow's memory. A time zone is only a way to show values.
fn is_same_type(given: &DataType, target: &DataType) -> bool {
    match (given, target) {
        (DataType::Timestamp(unit, zone), DataType::Timestamp(wanted, wanted_zone)) => {
            unit == wanted && zone.is_some() == wanted_zone.is_some()
        }
        // The labels of an enum arrive as a new dictionary for each chunk.
        (DataType::Dictionary(..), _) => false,
        _ => given == target,
    }
}

/// The array with the type's parameters, which decimals and timestamps have in addition to their values.
fn labelled(array: ArrayRef, target: &DataType, field: &Field) -> Result<ArrayRef, ConversionError> {
    if array.data_type() == target {
        return Ok(array);
    }
    let data = array.to_data().into_builder().data_type(target.clone()).build();
    data.map(make_array).map_err(|cause| broken(field, &cause))
}

/// An array, or the row of a value that is not exact in it.
type Made = Result<ArrayRef, (usize, ValueMisfit)>;

fn primitives<T: ArrowPrimitiveType>(
    source: &Source<'_>,
    value_of: impl Fn(Scalar<'_>) -> Result<T::Native, ValueMisfit>,
) -> Made {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(source.rows);
    for row in 0..source.rows {
        match source.values.get(row) {
            Scalar::Null => builder.append_null(),
            value => builder.append_value(value_of(value).map_err(|misfit| (row, misfit))?),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn integers<T: ArrowPrimitiveType<Native: TryFrom<i64> + TryFrom<u64>>>(source: &Source<'_>) -> Made {
    primitives::<T>(source, |value| match value {
        Scalar::Integer(number) => T::Native::try_from(number).map_err(|_| source.misfit(number)),
        Scalar::Unsigned(number) => T::Native::try_from(number).map_err(|_| source.misfit(number)),
        _ => source.other(),
    })
}

fn timestamps<T: ArrowPrimitiveType<Native = i64>>(source: &Source<'_>, unit: TimeUnit) -> Made {
    primitives::<T>(source, |value| source.timestamp(value, per_second(unit)))
}

fn durations<T: ArrowPrimitiveType<Native = i64>>(source: &Source<'_>, unit: TimeUnit) -> Made {
    primitives::<T>(source, |value| source.duration(value, per_second(unit)))
}

fn booleans(source: &Source<'_>) -> Made {
    let mut builder = BooleanBuilder::with_capacity(source.rows);
    for row in 0..source.rows {
        match source.values.get(row) {
            Scalar::Null => builder.append_null(),
            Scalar::Bool(value) => builder.append_value(value),
            _ => return source.other().map_err(|misfit| (row, misfit)),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn texts(source: &Source<'_>) -> Made {
    let mut builder = StringBuilder::new();
    let mut bytes = 0;
    for row in 0..source.rows {
        let at = |misfit| (row, misfit);
        let made;
        let text = match source.values.get(row) {
            Scalar::Null => {
                builder.append_null();
                continue;
            }
            Scalar::Text(text) if source.names.own == UUID => {
                made = parameter::uuid(uuid_of(text).map_err(at)?);
                &made
            }
            Scalar::Text(text) => text,
            Scalar::Bytes(bytes) => {
                made = parameter::uuid(bytes.try_into().or_else(|_| source.other()).map_err(at)?);
                &made
            }
            value => {
                made = source.decimal(value, None, 0).map_err(at)?.to_string();
                &made
            }
        };
        bytes = source.checked_size(bytes + text.len()).map_err(at)?;
        builder.append_value(text);
    }
    Ok(Arc::new(builder.finish()))
}

/// UUIDs as their 16 bytes.
fn uuids(source: &Source<'_>) -> Made {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(source.rows, 16);
    for row in 0..source.rows {
        let at = |misfit| (row, misfit);
        let appended = match source.values.get(row) {
            Scalar::Null => {
                builder.append_null();
                Ok(())
            }
            Scalar::Text(text) => builder.append_value(uuid_of(text).map_err(at)?),
            Scalar::Bytes(bytes) => builder.append_value(bytes),
            _ => return source.other().map_err(at),
        };
        appended.or_else(|_| source.other()).map_err(at)?;
    }
    Ok(Arc::new(builder.finish()))
}

fn uuid_of(text: &str) -> Result<[u8; 16], ValueMisfit> {
    uuid(text).ok_or_else(|| ValueMisfit::text("a text that is not a uuid of 36 characters"))
}

fn bytes(source: &Source<'_>) -> Made {
    let mut builder = BinaryBuilder::new();
    let mut bytes = 0;
    for row in 0..source.rows {
        let at = |misfit| (row, misfit);
        match source.values.get(row) {
            Scalar::Null => builder.append_null(),
            Scalar::Bytes(value) => {
                bytes = source.checked_size(bytes + value.len()).map_err(at)?;
                builder.append_value(value);
            }
            _ => return source.other().map_err(at),
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// Texts as the labels of an enum. The database refuses those that it has not.
fn labels<K: ArrowDictionaryKeyType>(source: &Source<'_>) -> Made {
    let mut builder = StringDictionaryBuilder::<K>::new();
    for row in 0..source.rows {
        match source.values.get(row) {
            Scalar::Null => builder.append_null(),
            Scalar::Text(text) => {
                let pushed = builder.append(text).map(drop);
                pushed.map_err(|_| (row, ValueMisfit::text("more different texts than the enum has labels")))?;
            }
            _ => return source.other().map_err(|misfit| (row, misfit)),
        }
    }
    Ok(Arc::new(builder.finish()))
}
