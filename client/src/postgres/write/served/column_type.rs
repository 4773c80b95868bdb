//! The type that a new column of `colonnade serve` gets: the one that is read as the written type. TYPES.md, "Writing".

use arrow_schema::{DataType, Field, Fields};
use colonnade_sql::{Dialect, quote};

use crate::Error;
use crate::write::kind::ColumnMeaning;
use crate::write::unsupported_column;

/// The most digits of DuckDB's decimals.
const MAX_PRECISION: u8 = 38;
/// The most elements of DuckDB's arrays.
const MAX_ARRAY: i32 = 100_000;

/// The type of a new column for the values of a field.
///
/// # Errors
/// No column holds them exactly.
pub(super) fn created(field: &Field) -> Result<String, Error> {
    match nested(field, 0) {
        Some(type_name) => Ok(type_name),
        None => {
            let what = format!("{} cannot be written to a table in this version", field.data_type());
            Err(unsupported_column(
                field.name(),
                &what,
                "convert it before: dtype={…: \"utf8\"}, or leave the column out",
            ))
        }
    }
}

/// `depth` is 0 for a whole column.
fn nested(field: &Field, depth: usize) -> Option<String> {
    let item = |field: &Field| nested(field, depth + 1);
    Some(match field.data_type() {
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element) => format!("{}[]", item(element)?),
        DataType::FixedSizeList(element, size) if (1..=MAX_ARRAY).contains(size) => {
            format!("{}[{size}]", item(element)?)
        }
        DataType::Struct(fields) if !fields.is_empty() => format!("STRUCT({})", members(fields, depth)?),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("MAP({}, {})", item(&fields[0])?, item(&fields[1])?)
            }
            _ => return None,
        },
        _ => scalar(&ColumnMeaning::of(field).ok()?, depth)?,
    })
}

fn members(fields: &Fields, depth: usize) -> Option<String> {
    let member = |field: &Field| {
        Some(format!("{} {}", quote::identifier(field.name(), Dialect::DuckDb), nested(field, depth + 1)?))
    };
    Some(fields.iter().map(|field| member(field)).collect::<Option<Vec<_>>>()?.join(", "))
}

fn scalar(meaning: &ColumnMeaning, depth: usize) -> Option<String> {
    use ColumnMeaning as M;
    let name = match meaning {
        M::Bool => "BOOLEAN",
        M::Integer { bits: 8, signed: true } => "TINYINT",
        M::Integer { bits: 16, signed: true } => "SMALLINT",
        M::Integer { bits: 32, signed: true } => "INTEGER",
        M::Integer { signed: true, .. } => "BIGINT",
        M::Integer { bits: 8, .. } => "UTINYINT",
        M::Integer { bits: 16, .. } => "USMALLINT",
        M::Integer { bits: 32, .. } => "UINTEGER",
        M::Integer { .. } => "UBIGINT",
        M::Float { bits: 64 } => "DOUBLE",
        M::Float { .. } => "FLOAT",
        M::Decimal { precision, scale } if *precision <= MAX_PRECISION => {
            return Some(format!("DECIMAL({precision},{scale})"));
        }
        M::Null | M::Text => "VARCHAR",
        M::Json => "JSON",
        M::Bytes => "BLOB",
        M::Uuid => "UUID",
        M::Date { .. } => "DATE",
        M::Time { per_second: 1_000_000_000 } => "TIME_NS",
        M::Time { .. } => "TIME",
        M::Timestamp { zoned: false, per_second: 1 } => "TIMESTAMP_S",
        M::Timestamp { zoned: false, per_second: 1_000 } => "TIMESTAMP_MS",
        M::Timestamp { zoned: false, per_second: 1_000_000 } => "TIMESTAMP",
        M::Timestamp { zoned: false, .. } => "TIMESTAMP_NS",
        M::Timestamp { zoned: true, per_second: 1_000_000_000 } => "TIMESTAMPTZ_NS",
        M::Timestamp { zoned: true, .. } => "TIMESTAMP WITH TIME ZONE",
        // The server refuses to send an interval within a nested type, because its range cannot be checked there.
        M::Duration { .. } | M::Interval if depth == 0 => "INTERVAL",
        M::Duration { .. } | M::Interval | M::Decimal { .. } | M::List(_) => return None,
    };
    Some(name.to_owned())
}
