//! DuckDB's types as functions take and give them.

mod parser;

use arrow_schema::{DataType, TimeUnit};
use colonnade_udf::{ColumnType, TimestampUnit};

/// A type of DuckDB that functions can have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SqlType {
    /// Its name: what `typeof` gives.
    pub name: String,
    /// Its layout for function processes.
    pub column_type: ColumnType,
    /// How DuckDB stores a value.
    pub storage: Storage,
    /// The types of items, fields or members.
    pub children: Vec<SqlType>,
    /// The values of an enum.
    pub labels: Vec<String>,
}

/// How DuckDB stores the values of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// As function processes read them, with this width in bytes.
    Same(usize),
    /// A decimal of fewer bytes than 16.
    Decimal16,
    /// The same.
    Decimal32,
    /// The same.
    Decimal64,
    /// A number of 16 bytes whose order is that of UUIDs.
    Uuid,
    /// A text or a blob.
    Text,
    /// The number of a label, in this width.
    Enum(usize),
    /// Where the items begin, and their number.
    List,
    /// This number of items for each row.
    Array(usize),
    /// No values of its own.
    Struct,
    /// The number of the member, which is a child before the members.
    Union,
}

impl Storage {
    /// Whether other vectors have the values.
    pub fn is_nested(self) -> bool {
        matches!(self, Self::List | Self::Array(_) | Self::Struct | Self::Union)
    }
}

/// Why a function cannot have a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "functions in Python cannot have the type {0} yet; cast it to a type that they can have, for example to VARCHAR"
)]
pub(super) struct UnsupportedType(pub String);

impl SqlType {
    /// Reads DuckDB's name of a type.
    ///
    /// # Errors
    /// If functions cannot have it.
    pub fn parse(name: &str) -> Result<Self, UnsupportedType> {
        parser::parse(name, 0, false).ok_or_else(|| UnsupportedType(name.to_owned()))
    }

    /// Whether this is its name. A type that is converted has another one.
    fn is_named(&self, name: &str) -> bool {
        self.name == name
    }

    /// Its type in Arrow; `None` if that depends on settings, or if it is not needed.
    pub fn arrow(&self) -> Option<DataType> {
        Some(match self.column_type {
            ColumnType::Boolean => DataType::Boolean,
            ColumnType::Int8 => DataType::Int8,
            ColumnType::Int16 => DataType::Int16,
            ColumnType::Int32 => DataType::Int32,
            ColumnType::Int64 => DataType::Int64,
            ColumnType::UInt8 => DataType::UInt8,
            ColumnType::UInt16 => DataType::UInt16,
            ColumnType::UInt32 => DataType::UInt32,
            ColumnType::UInt64 => DataType::UInt64,
            ColumnType::Float32 => DataType::Float32,
            ColumnType::Float64 => DataType::Float64,
            ColumnType::Date => DataType::Date32,
            ColumnType::Time => DataType::Time64(TimeUnit::Microsecond),
            ColumnType::Timestamp(unit) => {
                let unit = match unit {
                    TimestampUnit::Second => TimeUnit::Second,
                    TimestampUnit::Millisecond => TimeUnit::Millisecond,
                    TimestampUnit::Microsecond => TimeUnit::Microsecond,
                    TimestampUnit::Nanosecond => TimeUnit::Nanosecond,
                };
                DataType::Timestamp(unit, None)
            }
            _ => return None,
        })
    }

    /// Reads DuckDB's name of a type as the macro of a function makes it: each MAP in it is a list of structs, each BIT
    /// and TIME WITH TIME ZONE a text (`serve/colonnade_serve/_duckdb/conversions.py`). The name is that of the type
    /// after it.
    ///
    /// # Errors
    /// If functions cannot have it.
    pub fn parse_converted(name: &str) -> Result<Self, UnsupportedType> {
        parser::parse(name, 0, true).ok_or_else(|| UnsupportedType(name.to_owned()))
    }

    /// A type without children.
    fn flat(name: &str) -> Option<Self> {
        use ColumnType as C;
        let column_type = match name {
            "BOOLEAN" => C::Boolean,
            "TINYINT" => C::Int8,
            "SMALLINT" => C::Int16,
            "INTEGER" => C::Int32,
            "BIGINT" => C::Int64,
            "UTINYINT" => C::UInt8,
            "USMALLINT" => C::UInt16,
            "UINTEGER" => C::UInt32,
            "UBIGINT" => C::UInt64,
            "HUGEINT" => C::Int128,
            "UHUGEINT" => C::UInt128,
            "FLOAT" => C::Float32,
            "DOUBLE" => C::Float64,
            "VARCHAR" => C::Text,
            "JSON" => C::Json,
            "BLOB" => C::Blob,
            "UUID" => C::Uuid,
            "DATE" => C::Date,
            "TIME" => C::Time,
            "TIMESTAMP_S" => C::Timestamp(TimestampUnit::Second),
            "TIMESTAMP_MS" => C::Timestamp(TimestampUnit::Millisecond),
            "TIMESTAMP" => C::Timestamp(TimestampUnit::Microsecond),
            "TIMESTAMP_NS" => C::Timestamp(TimestampUnit::Nanosecond),
            "TIMESTAMP WITH TIME ZONE" => C::TimestampTz,
            "INTERVAL" => C::Interval,
            _ => decimal(name)?,
        };
        let storage = match &column_type {
            C::Decimal { width: ..=4, .. } => Storage::Decimal16,
            C::Decimal { width: ..=9, .. } => Storage::Decimal32,
            C::Decimal { width: ..=18, .. } => Storage::Decimal64,
            C::Uuid => Storage::Uuid,
            C::Text | C::Json | C::Blob => Storage::Text,
            other => Storage::Same(other.width()?),
        };
        Some(Self { name: name.to_owned(), column_type, storage, children: Vec::new(), labels: Vec::new() })
    }
}

fn decimal(name: &str) -> Option<ColumnType> {
    let (width, scale) = name.strip_prefix("DECIMAL(")?.strip_suffix(')')?.split_once(',')?;
    let (width, scale): (u8, u8) = (width.parse().ok()?, scale.trim().parse().ok()?);
    ((1..=38).contains(&width) && scale <= width).then_some(ColumnType::Decimal { width, scale })
}
