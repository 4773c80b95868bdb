//! What a column's type means, without how Arrow stores it.

use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

use super::unsupported_column;
use crate::{Error, arrow_form, dtype};

/// How nested values reach a database that has no type for them.
pub(crate) const AS_JSON: &str =
    "make JSON texts of it before, as map(json.dumps) of pandas does and to_json() in DuckDB; or leave the column out";

/// The meaning of a column's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnMeaning {
    Null,
    Bool,
    /// An integer that `bits` bits hold, with a sign or without.
    Integer {
        bits: u8,
        signed: bool,
    },
    Float {
        bits: u8,
    },
    /// The scale is not negative, and not larger than the precision.
    Decimal {
        precision: u8,
        scale: u8,
    },
    Text,
    /// `arrow.json`
    Json,
    Bytes,
    /// `arrow.uuid`
    Uuid,
    /// The number of units in a day.
    Date {
        per_day: i64,
    },
    /// The number of units in a second.
    Time {
        per_second: i64,
    },
    Timestamp {
        per_second: i64,
        zoned: bool,
    },
    Duration {
        per_second: i64,
    },
    Interval,
    List(Box<ColumnMeaning>),
}

impl ColumnMeaning {
    /// The meaning of a column.
    ///
    /// # Errors
    /// No database column holds such values.
    pub(crate) fn of(field: &Field) -> Result<Self, Error> {
        Self::of_type(field.data_type(), Self::extension(field)).ok_or_else(|| {
            let what = format!("{} cannot be written to a table in this version", dtype::name_of(field.data_type()));
            unsupported_column(field.name(), &what, AS_JSON)
        })
    }

    /// How values reach a database that has no type for them.
    pub(crate) fn way_out(&self) -> &'static str {
        match self {
            Self::List(_) => AS_JSON,
            Self::Duration { .. } | Self::Interval => {
                "make numbers of it before, as dt.total_seconds() of pandas does, or let the query cast it to text"
            }
            _ => "convert it before: dtype={…: \"utf8\"}",
        }
    }

    /// The name of a field's extension type.
    pub(crate) fn extension(field: &Field) -> Option<&str> {
        arrow_form::extension(field)
    }

    /// The meaning of values of a type; `None` if no database column holds such values.
    pub(crate) fn of_type(data_type: &DataType, extension: Option<&str>) -> Option<Self> {
        let integer = |bits, signed| Self::Integer { bits, signed };
        Some(match data_type {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool,
            DataType::Int8 => integer(8, true),
            DataType::Int16 => integer(16, true),
            DataType::Int32 => integer(32, true),
            DataType::Int64 => integer(64, true),
            DataType::UInt8 => integer(8, false),
            DataType::UInt16 => integer(16, false),
            DataType::UInt32 => integer(32, false),
            DataType::UInt64 => integer(64, false),
            DataType::Float16 => Self::Float { bits: 16 },
            DataType::Float32 => Self::Float { bits: 32 },
            DataType::Float64 => Self::Float { bits: 64 },
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale)
            | DataType::Decimal256(precision, scale) => decimal(*precision, *scale)?,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => match extension {
                Some("arrow.json") => Self::Json,
                _ => Self::Text,
            },
            DataType::FixedSizeBinary(16) if extension == Some("arrow.uuid") => Self::Uuid,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                Self::Bytes
            }
            DataType::Date32 => Self::Date { per_day: 1 },
            DataType::Date64 => Self::Date { per_day: 86_400_000 },
            DataType::Time32(unit) | DataType::Time64(unit) => Self::Time { per_second: per_second(*unit) },
            DataType::Timestamp(unit, zone) => Self::Timestamp { per_second: per_second(*unit), zoned: zone.is_some() },
            DataType::Duration(unit) => Self::Duration { per_second: per_second(*unit) },
            DataType::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano) => {
                Self::Interval
            }
            DataType::Dictionary(_, values) => Self::of_type(values, extension)?,
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _) => match Self::of_type(field.data_type(), Self::extension(field))? {
                Self::List(_) => return None,
                element => Self::List(Box::new(element)),
            },
            DataType::Struct(_) | DataType::Map(..) | DataType::Union(..) | DataType::RunEndEncoded(..) => return None,
        })
    }
}

/// A negative scale and one beyond the precision have more digits before the point, or behind it.
fn decimal(precision: u8, scale: i8) -> Option<ColumnMeaning> {
    let (precision, scale) = match u8::try_from(scale) {
        Ok(scale) => (precision.max(scale), scale),
        Err(_) => (precision.checked_add(scale.unsigned_abs())?, 0),
    };
    Some(ColumnMeaning::Decimal { precision, scale })
}

/// The units in a second.
pub(crate) fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}
