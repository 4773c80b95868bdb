//! The columns of a table that take rows as a Colonnade stream: the types in which they are sent, and the values that
//! they hold.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::column_type::{ColumnType, TableColumn};
use super::moment::{date, time, timestamp};
use super::row_encoder::{check_length, check_nul, check_numeric};
use crate::Error;
use crate::write::exact_array::{ArrayTarget, ConversionError};
use crate::write::kind::ColumnMeaning;
use crate::write::misfit::ValueMisfit;
use crate::write::values::{ColumnValues, Scalar, decimal_scale};

/// The most digits of Arrow's decimals of 128 and 256 bits.
const DECIMAL128_DIGITS: u8 = 38;
const DECIMAL256_DIGITS: u8 = 76;
/// The name by which [`ArrayTarget`] knows that texts are UUIDs.
const UUID: &str = "UUID";

/// The table's columns that get values by a Colonnade stream, in the order of the data's.
pub(super) struct StreamColumns {
    /// As the server receives them.
    pub(super) schema: SchemaRef,
    pub(super) targets: Vec<ColumnTarget>,
}

impl StreamColumns {
    /// The columns of these names of a table of PostgreSQL; `None` if rows go as COPY binary, because of a column that
    /// has no type in the stream or is not there.
    pub(super) fn of<'a>(columns: &[TableColumn], names: impl Iterator<Item = &'a String> + Clone) -> Option<Self> {
        let of = |name: &String| ColumnTarget::of(columns.iter().find(|column| column.name == *name)?);
        let targets = names.clone().map(of).collect::<Option<Vec<_>>>()?;
        let fields = names.zip(&targets);
        let fields = fields.map(|(name, target)| Field::new(name, target.array.field.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        // A stream that has rows has fields.
        (!targets.is_empty()).then_some(Self { schema, targets })
    }
}

/// A column that gets values by a stream.
pub(super) struct ColumnTarget {
    array: ArrayTarget,
    /// The type in PostgreSQL; `None` for a column of `colonnade serve`.
    limits: Option<ColumnType>,
}

impl ColumnTarget {
    /// A column of `colonnade serve`.
    pub(super) fn served(array: ArrayTarget) -> Self {
        Self { array, limits: None }
    }

    /// A column of PostgreSQL; `None` if rows that have it go as COPY binary.
    pub(super) fn of(column: &TableColumn) -> Option<Self> {
        let to = ColumnType::of(column)?;
        let type_name = if to == ColumnType::Uuid { UUID.to_owned() } else { to.name() };
        let field = Arc::new(Field::new(&column.name, received(&to)?, true));
        Some(Self { array: ArrayTarget { field, type_name }, limits: Some(to) })
    }

    /// Whether values for a column of `colonnade serve` can be written exactly, or are refused one by one. PostgreSQL's
    /// columns accept what they do in COPY binary.
    ///
    /// # Errors
    /// They cannot.
    pub(super) fn check_type(&self, field: &Field) -> Result<(), Error> {
        if self.limits.is_none() { self.array.check(field) } else { Ok(()) }
    }

    /// The values as an array of the type in which they are sent. `field` is the batch's column.
    ///
    /// # Errors
    /// A value has no exact form in the column.
    pub(super) fn convert(&self, array: &ArrayRef, field: &Field) -> Result<ArrayRef, ConversionError> {
        if let Some(to) = &self.limits {
            self.check(to, array, field)?;
        }
        self.array.convert(array, field)
    }

    /// Refuses the values that have an exact form in the stream and none in PostgreSQL's column, with the errors of
    /// COPY binary. The conversion refuses all others.
    fn check(&self, to: &ColumnType, array: &ArrayRef, field: &Field) -> Result<(), ConversionError> {
        // Decimals of another type are converted, and compared with the column's digits there.
        let is_checked = match to {
            ColumnType::Numeric(_) => field.data_type() == self.array.field.data_type(),
            to => checks_values(to),
        };
        if !is_checked {
            return Ok(());
        }
        let values = ColumnValues::of(array).map_err(ConversionError::Types)?;
        let meaning = ColumnMeaning::of(field).map_err(ConversionError::Types)?;
        let scale = decimal_scale(field.data_type());
        (0..array.len()).try_for_each(|row| {
            check_value(to, values.get(row), &meaning, scale).map_err(|misfit| ConversionError::Value(row, misfit))
        })
    }
}

/// The type that COPY TO sends for a column, and COPY FROM receives: TYPES.md. Enums, intervals, arrays, and numbers
/// that no decimal type holds go as COPY binary.
fn received(to: &ColumnType) -> Option<DataType> {
    Some(match to {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Int2 => DataType::Int16,
        ColumnType::Int4 => DataType::Int32,
        ColumnType::Int8 => DataType::Int64,
        ColumnType::Float4 => DataType::Float32,
        ColumnType::Float8 => DataType::Float64,
        ColumnType::Numeric(limits) => {
            let (precision, scale) = (*limits)?;
            let (precision, scale) = (u8::try_from(precision).ok()?, i8::try_from(scale).ok()?);
            if scale < 0 || scale.unsigned_abs() > precision || precision > DECIMAL256_DIGITS {
                return None;
            }
            if precision <= DECIMAL128_DIGITS {
                DataType::Decimal128(precision, scale)
            } else {
                DataType::Decimal256(precision, scale)
            }
        }
        ColumnType::Text
        | ColumnType::Varchar(_)
        | ColumnType::Char(_)
        | ColumnType::Json
        | ColumnType::Jsonb
        | ColumnType::Uuid => DataType::Utf8,
        ColumnType::Bytea => DataType::Binary,
        ColumnType::Date => DataType::Date32,
        ColumnType::Time(_) => DataType::Time64(TimeUnit::Microsecond),
        ColumnType::Timestamp { zoned, .. } => DataType::Timestamp(TimeUnit::Microsecond, zoned.then(|| "UTC".into())),
        ColumnType::Enum | ColumnType::Interval | ColumnType::Array { .. } => return None,
    })
}

/// Whether the column refuses values that its type in the stream holds.
fn checks_values(to: &ColumnType) -> bool {
    matches!(
        to,
        ColumnType::Text
            | ColumnType::Varchar(_)
            | ColumnType::Char(_)
            | ColumnType::Json
            | ColumnType::Jsonb
            | ColumnType::Date
            | ColumnType::Time(_)
            | ColumnType::Timestamp { .. }
    )
}

fn check_value(to: &ColumnType, value: Scalar<'_>, meaning: &ColumnMeaning, scale: i8) -> Result<(), ValueMisfit> {
    match (to, value) {
        (ColumnType::Date, Scalar::Integer(number)) => date(number, meaning).map(drop),
        (ColumnType::Time(step), Scalar::Integer(number)) => time(number, meaning, *step, to).map(drop),
        (ColumnType::Timestamp { step, .. }, Scalar::Integer(number)) => {
            timestamp(number, meaning, *step, to).map(drop)
        }
        (ColumnType::Numeric(Some(limits)), number @ (Scalar::Decimal(_) | Scalar::WideDecimal(_))) => {
            check_numeric(number, scale, *limits)
        }
        (_, Scalar::Text(text)) => check_length(to, text).and_then(|()| check_nul(text)),
        _ => Ok(()),
    }
}
