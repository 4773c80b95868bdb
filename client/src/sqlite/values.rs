//! The values of one column that were read so far.

use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::{DataType, TimeUnit};

use super::datetime;
use crate::arrays::{Strings, buffer, renewed};

/// The values of a column, in the form of Arrow's buffers. The kind is the column's type.
#[derive(Debug)]
pub(super) enum Values {
    /// Only NULLs so far.
    None,
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Bool(Vec<bool>),
    Decimal(Vec<i128>, u8, u8),
    Date(Vec<i32>),
    Time(Vec<i64>),
    Timestamp(Vec<i64>),
    Instant(Vec<i64>),
    Text(Strings),
    Binary(Strings),
    AsText(Strings),
}

impl Values {
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::None => DataType::Null,
            Self::Integer(_) => DataType::Int64,
            Self::Float(_) => DataType::Float64,
            Self::Bool(_) => DataType::Boolean,
            Self::Decimal(_, precision, scale) => DataType::Decimal128(*precision, *scale as i8),
            Self::Date(_) => DataType::Date32,
            Self::Time(_) => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Instant(_) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Text(_) | Self::AsText(_) => DataType::Utf8,
            Self::Binary(_) => DataType::Binary,
        }
    }

    /// Whether these are dates, times or both.
    pub(super) fn is_moment(&self) -> bool {
        matches!(self, Self::Date(_) | Self::Time(_) | Self::Timestamp(_) | Self::Instant(_))
    }

    #[inline]
    pub(super) fn push_null(&mut self) {
        match self {
            Self::None => {}
            Self::Integer(values) | Self::Time(values) | Self::Timestamp(values) | Self::Instant(values) => {
                values.push(0);
            }
            Self::Float(values) => values.push(0.0),
            Self::Bool(values) => values.push(false),
            Self::Decimal(values, ..) => values.push(0),
            Self::Date(values) => values.push(0),
            Self::Text(strings) | Self::Binary(strings) | Self::AsText(strings) => strings.end(),
        }
    }

    /// Reads the text of a date, a time or both. `None` if it does not have the column's form.
    #[inline]
    pub(super) fn push_moment(&mut self, text: &[u8]) -> Option<()> {
        match self {
            Self::Date(values) => values.push(datetime::date(text)?),
            Self::Time(values) => values.push(datetime::time(text)?),
            Self::Timestamp(values) => values.push(datetime::timestamp(text)?),
            Self::Instant(values) => values.push(datetime::instant(text)?),
            _ => return None,
        }
        Some(())
    }

    /// Arrow's buffers without the validity. The next buffers start empty.
    pub(super) fn finish(&mut self) -> Vec<Buffer> {
        match self {
            Self::None => Vec::new(),
            Self::Integer(values) | Self::Time(values) | Self::Timestamp(values) | Self::Instant(values) => {
                vec![buffer(values)]
            }
            Self::Float(values) => vec![buffer(values)],
            Self::Bool(values) => vec![BooleanBuffer::from(renewed(values)).into_inner()],
            Self::Decimal(values, ..) => vec![buffer(values)],
            Self::Date(values) => vec![buffer(values)],
            Self::Text(strings) | Self::Binary(strings) | Self::AsText(strings) => strings.finish(),
        }
    }
}
