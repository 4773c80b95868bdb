//! Single values: which types accept which, and columns of single values.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

use super::ConversionError;
use super::nested::broken;
use super::value::{EXACT_FLOAT32, EXACT_FLOAT64, Source, float32, is_uuid, uuid_text};
use crate::write::kind::{ColumnMeaning, per_second};
use crate::write::misfit::ValueMisfit;
use crate::write::values::{ColumnValues, Scalar, decimal_scale};
use crate::{Error, ErrorKind};

/// DuckDB's name of a type whose values are sent as texts.
pub(super) const UUID: &str = "UUID";
/// Those of whole numbers that are sent as texts.
const WHOLE: [&str; 2] = ["UHUGEINT", "BIGNUM"];
/// Its values are sent as decimals of 38 digits and may have 39.
const HUGEINT: &str = "HUGEINT";

/// Whether a column that is sent as `target` can hold such values exactly, or refuses them one by one.
pub(super) fn accepts(meaning: &ColumnMeaning, target: &DataType, type_name: &str) -> bool {
    use ColumnMeaning as M;
    match target {
        DataType::Boolean => *meaning == M::Bool,
        _ if target.is_integer() => matches!(meaning, M::Integer { .. }),
        DataType::Float32 | DataType::Float64 => matches!(meaning, M::Float { .. } | M::Integer { .. }),
        DataType::Decimal128(..) | DataType::Decimal256(..) => matches!(meaning, M::Integer { .. } | M::Decimal { .. }),
        DataType::Utf8 if type_name == UUID => matches!(meaning, M::Uuid | M::Text),
        DataType::Utf8 if WHOLE.contains(&type_name) => {
            matches!(meaning, M::Integer { .. } | M::Decimal { .. } | M::Text)
        }
        DataType::Utf8 => matches!(meaning, M::Text | M::Json),
        DataType::Binary => *meaning == M::Bytes,
        DataType::Date32 => matches!(meaning, M::Date { .. }),
        DataType::Time64(_) => matches!(meaning, M::Time { .. }),
        DataType::Timestamp(_, zone) => matches!(meaning, M::Timestamp { zoned, .. } if *zoned == zone.is_some()),
        DataType::Interval(IntervalUnit::MonthDayNano) => matches!(meaning, M::Interval | M::Duration { .. }),
        DataType::Dictionary(_, values) => **values == DataType::Utf8 && *meaning == M::Text,
        _ => false,
    }
}

pub(super) fn convert(
    array: &ArrayRef,
    field: &Field,
    target: &DataType,
    type_name: &str,
) -> Result<ArrayRef, ConversionError> {
    let source = Source {
        values: ColumnValues::of(array).map_err(ConversionError::Types)?,
        meaning: ColumnMeaning::of(field).map_err(ConversionError::Types)?,
        scale: decimal_scale(field.data_type()),
        rows: array.len(),
        type_name,
    };
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
        DataType::Float32 => primitives::<Float32Type>(&source, |value| {
            source.float(value, EXACT_FLOAT32).and_then(|n| float32(&source, n))
        }),
        DataType::Float64 => primitives::<Float64Type>(&source, |value| source.float(value, EXACT_FLOAT64)),
        DataType::Decimal128(precision, scale) => {
            let precision = (type_name != HUGEINT).then_some(*precision);
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
        DataType::Date32 => primitives::<Date32Type>(&source, |value| source.date(value)),
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
    // Decimals and timestamps have parameters beside their values.
    if made.data_type() == target {
        return Ok(made);
    }
    let data = made.to_data().into_builder().data_type(target.clone()).build();
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
            Scalar::Text(text) if source.type_name == UUID => {
                made = text.to_ascii_lowercase();
                if !is_uuid(&made) {
                    return Err(at(ValueMisfit::text("a text that is not a uuid of 36 characters")));
                }
                &made
            }
            Scalar::Text(text) => text,
            Scalar::Bytes(bytes) => {
                made = uuid_text(bytes).map_or_else(|| source.other(), Ok).map_err(at)?;
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
