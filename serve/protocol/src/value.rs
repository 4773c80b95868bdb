//! Writes one value of an Arrow column in PostgreSQL's text form ([`ColumnWriter::write_text`]) or binary form
//! ([`ColumnWriter::write_binary`]).
//!
//! The text is that of PostgreSQL 15 with `bytea_output = hex` and the session's [`TextStyle`].
//! A timestamp with a zone is shown in the zone of its Arrow type. Types that PostgreSQL lacks have these forms:
//!
//! - unsigned and 128-bit integers: numbers
//! - a list: an array, `{1,2}`
//! - a struct: a row, `(1,x)`
//! - a map: an array of rows, `{"(k,v)"}`
//! - a union: its value
//! - a duration: an interval
//! - nanoseconds: nine digits
//! - a geometry: its well-known binary in hexadecimal

mod binary;
mod column;
mod date_style;
pub(crate) mod datetime;
mod interval;
pub mod jsonb;
pub mod keyed;
mod nested;
mod number;
mod numeric;
pub mod oid;
mod text;
pub mod types;
pub mod unconstrained;
pub(crate) mod written_time;
mod zone;

pub(crate) use binary::{POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_MICROS};
pub use column::ColumnWriter;
pub use date_style::DateStyle;
pub use interval::IntervalStyle;
pub use text::is_unquoted_byte;
pub(crate) use zone::Zone;

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};

use crate::error::{ClientError, SqlState};
use keyed::{InvalidKey, KeyedType};

/// The forms of texts that a session chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextStyle {
    /// Of dates and timestamps.
    pub date: DateStyle,
    /// Of intervals.
    pub interval: IntervalStyle,
}

/// A column whose type a format cannot carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column \"{column}\" has type {data_type}, which {format} cannot carry")]
pub struct Unsupported {
    /// The column's name.
    pub column: String,
    /// The database's name of its type if known, otherwise Arrow's.
    pub data_type: String,
    /// The format, as the user knows it.
    pub format: &'static str,
}

impl Unsupported {
    /// The error for column `field` in `format`.
    pub fn new(field: &Field, format: &'static str) -> Self {
        let data_type = match extension_name(field) {
            Some(name) => format!("{name} ({})", field.data_type()),
            None => {
                field.metadata().get(DATABASE_TYPE).map_or_else(|| field.data_type().to_string(), ToString::to_string)
            }
        };
        Self { column: field.name().clone(), data_type, format }
    }
}

impl ClientError for Unsupported {
    fn code(&self) -> SqlState {
        SqlState::FEATURE_NOT_SUPPORTED
    }

    fn hint(&self) -> Option<String> {
        Some(format!("Cast column \"{}\" to another type in the query, for example to VARCHAR.", self.column))
    }
}

/// A value that a format cannot carry, although the format can carry other values of its column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Nanoseconds in a format with microseconds.
    #[error("a value has nanoseconds, which {format} cannot carry without loss")]
    Precision {
        /// The format, as the user knows it.
        format: &'static str,
    },
    /// Lists of different lengths, or NULL, within a list. PostgreSQL's arrays cannot contain these.
    #[error("a list contains lists of different lengths or NULL, which a binary array cannot represent")]
    Ragged,
    /// Bytes that are not a key of their type. Another program has written them.
    #[error("{0}")]
    Key(InvalidKey),
    /// A value that is larger than the format can count.
    #[error("a value is too large for {format}")]
    TooLarge {
        /// The format, as the user knows it.
        format: &'static str,
    },
}

impl ClientError for ValueError {
    fn code(&self) -> SqlState {
        match self {
            Self::Precision { .. } | Self::Ragged => SqlState::FEATURE_NOT_SUPPORTED,
            Self::TooLarge { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::Key(_) => SqlState::new("XX001"),
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Precision { .. } => {
                "Cast the column to TIMESTAMP in the query, or use FORMAT text, csv or colonnade."
            }
            Self::Ragged => "Request the column as text.",
            Self::TooLarge { .. } | Self::Key(_) => return None,
        };
        Some(hint.to_owned())
    }
}

/// The key under which Arrow's schemas name an extension type.
const EXTENSION_NAME: &str = "ARROW:extension:name";
/// The key of the database's name of a field's type (TYPES.md).
pub(crate) const DATABASE_TYPE: &str = "colonnade.type";

fn extension_name(field: &Field) -> Option<&str> {
    field.metadata().get(EXTENSION_NAME).map(|name| name.as_str())
}

/// The logical type of a field whose Arrow type is only its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogicalType {
    /// A byte of 0 or 1.
    Bool8,
    /// Sixteen bytes, or a UUID's text.
    Uuid,
    /// Text that is JSON.
    Json,
    /// Text that is an integer.
    Integer,
    /// Text that is a number with any digits, or none.
    Numeric,
    /// Text that is a time with an offset.
    TimeTz,
    /// Text of zeros and ones.
    Bits,
    /// A name in PostgreSQL's catalog.
    Name,
    /// A number in PostgreSQL's catalog.
    Oid,
    /// Text of numbers with spaces between them: the number of PostgreSQL's type.
    Vector(u32),
    /// The keys of a type that the engine lacks.
    Keyed(KeyedType),
    /// A decimal that is `numeric` without digits.
    Unconstrained,
    /// No logical type: the storage type counts.
    Storage,
    /// A type whose storage has no useful text.
    Opaque,
}

/// The number of a field's type, if it is a user's.
pub(crate) fn user_type(field: &Field) -> Option<u32> {
    types::numbered(field.metadata().get(DATABASE_TYPE)?).1
}

/// The logical type of a field.
pub(crate) fn logical_type(field: &Field) -> LogicalType {
    let is_text = matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    match (extension_name(field), field.data_type()) {
        (Some("arrow.bool8"), DataType::Int8) => return LogicalType::Bool8,
        (Some("arrow.uuid"), DataType::FixedSizeBinary(16)) => return LogicalType::Uuid,
        (Some("arrow.json"), _) if is_text => return LogicalType::Json,
        (Some("arrow.parquet.variant"), _) => return LogicalType::Opaque,
        _ => {}
    }
    let is_unconstrained = || field.metadata().get(DATABASE_TYPE).is_some_and(|name| name == unconstrained::NAME);
    if matches!(field.data_type(), DataType::Decimal128(..)) && is_unconstrained() {
        return LogicalType::Unconstrained;
    }
    let is_bytes = matches!(field.data_type(), DataType::Binary | DataType::LargeBinary | DataType::BinaryView);
    match field.metadata().get(DATABASE_TYPE).map(|name| name.as_str()) {
        Some(name) if is_bytes => KeyedType::of_name(name).map_or(LogicalType::Storage, LogicalType::Keyed),
        Some("UUID") if is_text => LogicalType::Uuid,
        Some("JSON") if is_text => LogicalType::Json,
        Some("UHUGEINT" | "BIGNUM") if is_text => LogicalType::Integer,
        Some("TIME WITH TIME ZONE" | "time with time zone") if is_text => LogicalType::TimeTz,
        Some("BIT") if is_text => LogicalType::Bits,
        // PostgreSQL's own names. They occur in the catalog, and if PostgreSQL is the source.
        Some("name") if is_text => LogicalType::Name,
        Some("oid") if *field.data_type() == DataType::UInt64 => LogicalType::Oid,
        Some("int2vector") if is_text => LogicalType::Vector(oid::INT2VECTOR),
        Some("oidvector") if is_text => LogicalType::Vector(oid::OIDVECTOR),
        // PostgreSQL's own name, if it is the source.
        Some(name) if is_text && name.starts_with("numeric") => LogicalType::Numeric,
        _ => LogicalType::Storage,
    }
}

/// The field with the database's name of its type, which distinguishes more types than Arrow's: for example, that a
/// text is a UUID. The items of a list and the fields of a row get the names of their types.
pub(crate) fn with_database_type(field: &Field, database_type: &str) -> Field {
    if let Some((item_type, _)) = database_type.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        let describe = |item: &FieldRef| Arc::new(self::with_database_type(item, item_type));
        let list = match field.data_type() {
            DataType::List(item) => DataType::List(describe(item)),
            DataType::LargeList(item) => DataType::LargeList(describe(item)),
            DataType::FixedSizeList(item, size) => DataType::FixedSizeList(describe(item), *size),
            other => other.clone(),
        };
        return field.clone().with_data_type(list);
    }
    let (row, number) = types::numbered(database_type);
    let types = types::fields(row).unwrap_or_default();
    let describe = |fields: &Fields| {
        let described =
            fields.iter().zip(&types).map(|(field, type_)| Arc::new(self::with_database_type(field, type_.type_name)));
        (fields.len() == types.len()).then(|| DataType::Struct(described.collect()))
    };
    let described = match field.data_type() {
        DataType::Struct(fields) => describe(fields),
        DataType::Map(entries, is_sorted) if let DataType::Struct(fields) = entries.data_type() => {
            let entries = |described| Arc::new(entries.as_ref().clone().with_data_type(described));
            describe(fields).map(|described| DataType::Map(entries(described), *is_sorted))
        }
        _ => None,
    };
    // The fields have said all of a row without a number.
    let is_complete = described.is_some() && number.is_none();
    let data_type = described.unwrap_or_else(|| field.data_type().clone());
    let field = field.clone().with_data_type(data_type);
    if is_complete {
        return field;
    }
    let mut metadata = field.metadata().clone();
    metadata.insert(DATABASE_TYPE.to_owned(), database_type.to_owned());
    field.with_metadata(metadata)
}

#[cfg(test)]
mod tests;
