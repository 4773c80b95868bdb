//! One value of an Arrow column, as PostgreSQL prints it ([`ColumnWriter::write_text`]) or sends it in binary
//! ([`ColumnWriter::write_binary`]).
//!
//! Text is what PostgreSQL 15 prints with `DateStyle = ISO`, `IntervalStyle = postgres`, `bytea_output = hex`; a
//! timestamp with a zone is shown in the zone that its Arrow type names. Types PostgreSQL lacks have these forms: unsigned and 128-bit integers are numbers; a list is
//! `{1,2}`; a struct is a row, `(1,x)`; a map is an array of rows, `{"(k,v)"}`; a union is its value; a duration is an
//! interval; nanoseconds are nine digits; a geometry is its well-known binary in hexadecimal.

mod binary;
mod column;
pub(crate) mod datetime;
mod interval;
mod nested;
mod number;
pub mod oid;
mod text;
pub mod types;
mod zone;

pub(crate) use binary::{EPOCH_DAYS, EPOCH_MICROS};
pub use column::ColumnWriter;
pub use text::is_unquoted_byte;
pub(crate) use zone::Zone;

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};

/// A column whose type a format cannot carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column \"{column}\" has type {data_type}, which {format} cannot carry")]
pub struct Unsupported {
    /// The column's name.
    pub column: String,
    /// Its type, in the database's words if they are known.
    pub data_type: String,
    /// The format, in the user's words.
    pub format: &'static str,
}

impl Unsupported {
    /// Column `field` in `format`.
    pub fn new(field: &Field, format: &'static str) -> Self {
        let data_type = match extension(field) {
            Some(name) => format!("{name} ({})", field.data_type()),
            None => {
                field.metadata().get(DATABASE_TYPE).map_or_else(|| field.data_type().to_string(), ToString::to_string)
            }
        };
        Self { column: field.name().clone(), data_type, format }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> String {
        format!("Cast column \"{}\" to another type in the query, for example to VARCHAR.", self.column)
    }
}

/// A value that a format cannot carry although its column can.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Nanoseconds where the format counts microseconds.
    #[error("a value has nanoseconds, which {format} cannot carry without loss")]
    Precision {
        /// The format, in the user's words.
        format: &'static str,
    },
    /// Lists within a list that PostgreSQL's arrays cannot be: of different lengths, or NULL.
    #[error("a list contains lists of different lengths or NULL, which a binary array cannot represent")]
    Ragged,
    /// A value beyond what the format's counters hold.
    #[error("a value is too large for {format}")]
    TooLarge {
        /// The format, in the user's words.
        format: &'static str,
    },
}

/// The key under which Arrow's schemas name an extension type.
const EXTENSION_NAME: &str = "ARROW:extension:name";
/// The key under which a field says its type in the database's words (TYPES.md).
pub(crate) const DATABASE_TYPE: &str = "colonnade.type";

fn extension(field: &Field) -> Option<&str> {
    field.metadata().get(EXTENSION_NAME).map(|name| name.as_str())
}

/// Where a logical type hides behind a storage type, the logical one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logical {
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
    /// Text of numbers with spaces between them: the number of PostgreSQL's type.
    Vector(u32),
    /// What the storage says.
    Storage,
    /// A storage that means nothing to a reader.
    Opaque,
}

/// The logical type of a field.
pub(crate) fn logical(field: &Field) -> Logical {
    let is_text = matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    match (extension(field), field.data_type()) {
        (Some("arrow.bool8"), DataType::Int8) => return Logical::Bool8,
        (Some("arrow.uuid"), DataType::FixedSizeBinary(16)) => return Logical::Uuid,
        (Some("arrow.json"), _) if is_text => return Logical::Json,
        (Some("arrow.parquet.variant"), _) => return Logical::Opaque,
        _ => {}
    }
    match field.metadata().get(DATABASE_TYPE).map(|name| name.as_str()) {
        Some("UUID") if is_text => Logical::Uuid,
        Some("JSON") if is_text => Logical::Json,
        Some("UHUGEINT" | "BIGNUM") if is_text => Logical::Integer,
        Some("TIME WITH TIME ZONE" | "time with time zone") if is_text => Logical::TimeTz,
        Some("BIT") if is_text => Logical::Bits,
        // PostgreSQL's own names, as those of a source and in the catalog.
        Some("name") if is_text => Logical::Name,
        Some("int2vector") if is_text => Logical::Vector(oid::INT2VECTOR),
        Some("oidvector") if is_text => Logical::Vector(oid::OIDVECTOR),
        // PostgreSQL's own name, as a source.
        Some(name) if is_text && name.starts_with("numeric") => Logical::Numeric,
        _ => Logical::Storage,
    }
}

/// The field with its type in the database's words, which tell more than Arrow's: that a text is a UUID, say. The
/// items of a list learn theirs from the name, too.
pub(crate) fn described(field: &Field, database_type: &str) -> Field {
    if let Some((item_type, _)) = database_type.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        let described = |item: &FieldRef| Arc::new(self::described(item, item_type));
        let list = match field.data_type() {
            DataType::List(item) => DataType::List(described(item)),
            DataType::LargeList(item) => DataType::LargeList(described(item)),
            DataType::FixedSizeList(item, size) => DataType::FixedSizeList(described(item), *size),
            other => other.clone(),
        };
        return field.clone().with_data_type(list);
    }
    let mut metadata = field.metadata().clone();
    metadata.insert(DATABASE_TYPE.to_owned(), database_type.to_owned());
    field.clone().with_metadata(metadata)
}

#[cfg(test)]
mod tests;
