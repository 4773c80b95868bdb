//! DuckDB's types as functions take and give them.

use colonnade_udf::{ColumnType, TimestampUnit};

/// A type of DuckDB that functions can have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SqlType {
    /// Its name: what `typeof` gives.
    pub name: String,
    /// Its layout for workers.
    pub column_type: ColumnType,
    /// How DuckDB stores a value.
    pub storage: Storage,
}

/// How DuckDB stores the values of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// As workers read them, with this width in bytes.
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
            "VARCHAR" | "JSON" => C::Text,
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
            _ => decimal(name).ok_or_else(|| UnsupportedType(name.to_owned()))?,
        };
        let storage = match &column_type {
            C::Decimal { width: ..=4, .. } => Storage::Decimal16,
            C::Decimal { width: ..=9, .. } => Storage::Decimal32,
            C::Decimal { width: ..=18, .. } => Storage::Decimal64,
            C::Uuid => Storage::Uuid,
            C::Text | C::Blob => Storage::Text,
            other => Storage::Same(other.width().ok_or_else(|| UnsupportedType(name.to_owned()))?),
        };
        Ok(Self { name: name.to_owned(), column_type, storage })
    }
}

fn decimal(name: &str) -> Option<ColumnType> {
    let (width, scale) = name.strip_prefix("DECIMAL(")?.strip_suffix(')')?.split_once(',')?;
    let (width, scale): (u8, u8) = (width.parse().ok()?, scale.trim().parse().ok()?);
    ((1..=38).contains(&width) && scale <= width).then_some(ColumnType::Decimal { width, scale })
}
