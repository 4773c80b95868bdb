//! Maps MySQL's types to columns: TYPES.md, the rows of MySQL.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};

use super::packet::Definition;
use super::zone::{self, Ambiguous};
use crate::arrow_stream::TYPE_KEY;
use crate::{Error, ErrorKind, QueryOptions, TYPE_NAME_KEY};

const MAX_DECIMAL128: u8 = 38;
const MAX_DECIMAL256: u32 = 76;
/// The collation of binary strings.
const BINARY: u16 = 63;
/// Collations of utf8mb4 by their numbers, which are the same in all servers: `utf8mb4_general_ci`, `_bin`,
/// `_unicode_ci` and `_0900_ai_ci`. A server names another one than at login after `SET NAMES utf8mb4 COLLATE …`, and
/// MariaDB from 11.5 on also after `SET character_set_results = utf8mb4`.
const UTF8MB4: [u16; 4] = [45, 46, 224, 255];

/// `enum_field_types`, <https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html>
mod code {
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const NULL: u8 = 6;
    pub(super) const TIMESTAMP: u8 = 7;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const INT24: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const TIME: u8 = 11;
    pub(super) const DATETIME: u8 = 12;
    pub(super) const YEAR: u8 = 13;
    pub(super) const NEWDATE: u8 = 14;
    pub(super) const VARCHAR: u8 = 15;
    pub(super) const BIT: u8 = 16;
    pub(super) const VECTOR: u8 = 242;
    pub(super) const JSON: u8 = 245;
    pub(super) const DECIMAL: u8 = 0;
    pub(super) const NEWDECIMAL: u8 = 246;
    pub(super) const ENUM: u8 = 247;
    pub(super) const SET: u8 = 248;
    pub(super) const TINY_BLOB: u8 = 249;
    pub(super) const STRING: u8 = 254;
    pub(super) const GEOMETRY: u8 = 255;
}

/// A column's flags.
mod flag {
    /// The column belongs to a primary key, a unique key or another index.
    pub(super) const INDEXED: u16 = 2 | 4 | 8;
    pub(super) const UNSIGNED: u16 = 32;
    pub(super) const ZEROFILL: u16 = 64;
    pub(super) const ENUM: u16 = 256;
    pub(super) const SET: u16 = 2048;
}

/// The binary form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Null,
    Int8,
    Int16,
    /// Also `mediumint`, which is sent with 4 bytes.
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float32,
    Float64,
    /// Digits as text.
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// One bit, as a byte or a digit.
    Bool,
    /// Up to 64 bits, the highest byte first.
    Bits,
    Date,
    /// With this number of digits after the point.
    DateTime(u8),
    /// A duration, with this number of digits after the point.
    Time(u8),
    Text,
    Bytes,
}

impl ColumnKind {
    pub(super) fn is_narrow(precision: u8) -> bool {
        precision <= MAX_DECIMAL128
    }
}

/// A column of a result.
#[derive(Clone, Debug)]
pub(super) struct ColumnDescription {
    pub(super) kind: ColumnKind,
    /// Text instead of the type, in the database's own form. Integers are padded with zeros to this number of digits.
    pub(super) as_text: Option<usize>,
    /// Microseconds east of UTC at which a point in time arrives.
    pub(super) east: i64,
    /// Points in time that may be others, if they arrive.
    pub(super) ambiguous: Ambiguous,
    /// The database's name of the type, for messages.
    pub(super) type_name: String,
    pub(super) field: FieldRef,
}

/// The session's settings that affect values.
#[derive(Clone, Debug)]
pub(super) struct SessionContext {
    /// The collation of text in UTF-8.
    pub(super) collation: u16,
    pub(super) instants: Instants,
    /// Whether the server's expressions keep points in time. MySQL's compute with local times.
    pub(super) has_exact_expressions: bool,
}

/// How a TIMESTAMP's values become points in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Instants {
    /// They arrive so many microseconds east of UTC.
    Offset(i64),
    /// They arrive in UTC by a cursor, and not in this time zone of the session. Some of them may be others.
    Cursor(String, Ambiguous),
    /// They arrive in this time zone, and cannot be converted exactly.
    Local(String),
}

/// Whether the values of a column depend on the session's time zone.
pub(super) fn is_instant(definition: &Definition) -> bool {
    definition.type_code == code::TIMESTAMP
}

/// The columns of a result.
///
/// # Errors
/// An option names a column that the result does not have, or a type is not supported.
pub(super) fn columns(
    definitions: &[Definition],
    place: &SessionContext,
    options: &QueryOptions,
) -> Result<Vec<ColumnDescription>, Error> {
    if let Some(name) = options.as_text.iter().find(|name| definitions.iter().all(|column| column.name != **name)) {
        let message = format!("option \"as_text\" names \"{name}\", which is not a column of the result");
        return Err(Error::new(ErrorKind::Database, message).with_sqlstate("42S22"));
    }
    definitions.iter().map(|definition| column(definition, place, options)).collect()
}

fn column(definition: &Definition, place: &SessionContext, options: &QueryOptions) -> Result<ColumnDescription, Error> {
    let name = &definition.name;
    let (kind, type_name) = kind(definition)?;
    let refused = |what: String, hint: &str| {
        let message = format!("column \"{name}\" of type {type_name}: {what}");
        Err(Error::new(ErrorKind::Database, message).with_sqlstate("0A000").with_hint(hint))
    };
    let chosen = options.as_text.contains(name);
    // As text, a timestamp is as the server writes it, in the session's zone.
    let why = match &place.instants {
        _ if !is_instant(definition) => None,
        Instants::Offset(_) => None,
        Instants::Local(_) if chosen => None,
        Instants::Local(zone) => Some((zone, "and the statement's rows cannot be had in UTC")),
        Instants::Cursor(zone, _) if chosen => Some((zone, "and another column of this type arrives in UTC")),
        Instants::Cursor(..) if place.has_exact_expressions || !definition.origin[0].is_empty() => None,
        Instants::Cursor(zone, _) => Some((zone, "in which the server has computed it, so that it may be ambiguous")),
    };
    if let Some((zone, why)) = why {
        return refused(format!("the session's time_zone is \"{zone}\", {why}"), zone::WAY_OUT);
    }
    // MariaDB sends the BIT of a table's column as bytes, but that of an expression may be sent as decimal digits. The
    // two cannot be distinguished: the digit 9 is the byte 57. A column without a database's name is an expression, or
    // comes from a subquery or a view that may contain one.
    if kind == ColumnKind::Bits && definition.origin[0].is_empty() {
        return refused(
            "it is computed, or comes from a subquery, and MariaDB does not say whether it sends bits or digits"
                .to_owned(),
            "make a number of it in the query: CAST(… AS UNSIGNED)",
        );
    }
    // JSON is always UTF-8.
    let is_text = kind == ColumnKind::Text && definition.type_code != code::JSON;
    let is_utf8 = definition.collation == place.collation || UTF8MB4.contains(&definition.collation);
    if is_text && !is_utf8 && definition.collation != BINARY {
        return refused("the session's character set is not utf8mb4".to_owned(), "run SET NAMES utf8mb4 before");
    }
    if chosen
        && matches!(
            kind,
            ColumnKind::Float32 | ColumnKind::Float64 | ColumnKind::Bytes | ColumnKind::Bits | ColumnKind::Bool
        )
    {
        return refused("its text may be inexact".to_owned(), "cast the column to char in the query");
    }
    // If the text is not in the type's own form, the metadata names the type.
    let foreign = chosen && !matches!(kind, ColumnKind::Text | ColumnKind::Null) || is_foreign(&type_name);
    let data_type = if chosen && kind != ColumnKind::Null { DataType::Utf8 } else { data_type(kind, definition) };
    let mut field = Field::new(name, data_type, true);
    let keys = [(TYPE_KEY, foreign), (TYPE_NAME_KEY, options.type_names)].into_iter().filter(|(_, wanted)| *wanted);
    field.set_metadata(keys.map(|(key, _)| (key.to_owned(), type_name.clone())).collect::<HashMap<_, _>>());
    let zeros = definition.flags & flag::ZEROFILL != 0;
    let zeros = if zeros { definition.length as usize } else { 0 };
    let as_text = (chosen && kind != ColumnKind::Null).then_some(zeros);
    let (east, ambiguous) = match &place.instants {
        Instants::Offset(east) if is_instant(definition) => (*east, Ambiguous::default()),
        Instants::Cursor(_, ambiguous) if is_instant(definition) => (0, Arc::clone(ambiguous)),
        _ => (0, Ambiguous::default()),
    };
    Ok(ColumnDescription { kind, as_text, east, ambiguous, type_name, field: Arc::new(field) })
}

/// Types of the database that arrive in the form of another Arrow type.
fn is_foreign(type_name: &str) -> bool {
    matches!(type_name, "enum" | "set" | "inet4" | "inet6" | "geometry" | "vector")
}

/// Whether an index can find the values of a column.
pub(super) fn is_indexed(definition: &Definition) -> bool {
    definition.flags & flag::INDEXED != 0
}

/// The form in which a column's values are read, and the database's name of its type.
///
/// # Errors
/// The type is unknown.
pub(super) fn kind(definition: &Definition) -> Result<(ColumnKind, String), Error> {
    let unsigned = definition.flags & flag::UNSIGNED != 0;
    let integer = |signed: ColumnKind, without: ColumnKind, name: &str| {
        if unsigned { (without, format!("{name} unsigned")) } else { (signed, name.to_owned()) }
    };
    let plain = |kind: ColumnKind, name: &str| (kind, name.to_owned());
    // 31 or more means that the number of digits varies.
    let decimals = definition.decimals;
    let fraction =
        |name: &str| if (1..=6).contains(&decimals) { format!("{name}({decimals})") } else { name.to_owned() };
    let digits = if decimals > 6 { 6 } else { decimals };
    Ok(match definition.type_code {
        code::TINY => integer(ColumnKind::Int8, ColumnKind::UInt8, "tinyint"),
        code::SHORT => integer(ColumnKind::Int16, ColumnKind::UInt16, "smallint"),
        code::INT24 => integer(ColumnKind::Int32, ColumnKind::UInt32, "mediumint"),
        code::LONG => integer(ColumnKind::Int32, ColumnKind::UInt32, "int"),
        code::LONGLONG => integer(ColumnKind::Int64, ColumnKind::UInt64, "bigint"),
        code::YEAR => plain(ColumnKind::UInt16, "year"),
        code::FLOAT => plain(ColumnKind::Float32, "float"),
        code::DOUBLE => plain(ColumnKind::Float64, "double"),
        code::NULL => plain(ColumnKind::Null, "null"),
        code::DATE | code::NEWDATE => plain(ColumnKind::Date, "date"),
        code::TIMESTAMP => (ColumnKind::DateTime(digits), fraction("timestamp")),
        code::DATETIME => (ColumnKind::DateTime(digits), fraction("datetime")),
        code::TIME => (ColumnKind::Time(digits), fraction("time")),
        code::BIT if definition.length == 1 => plain(ColumnKind::Bool, "bit(1)"),
        code::BIT => (ColumnKind::Bits, format!("bit({})", definition.length)),
        code::JSON => plain(ColumnKind::Text, "json"),
        code::GEOMETRY => plain(ColumnKind::Bytes, "geometry"),
        code::VECTOR => plain(ColumnKind::Bytes, "vector"),
        code::DECIMAL | code::NEWDECIMAL => {
            // The length includes a sign and a point.
            let length = definition.length.saturating_sub(u32::from(decimals > 0)).saturating_sub(u32::from(!unsigned));
            let precision = length.max(u32::from(decimals)).clamp(1, MAX_DECIMAL256) as u8;
            let scale = decimals.min(precision);
            (ColumnKind::Decimal { precision, scale }, format!("decimal({precision},{scale})"))
        }
        code::VARCHAR | code::ENUM..=code::STRING => string(definition),
        other => {
            let message = format!("column \"{}\" has an unknown type (number {other})", definition.name);
            return Err(Error::new(ErrorKind::Database, message)
                .with_sqlstate("0A000")
                .with_hint("cast the column to char or binary in the query"));
        }
    })
}

/// Enums, sets, and types that MariaDB sends as text or as bytes.
fn string(definition: &Definition) -> (ColumnKind, String) {
    let has = |flag: u16| definition.flags & flag != 0;
    if definition.type_code == code::ENUM || has(flag::ENUM) {
        return (ColumnKind::Text, "enum".to_owned());
    }
    if definition.type_code == code::SET || has(flag::SET) {
        return (ColumnKind::Text, "set".to_owned());
    }
    let bytes = definition.collation == BINARY;
    match definition.extended.as_deref() {
        Some(name @ ("json" | "uuid" | "inet4" | "inet6")) => (ColumnKind::Text, name.to_owned()),
        Some(name) if bytes => (ColumnKind::Bytes, name.to_owned()),
        _ if bytes => (ColumnKind::Bytes, "binary".to_owned()),
        _ if (code::TINY_BLOB..code::TINY_BLOB + 4).contains(&definition.type_code) => {
            (ColumnKind::Text, "text".to_owned())
        }
        _ => (ColumnKind::Text, "varchar".to_owned()),
    }
}

fn data_type(kind: ColumnKind, definition: &Definition) -> DataType {
    match kind {
        ColumnKind::Null => DataType::Null,
        ColumnKind::Int8 => DataType::Int8,
        ColumnKind::Int16 => DataType::Int16,
        ColumnKind::Int32 => DataType::Int32,
        ColumnKind::Int64 => DataType::Int64,
        ColumnKind::UInt8 => DataType::UInt8,
        ColumnKind::UInt16 => DataType::UInt16,
        ColumnKind::UInt32 => DataType::UInt32,
        ColumnKind::UInt64 | ColumnKind::Bits => DataType::UInt64,
        ColumnKind::Float32 => DataType::Float32,
        ColumnKind::Float64 => DataType::Float64,
        ColumnKind::Bool => DataType::Boolean,
        ColumnKind::Decimal { precision, scale } if ColumnKind::is_narrow(precision) => {
            DataType::Decimal128(precision, scale as i8)
        }
        ColumnKind::Decimal { precision, scale } => DataType::Decimal256(precision, scale as i8),
        ColumnKind::Date => DataType::Date32,
        ColumnKind::DateTime(_) => {
            DataType::Timestamp(TimeUnit::Microsecond, is_instant(definition).then(|| "UTC".into()))
        }
        ColumnKind::Time(_) => DataType::Duration(TimeUnit::Microsecond),
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::Bytes => DataType::Binary,
    }
}
