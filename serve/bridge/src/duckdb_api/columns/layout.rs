//! The layout of a query's column for function processes.

use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use colonnade_udf::{ColumnType, FunctionColumn, TimestampUnit};

use super::ConversionError;
use crate::duckdb_api::sql_type::SqlType;

/// A column whose type functions cannot get.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column \"{column}\" has the type {type_name}, which functions in Python cannot get; cast it to VARCHAR")]
pub(crate) struct UnsupportedColumn {
    column: String,
    type_name: String,
}

/// The column of a query with DuckDB's name of its type, which says more than Arrow's type.
pub(crate) fn column(field: &Field, type_name: &str) -> Result<FunctionColumn, UnsupportedColumn> {
    let sql = SqlType::parse(type_name).ok();
    let unsupported = || UnsupportedColumn { column: field.name().clone(), type_name: type_name.to_owned() };
    let column_type = of(field.data_type(), sql.as_ref()).ok_or_else(unsupported)?;
    Ok(FunctionColumn { name: field.name().clone(), type_name: type_name.to_owned(), column_type, is_scalar: false })
}

fn of(arrow: &DataType, sql: Option<&SqlType>) -> Option<ColumnType> {
    let known = sql.map(|sql| &sql.column_type);
    let child = |field: &Field, index: usize| of(field.data_type(), sql.and_then(|sql| sql.children.get(index)));
    Some(match arrow {
        DataType::Null => ColumnType::Int32,
        DataType::Boolean => ColumnType::Boolean,
        DataType::Int8 => ColumnType::Int8,
        DataType::Int16 => ColumnType::Int16,
        DataType::Int32 => ColumnType::Int32,
        DataType::Int64 => ColumnType::Int64,
        DataType::UInt8 => ColumnType::UInt8,
        DataType::UInt16 => ColumnType::UInt16,
        DataType::UInt32 => ColumnType::UInt32,
        DataType::UInt64 => ColumnType::UInt64,
        DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        DataType::Decimal128(..) if known == Some(&ColumnType::Int128) => ColumnType::Int128,
        DataType::Decimal128(width, scale) => ColumnType::Decimal { width: *width, scale: u8::try_from(*scale).ok()? },
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => match known {
            Some(other @ (ColumnType::Uuid | ColumnType::Int128 | ColumnType::UInt128)) => other.clone(),
            _ => ColumnType::Text,
        },
        DataType::Dictionary(_, _) => ColumnType::Text,
        DataType::FixedSizeBinary(16) if known == Some(&ColumnType::Uuid) => ColumnType::Uuid,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            ColumnType::Blob
        }
        DataType::Date32 => ColumnType::Date,
        DataType::Time64(TimeUnit::Microsecond) => ColumnType::Time,
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => ColumnType::TimestampTz,
        DataType::Timestamp(unit, _) => ColumnType::Timestamp(match unit {
            TimeUnit::Second => TimestampUnit::Second,
            TimeUnit::Millisecond => TimestampUnit::Millisecond,
            TimeUnit::Microsecond => TimestampUnit::Microsecond,
            TimeUnit::Nanosecond => TimestampUnit::Nanosecond,
        }),
        DataType::Interval(IntervalUnit::MonthDayNano) => ColumnType::Interval,
        DataType::List(item) | DataType::LargeList(item) => ColumnType::List(Box::new(child(item, 0)?)),
        DataType::FixedSizeList(item, size) => {
            ColumnType::Array { item: Box::new(child(item, 0)?), size: usize::try_from(*size).ok()? }
        }
        DataType::Struct(fields) => {
            let field = |(at, field): (usize, &std::sync::Arc<Field>)| Some((field.name().clone(), child(field, at)?));
            ColumnType::Struct(fields.iter().enumerate().map(field).collect::<Option<_>>()?)
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                ColumnType::Map(Box::new(child(&fields[0], 0)?), Box::new(child(&fields[1], 1)?))
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// The bytes of a value that DuckDB gives as a text.
pub(super) fn parse(layout: &ColumnType, text: &str) -> Result<[u8; 16], ConversionError> {
    let value = match layout {
        ColumnType::Int128 => text.parse().map(i128::to_le_bytes).ok(),
        ColumnType::UInt128 => text.parse().map(u128::to_le_bytes).ok(),
        _ => uuid(text),
    };
    value.ok_or_else(|| ConversionError(format!("DuckDB gives {text:?} for a value of 16 bytes")))
}

/// The bytes of a UUID: 32 hexadecimal digits, with any hyphens between them.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let (mut value, mut digits) = (0_u128, 0);
    for letter in text.bytes().filter(|letter| *letter != b'-') {
        value = value << 4 | u128::from(char::from(letter).to_digit(16)?);
        digits += 1;
    }
    (digits == 32).then(|| value.to_be_bytes())
}
