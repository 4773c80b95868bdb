//! A function as JSON, for the function process.

use std::fmt::Write as _;

use crate::function::{ColumnType, Function, FunctionColumn, FunctionKind, TimestampUnit};

/// The description of a function.
pub(crate) fn describe(function: &Function) -> String {
    let mut json = String::from("{");
    let kind = match function.kind {
        FunctionKind::Scalar => "scalar",
        FunctionKind::Aggregate => "aggregate",
        FunctionKind::AggregatePerGroup => "aggregate per group",
        FunctionKind::Table => "table",
        FunctionKind::AnyTable => "any table",
    };
    // Writing to a String does not fail.
    let _ = write!(
        json,
        "\"id\":{},\"kind\":\"{kind}\",\"strict\":{},\"arrow\":{},\"name\":",
        function.id, function.is_strict, function.is_arrow
    );
    text(&mut json, &function.name);
    json.push_str(",\"source\":");
    text(&mut json, &function.source);
    for (name, columns) in [("parameters", &function.parameters), ("results", &function.results)] {
        let _ = write!(json, ",\"{name}\":");
        list(&mut json, columns, column);
    }
    json.push('}');
    json
}

/// The description of columns: a list of what a function's description has for each parameter.
pub(crate) fn describe_columns(columns: &[FunctionColumn]) -> String {
    let mut json = String::new();
    list(&mut json, columns, column);
    json
}

fn column(json: &mut String, column: &FunctionColumn) {
    json.push('[');
    text(json, &column.name);
    json.push(',');
    text(json, &column.type_name);
    json.push(',');
    type_(json, &column.column_type);
    let _ = write!(json, ",{}]", column.is_scalar);
}

/// A type as function processes read it, in JSON.
#[must_use]
pub fn describe_type(column_type: &ColumnType) -> String {
    let mut json = String::new();
    type_(&mut json, column_type);
    json
}

/// A type: `["name", …]`.
fn type_(json: &mut String, column_type: &ColumnType) {
    let name = match column_type {
        ColumnType::Boolean => "bool",
        ColumnType::Int8 => "int8",
        ColumnType::Int16 => "int16",
        ColumnType::Int32 => "int32",
        ColumnType::Int64 => "int64",
        ColumnType::UInt8 => "uint8",
        ColumnType::UInt16 => "uint16",
        ColumnType::UInt32 => "uint32",
        ColumnType::UInt64 => "uint64",
        ColumnType::Int128 => "int128",
        ColumnType::UInt128 => "uint128",
        ColumnType::Float32 => "float32",
        ColumnType::Float64 => "float64",
        ColumnType::Decimal { .. } => "decimal",
        ColumnType::Text | ColumnType::Json => "text",
        ColumnType::Blob => "blob",
        ColumnType::Uuid => "uuid",
        ColumnType::Date => "date",
        ColumnType::Time => "time",
        ColumnType::Timestamp(_) | ColumnType::TimestampTz => "timestamp",
        ColumnType::Interval => "interval",
        ColumnType::List(_) => "list",
        ColumnType::Array { .. } => "array",
        ColumnType::Struct(_) => "struct",
        ColumnType::Map(..) => "map",
        ColumnType::Union(_) => "union",
    };
    let _ = write!(json, "[\"{name}\"");
    match column_type {
        ColumnType::Decimal { width, scale } => {
            let _ = write!(json, ",{width},{scale}");
        }
        ColumnType::Timestamp(unit) => json.push_str(match unit {
            TimestampUnit::Second => ",\"s\"",
            TimestampUnit::Millisecond => ",\"ms\"",
            TimestampUnit::Microsecond => ",\"us\"",
            TimestampUnit::Nanosecond => ",\"ns\"",
        }),
        ColumnType::TimestampTz => json.push_str(",\"us\",\"UTC\""),
        ColumnType::Array { size, .. } => {
            let _ = write!(json, ",{size}");
        }
        ColumnType::Struct(fields) | ColumnType::Union(fields) => {
            json.push(',');
            list(json, fields, |json, (name, _)| text(json, name));
        }
        _ => {}
    }
    for child in column_type.children() {
        json.push(',');
        type_(json, &child);
    }
    json.push(']');
}

fn list<T>(json: &mut String, items: &[T], write: impl Fn(&mut String, &T)) {
    json.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            json.push(',');
        }
        write(json, item);
    }
    json.push(']');
}

/// A text in quotes. JSON requires an escape for quotes, backslashes and control characters.
fn text(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            '\0'..='\x1f' => {
                let _ = write!(json, "\\u{:04x}", u32::from(character));
            }
            _ => json.push(character),
        }
    }
    json.push('"');
}
