//! Rows in COPY's binary format.
//! <https://www.postgresql.org/docs/current/sql-copy.html>, "Binary Format"; the forms of values are those of the types'
//! receive functions.

use arrow_array::RecordBatch;

use super::column_type::ColumnType;
use super::frequent_column::FrequentColumn;
use super::moment::{self, date, time, timestamp};
use super::numeric;
use crate::Error;
use crate::write::BLOCK;
use crate::write::kind::ColumnMeaning;
use crate::write::misfit::ValueMisfit;
use crate::write::moment::microseconds;
use crate::write::uuid::uuid;
use crate::write::values::{ColumnValues, Scalar, decimal_scale};

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const TRAILER: [u8; 2] = (-1i16).to_be_bytes();
const NULL: [u8; 4] = (-1i32).to_be_bytes();
/// The version of jsonb's binary form: `jsonb_recv` in PostgreSQL's jsonb.c.
const JSONB_VERSION: u8 = 1;
/// The largest integers of which each has a float.
const EXACT_FLOAT4: u64 = 1 << 24;
const EXACT_FLOAT8: u64 = 1 << 53;

/// Makes rows of a table's columns.
pub(super) struct RowEncoder {
    columns: Vec<(String, ColumnType)>,
    block: Vec<u8>,
    rows: u64,
}

/// A column of a batch with what its conversion needs.
pub(super) struct BatchColumn {
    values: ColumnValues,
    meaning: ColumnMeaning,
    /// The scale of decimals, as Arrow has it.
    scale: i8,
    /// The short way for most values.
    frequent: Option<FrequentColumn>,
}

impl RowEncoder {
    pub(super) fn new(columns: Vec<(String, ColumnType)>) -> Self {
        Self { columns, block: SIGNATURE.to_vec(), rows: 0 }
    }

    /// The rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The bytes of the block so far.
    pub(super) fn len(&self) -> usize {
        self.block.len()
    }

    /// The block. The next one starts empty.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK + BLOCK / 8))
    }

    /// The last block.
    pub(super) fn end(&mut self) -> Vec<u8> {
        self.block.extend_from_slice(&TRAILER);
        std::mem::take(&mut self.block)
    }

    /// The columns of a batch.
    pub(super) fn columns(&self, batch: &RecordBatch) -> Result<Vec<BatchColumn>, Error> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns()).zip(&self.columns);
        columns
            .map(|((field, array), (_, to))| {
                let (values, meaning) = (ColumnValues::of(array)?, ColumnMeaning::of(field)?);
                let scale = decimal_scale(field.data_type());
                let frequent = FrequentColumn::of(&values, &meaning, to, scale);
                Ok(BatchColumn { values, meaning, scale, frequent })
            })
            .collect()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// A value has no exact form in its column. The block is then useless.
    pub(super) fn push(&mut self, columns: &[BatchColumn], row: usize) -> Result<(), Error> {
        self.block.extend_from_slice(&(self.columns.len() as u16).to_be_bytes());
        for ((name, to), column) in self.columns.iter().zip(columns) {
            if column.frequent.as_ref().is_some_and(|frequent| frequent.push(&mut self.block, row)) {
                continue;
            }
            push_value(&mut self.block, to, column, &column.meaning, column.values.get(row))
                .map_err(|misfit| misfit.at(name, self.rows + 1))?;
        }
        self.rows += 1;
        Ok(())
    }
}

/// Appends a length and a value.
#[inline]
fn push_value(
    out: &mut Vec<u8>,
    to: &ColumnType,
    column: &BatchColumn,
    meaning: &ColumnMeaning,
    value: Scalar<'_>,
) -> Result<(), ValueMisfit> {
    use ColumnMeaning as M;
    match (to, value) {
        (_, Scalar::Null) => out.extend_from_slice(&NULL),
        (ColumnType::Int4, Scalar::Integer(number)) => {
            sized(out, &i32::try_from(number).or(range(to, number))?.to_be_bytes())
        }
        (ColumnType::Int8, Scalar::Integer(number)) => sized(out, &number.to_be_bytes()),
        (ColumnType::Int2, Scalar::Integer(number)) => {
            sized(out, &i16::try_from(number).or(range(to, number))?.to_be_bytes())
        }
        (ColumnType::Int2 | ColumnType::Int4 | ColumnType::Int8, Scalar::Unsigned(number)) => {
            let number = i64::try_from(number).or(range(to, number))?;
            return push_value(out, to, column, meaning, Scalar::Integer(number));
        }
        (ColumnType::Float8, Scalar::Float(number)) => sized(out, &number.to_be_bytes()),
        (ColumnType::Float4, Scalar::Float(number)) => sized(out, &float4(number).or(range(to, number))?.to_be_bytes()),
        (ColumnType::Float4 | ColumnType::Float8, Scalar::Integer(number)) => {
            let number = if number.unsigned_abs() <= exact(to) { number as f64 } else { return range(to, number) };
            return push_value(out, to, column, meaning, Scalar::Float(number));
        }
        (ColumnType::Float4 | ColumnType::Float8, Scalar::Unsigned(number)) => {
            let number = if number <= exact(to) { number as f64 } else { return range(to, number) };
            return push_value(out, to, column, meaning, Scalar::Float(number));
        }
        (ColumnType::Numeric(limits), Scalar::Integer(number)) => push_numeric(out, *limits, number.into(), 0)?,
        (ColumnType::Numeric(limits), Scalar::Unsigned(number)) => push_numeric(out, *limits, number.into(), 0)?,
        (ColumnType::Numeric(limits), Scalar::Decimal(number)) => push_numeric(out, *limits, number, column.scale)?,
        (ColumnType::Numeric(limits), Scalar::WideDecimal(number)) => {
            push_wide_numeric(out, *limits, number, column.scale)?;
        }
        (ColumnType::Uuid, Scalar::Text(text)) => {
            let bytes = uuid(text).ok_or_else(|| ValueMisfit::text("a text that is not a uuid of 36 characters"))?;
            sized(out, &bytes);
        }
        (ColumnType::Jsonb, Scalar::Text(text)) => {
            check_nul(text)?;
            with_length(out, |out| {
                out.push(JSONB_VERSION);
                out.extend_from_slice(text.as_bytes());
                Ok(())
            })?;
        }
        (_, Scalar::Text(text)) => {
            check_length(to, text)?;
            push_text(out, text)?;
        }
        (_, Scalar::Bytes(bytes)) => sized_checked(out, bytes)?,
        (ColumnType::Bool, Scalar::Bool(value)) => sized(out, &[u8::from(value)]),
        (ColumnType::Date, Scalar::Integer(number)) => sized(out, &date(number, meaning)?.to_be_bytes()),
        (ColumnType::Time(step), Scalar::Integer(number)) => {
            sized(out, &time(number, meaning, *step, to)?.to_be_bytes())
        }
        (ColumnType::Timestamp { step, .. }, Scalar::Integer(number)) => {
            sized(out, &timestamp(number, meaning, *step, to)?.to_be_bytes());
        }
        (ColumnType::Interval, Scalar::Integer(number)) => {
            let M::Duration { per_second } = meaning else { return range(to, number) };
            let micros = microseconds(number, *per_second).ok_or_else(|| moment::misfit(number, meaning, 1, to))?;
            push_interval(out, micros, 0, 0);
        }
        (ColumnType::Interval, Scalar::Interval(value)) => {
            if value.nanoseconds % 1000 != 0 {
                return Err(moment::misfit(value.nanoseconds, meaning, 1, to));
            }
            push_interval(out, value.nanoseconds / 1000, value.days, value.months);
        }
        (ColumnType::Array { element, of }, Scalar::List(from, end, values)) => {
            let M::List(inner) = meaning else { return range(to, "a list") };
            push_array(out, *element, of, column, inner, (from, end, values))?;
        }
        // `ColumnType::accepts` has refused all others.
        _ => return range(to, "a value"),
    }
    Ok(())
}

fn sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// A value of any length. PostgreSQL's own limit is 1 GiB.
fn sized_checked(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), ValueMisfit> {
    if i32::try_from(bytes.len()).is_err() {
        return Err(ValueMisfit::number(format!("a value of {} bytes", bytes.len()), "a field of PostgreSQL"));
    }
    sized(out, bytes);
    Ok(())
}

/// Refuses a text that `varchar(n)` or `char(n)` cannot hold as it is.
pub(super) fn check_length(to: &ColumnType, text: &str) -> Result<(), ValueMisfit> {
    let (lengths, length) = match to {
        ColumnType::Varchar(most) => (0..=*most, text.chars().count()),
        ColumnType::Char(wanted) => (*wanted..=*wanted, text.chars().count()),
        _ => return Ok(()),
    };
    if lengths.contains(&length) { Ok(()) } else { Err(ValueMisfit::length(length, &to.name())) }
}

pub(super) fn check_nul(text: &str) -> Result<(), ValueMisfit> {
    if text.as_bytes().contains(&0) {
        return Err(ValueMisfit::text("a text with a NUL character, which PostgreSQL's text cannot hold"));
    }
    Ok(())
}

fn push_text(out: &mut Vec<u8>, text: &str) -> Result<(), ValueMisfit> {
    check_nul(text)?;
    sized_checked(out, text.as_bytes())
}

fn push_numeric(out: &mut Vec<u8>, limits: Option<(i32, i32)>, number: i128, scale: i8) -> Result<(), ValueMisfit> {
    let Ok(scale) = u8::try_from(scale) else {
        return push_wide_numeric(out, limits, arrow_buffer::i256::from_i128(number), scale);
    };
    if let Some(limits) = limits
        && !numeric_fits(number, scale, limits)
    {
        return Err(wrong_numeric(&number.to_string(), scale, limits));
    }
    with_length(out, |out| {
        numeric::push(out, number, scale);
        Ok(())
    })
}

/// Refuses a decimal of a scale that is not negative, if it has more digits than the column.
pub(super) fn check_numeric(value: Scalar<'_>, scale: i8, limits: (i32, i32)) -> Result<(), ValueMisfit> {
    let scale = scale.unsigned_abs();
    let digits = match value {
        Scalar::Decimal(number) if numeric_fits(number, scale, limits) => return Ok(()),
        Scalar::Decimal(number) => number.to_string(),
        Scalar::WideDecimal(number) => number.to_string(),
        _ => return Ok(()),
    };
    if numeric::fits(&digits, scale, limits) { Ok(()) } else { Err(wrong_numeric(&digits, scale, limits)) }
}

/// The most frequent case first: the same scale as the column's, and few digits.
fn numeric_fits(number: i128, scale: u8, limits: (i32, i32)) -> bool {
    let short = limits.1 == i32::from(scale) && (0..=38).contains(&limits.0);
    if short && number.unsigned_abs() < 10u128.pow(limits.0.unsigned_abs()) {
        return true;
    }
    numeric::fits(&number.to_string(), scale, limits)
}

fn push_wide_numeric(
    out: &mut Vec<u8>,
    limits: Option<(i32, i32)>,
    number: arrow_buffer::i256,
    scale: i8,
) -> Result<(), ValueMisfit> {
    let (number, scale) = match u8::try_from(scale) {
        Ok(scale) => (number, scale),
        Err(_) => {
            let power = arrow_buffer::i256::from_i128(10).checked_pow(u32::from(scale.unsigned_abs()));
            match power.and_then(|power| number.checked_mul(power)) {
                Some(number) => (number, 0),
                None => return Err(ValueMisfit::number(format!("{number}e{}", -scale), "256 bits")),
            }
        }
    };
    if let Some(limits) = limits
        && !numeric::fits(&number.to_string(), scale, limits)
    {
        return Err(wrong_numeric(&number.to_string(), scale, limits));
    }
    with_length(out, |out| {
        numeric::push_wide(out, number, scale);
        Ok(())
    })
}

#[cold]
fn wrong_numeric(unscaled: &str, scale: u8, limits: (i32, i32)) -> ValueMisfit {
    let value = if scale == 0 { unscaled.to_owned() } else { format!("{unscaled}e-{scale}") };
    ValueMisfit::number(value, &ColumnType::Numeric(Some(limits)).name())
}

/// Appends a length, and what `push` appends.
fn with_length(
    out: &mut Vec<u8>,
    push: impl FnOnce(&mut Vec<u8>) -> Result<(), ValueMisfit>,
) -> Result<(), ValueMisfit> {
    let start = out.len();
    out.extend_from_slice(&NULL);
    push(out)?;
    let length = i32::try_from(out.len() - start - NULL.len());
    let length = length.map_err(|_| ValueMisfit::number("a value of more than 2 GiB", "a field of PostgreSQL"))?;
    out[start..start + NULL.len()].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn push_interval(out: &mut Vec<u8>, micros: i64, days: i32, months: i32) {
    out.extend_from_slice(&16u32.to_be_bytes());
    out.extend_from_slice(&micros.to_be_bytes());
    out.extend_from_slice(&days.to_be_bytes());
    out.extend_from_slice(&months.to_be_bytes());
}

/// `array_recv` in PostgreSQL's arrayfuncs.c: the number of dimensions, whether there are NULLs, the elements' type,
/// and the length and the lower bound of each dimension.
fn push_array(
    out: &mut Vec<u8>,
    element: u32,
    of: &ColumnType,
    column: &BatchColumn,
    meaning: &ColumnMeaning,
    (from, end, values): (usize, usize, &ColumnValues),
) -> Result<(), ValueMisfit> {
    with_length(out, |out| {
        let dimensions = i32::from(from < end);
        out.extend_from_slice(&dimensions.to_be_bytes());
        let has_nulls = (from..end).any(|row| matches!(values.get(row), Scalar::Null));
        out.extend_from_slice(&i32::from(has_nulls).to_be_bytes());
        out.extend_from_slice(&element.to_be_bytes());
        if dimensions == 1 {
            let length = i32::try_from(end - from);
            let length = length.map_err(|_| ValueMisfit::number(end - from, "the length of an array"))?;
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&1i32.to_be_bytes());
        }
        (from..end).try_for_each(|row| push_value(out, of, column, meaning, values.get(row)))
    })
}

#[cold]
fn range<T>(to: &ColumnType, value: impl std::fmt::Display) -> Result<T, ValueMisfit> {
    Err(ValueMisfit::number(value, &to.name()))
}

/// The same number in 32 bits.
fn float4(number: f64) -> Result<f32, ()> {
    let short = number as f32;
    if f64::from(short).to_bits() == number.to_bits() || number.is_nan() { Ok(short) } else { Err(()) }
}

fn exact(to: &ColumnType) -> u64 {
    if *to == ColumnType::Float4 { EXACT_FLOAT4 } else { EXACT_FLOAT8 }
}
