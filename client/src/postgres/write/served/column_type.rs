//! The type that a new column of `colonnade serve` gets: the one that is read as the written type. TYPES.md, "Writing".

use arrow_schema::extension::EXTENSION_TYPE_METADATA_KEY;
use arrow_schema::{DataType, Field, Fields};
use colonnade_sql::{Dialect, quote};

use crate::arrow_form::extension;
use crate::write::kind::{AS_JSON, ColumnMeaning};
use crate::write::unsupported_column;
use crate::{Error, TYPE_NAME_KEY, dtype};

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
            let what = format!("{} cannot be written to a table in this version", dtype::name_of(field.data_type()));
            let way_out = ColumnMeaning::of(field).map_or(AS_JSON, |meaning| meaning.way_out());
            Err(unsupported_column(field.name(), &what, way_out))
        }
    }
}

/// `depth` is 0 for a whole column.
fn nested(field: &Field, depth: usize) -> Option<String> {
    let item = |field: &Field| nested(field, depth + 1);
    if let Some(stated) = stated(field) {
        return Some(stated);
    }
    Some(match field.data_type() {
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element) => format!("{}[]", item(element)?),
        DataType::FixedSizeList(element, size) if (1..=MAX_ARRAY).contains(size) => {
            format!("{}[{size}]", item(element)?)
        }
        // The server receives no variants.
        DataType::Struct(fields) if !fields.is_empty() && extension(field).is_none() => {
            format!("STRUCT({})", members(fields, depth)?)
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("MAP({}, {})", item(&fields[0])?, item(&fields[1])?)
            }
            _ => return None,
        },
        _ => scalar(&ColumnMeaning::of(field).ok()?, depth)?,
    })
}

/// The type of DuckDB that the field's metadata states, if the values are those of one, and the server receives it.
fn stated(field: &Field) -> Option<String> {
    let is_text = |data_type: &DataType| matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    if extension(field) == Some("geoarrow.wkb") {
        // A coordinate system would be lost.
        let described = field.metadata().get(EXTENSION_TYPE_METADATA_KEY).map_or("", String::as_str);
        return matches!(described, "" | "{}").then(|| "GEOMETRY".to_owned());
    }
    let stated = field.metadata().get(TYPE_NAME_KEY)?;
    let is_right = match field.data_type() {
        DataType::Dictionary(_, labels) => is_text(labels) && is_enum(stated),
        text => is_text(text) && matches!(stated.as_str(), "UUID" | "JSON"),
    };
    is_right.then(|| stated.clone())
}

/// Whether it is `ENUM('a', 'b')` and no other text.
fn is_enum(type_name: &str) -> bool {
    let Some(labels) = type_name.strip_prefix("ENUM('").and_then(|rest| rest.strip_suffix("')")) else { return false };
    // Quotes within labels are doubled. A label that looks like two is not recognized.
    labels.split("', '").all(|label| !label.replace("''", "").contains('\''))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enum_is_its_labels_and_nothing_else() {
        for sound in ["ENUM('')", "ENUM('a', 'b''c', '''')", "ENUM('é, )')"] {
            assert!(is_enum(sound), "{sound}");
        }
        for odd in ["ENUM()", "ENUM('a'", "ENUM('a'), x", "ENUM('a'b')", "ENUM('a') ; DROP", "UUID", "ENUM('')')"] {
            assert!(!is_enum(odd), "{odd}");
        }
    }
}
