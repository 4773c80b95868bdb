//! Rows as text: fields of a file for LOAD DATA, or values of an INSERT.
//! <https://dev.mysql.com/doc/refman/8.4/en/load-data.html#load-data-field-line-handling>
//!
//! In a file, a tab ends a field and a line feed a row; a backslash escapes both and itself, and `\N` is NULL. The file
//! has the character set `binary`, so that each byte stands for itself.

use std::io::Write as _;

use arrow_array::RecordBatch;
use arrow_schema::DataType;

use super::check::{check_bytes, check_text};
use super::column_type::ColumnType;
use super::digits::{push_signed, push_unsigned};
use super::moment::{push_moment, push_time_of_day};
use super::number::{push_decimal, push_float, push_wide_decimal};
use crate::write::BLOCK;
use crate::write::kind::ColumnMeaning;
use crate::write::misfit::ValueMisfit;
use crate::write::values::{ColumnValues, Scalar};
use crate::{Error, parameter};

/// What the server does with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Reads it from a file of LOAD DATA.
    Load,
    /// Executes it as a part of INSERT.
    Insert,
}

/// A column that receives values.
#[derive(Clone, Debug)]
pub(super) struct WrittenColumn {
    pub(super) name: String,
    pub(super) to: ColumnType,
    /// Why NULL is refused.
    pub(super) no_null: Option<&'static str>,
}

/// Makes rows of a table's columns.
pub(super) struct RowEncoder {
    columns: Vec<WrittenColumn>,
    syntax: Syntax,
    block: Vec<u8>,
    /// The rows of the block, and of all blocks.
    in_block: u64,
    rows: u64,
}

/// A column of a batch with what its conversion needs.
pub(super) struct BatchColumn {
    values: ColumnValues,
    meaning: ColumnMeaning,
    /// The scale of decimals, as Arrow has it.
    scale: i8,
}

impl RowEncoder {
    pub(super) fn new(columns: Vec<WrittenColumn>, syntax: Syntax) -> Self {
        Self { columns, syntax, block: Vec::new(), in_block: 0, rows: 0 }
    }

    /// The bytes of the block so far.
    pub(super) fn len(&self) -> usize {
        self.block.len()
    }

    /// The block and its rows. The next one starts empty.
    pub(super) fn take(&mut self) -> (Vec<u8>, u64) {
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK + BLOCK / 8));
        (block, std::mem::take(&mut self.in_block))
    }

    /// The columns of a batch.
    pub(super) fn columns(&self, batch: &RecordBatch) -> Result<Vec<BatchColumn>, Error> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        columns
            .map(|(field, array)| {
                let (values, meaning) = (ColumnValues::of(array)?, ColumnMeaning::of(field)?);
                Ok(BatchColumn { values, meaning, scale: scale(field.data_type()) })
            })
            .collect()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// A value has no exact form in its column. The block is then useless.
    pub(super) fn push(&mut self, columns: &[BatchColumn], row: usize) -> Result<(), Error> {
        let (out, syntax) = (&mut self.block, self.syntax);
        let separator = match syntax {
            Syntax::Load => b'\t',
            Syntax::Insert => b',',
        };
        if syntax == Syntax::Insert {
            out.extend_from_slice(if self.in_block > 0 { b",(" } else { b"(" });
        }
        let mut first = true;
        for (to, column) in self.columns.iter().zip(columns) {
            if !std::mem::take(&mut first) {
                out.push(separator);
            }
            push_value(out, syntax, to, column, row).map_err(|misfit| misfit.at(&to.name, self.rows + 1))?;
        }
        out.push(if syntax == Syntax::Load { b'\n' } else { b')' });
        self.in_block += 1;
        self.rows += 1;
        Ok(())
    }
}

/// The scale of the decimals in a type.
fn scale(data_type: &DataType) -> i8 {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale,
        DataType::Dictionary(_, values) => scale(values),
        _ => 0,
    }
}

/// Appends a value.
#[inline]
fn push_value(
    out: &mut Vec<u8>,
    syntax: Syntax,
    column: &WrittenColumn,
    from: &BatchColumn,
    row: usize,
) -> Result<(), ValueMisfit> {
    use ColumnType as T;
    let to = &column.to;
    match (to, from.values.get(row)) {
        (_, Scalar::Null) => match (column.no_null, syntax) {
            (Some(why), _) => return Err(ValueMisfit::null(why)),
            (None, Syntax::Load) => out.extend_from_slice(b"\\N"),
            (None, Syntax::Insert) => out.extend_from_slice(b"NULL"),
        },
        (T::Integer { bits, signed }, Scalar::Integer(number)) => {
            if !is_in_range(number, *bits, *signed) {
                return refused(to, number);
            }
            push_signed(out, number);
        }
        (T::Integer { bits, signed }, Scalar::Unsigned(number)) => {
            let most = u64::MAX >> (64 - u32::from(*bits) + u32::from(*signed));
            if number > most {
                return refused(to, number);
            }
            push_unsigned(out, number);
        }
        (T::Integer { .. }, Scalar::Bool(value)) => out.push(b'0' + u8::from(value)),
        (T::Bit(_), Scalar::Bool(value)) => push_bits(out, syntax, value.into()),
        (T::Bit(bits), Scalar::Integer(number)) => match u64::try_from(number) {
            Ok(number) if number <= u64::MAX >> (64 - bits) => push_bits(out, syntax, number),
            _ => return refused(to, number),
        },
        (T::Bit(bits), Scalar::Unsigned(number)) => {
            if number > u64::MAX >> (64 - bits) {
                return refused(to, number);
            }
            push_bits(out, syntax, number);
        }
        (T::Year, Scalar::Integer(number)) => quoted(out, syntax, |out| push_year(out, to, number))?,
        (T::Year, Scalar::Unsigned(number)) => {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            quoted(out, syntax, |out| push_year(out, to, number))?;
        }
        (T::Float { .. } | T::Double { .. }, Scalar::Float(number)) => {
            quoted(out, syntax, |out| push_float(out, to, number))?;
        }
        (T::Float { signed } | T::Double { signed }, Scalar::Integer(number)) => {
            if number.unsigned_abs() > exact_integers(to) || number < 0 && !signed {
                return refused(to, number);
            }
            push_signed(out, number);
        }
        (T::Float { .. } | T::Double { .. }, Scalar::Unsigned(number)) => {
            if number > exact_integers(to) {
                return refused(to, number);
            }
            push_unsigned(out, number);
        }
        (T::Decimal { .. }, Scalar::Integer(number)) => push_decimal(out, to, number.into(), 0)?,
        (T::Decimal { .. }, Scalar::Unsigned(number)) => push_decimal(out, to, number.into(), 0)?,
        (T::Decimal { .. }, Scalar::Decimal(number)) => push_decimal(out, to, number, from.scale)?,
        (T::Decimal { .. }, Scalar::WideDecimal(number)) => {
            push_wide_decimal(out, to, number, from.scale)?;
        }
        (T::Date | T::DateTime(_) | T::Timestamp(_), Scalar::Integer(number)) => {
            quoted(out, syntax, |out| push_moment(out, to, &from.meaning, number))?;
        }
        (T::Time(step), Scalar::Integer(number)) => {
            quoted(out, syntax, |out| push_time_of_day(out, to, *step, &from.meaning, number))?;
        }
        (_, Scalar::Text(text)) => {
            check_text(to, text)?;
            push_bytes(out, syntax, text.as_bytes());
        }
        (T::Uuid | T::Char { .. }, Scalar::Bytes(bytes)) => {
            let bytes = bytes.try_into().or_else(|_| refused(to, "a value"))?;
            let text = parameter::uuid(bytes);
            push_bytes(out, syntax, text.as_bytes());
        }
        (_, Scalar::Bytes(bytes)) => {
            check_bytes(to, bytes)?;
            match syntax {
                Syntax::Load => push_bytes(out, syntax, bytes),
                Syntax::Insert => push_hexadecimal(out, bytes),
            }
        }
        // `ColumnType::accepts` has refused all others.
        _ => return refused(to, "a value"),
    }
    Ok(())
}

#[cold]
fn refused<T>(to: &ColumnType, value: impl std::fmt::Display) -> Result<T, ValueMisfit> {
    Err(ValueMisfit::number(value, &to.name()))
}

#[inline]
fn is_in_range(number: i64, bits: u8, signed: bool) -> bool {
    match (bits, signed) {
        (64, true) => true,
        (64, false) => number >= 0,
        (_, true) => (-(1 << (bits - 1))..1 << (bits - 1)).contains(&number),
        (_, false) => (0..1 << bits).contains(&number),
    }
}

/// The largest integer up to which each has a float.
fn exact_integers(to: &ColumnType) -> u64 {
    if matches!(to, ColumnType::Float { .. }) { 1 << f32::MANTISSA_DIGITS } else { 1 << f64::MANTISSA_DIGITS }
}

/// A number of bits: their bytes, of which LOAD DATA makes the column's value, or a number.
fn push_bits(out: &mut Vec<u8>, syntax: Syntax, number: u64) {
    match syntax {
        Syntax::Insert => push_unsigned(out, number),
        Syntax::Load => {
            let bytes = number.to_be_bytes();
            let start = (number.leading_zeros() / 8).min(7) as usize;
            push_bytes(out, syntax, &bytes[start..]);
        }
    }
}

/// Four digits, because MySQL reads one or two as a year since 1970.
fn push_year(out: &mut Vec<u8>, to: &ColumnType, number: i64) -> Result<(), ValueMisfit> {
    if number != 0 && !(1901..=2155).contains(&number) {
        return refused(to, number);
    }
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{number:04}");
    Ok(())
}

/// Appends what has no character that would need an escape.
fn quoted(
    out: &mut Vec<u8>,
    syntax: Syntax,
    push: impl FnOnce(&mut Vec<u8>) -> Result<(), ValueMisfit>,
) -> Result<(), ValueMisfit> {
    if syntax == Syntax::Load {
        return push(out);
    }
    out.push(b'\'');
    push(out)?;
    out.push(b'\'');
    Ok(())
}

/// Appends bytes with escapes.
#[inline]
fn push_bytes(out: &mut Vec<u8>, syntax: Syntax, bytes: &[u8]) {
    if syntax == Syntax::Insert {
        out.push(b'\'');
    }
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| escape(syntax, *byte).is_some()) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[b'\\', escape(syntax, rest[at]).unwrap_or(rest[at])]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    if syntax == Syntax::Insert {
        out.push(b'\'');
    }
}

/// What stands for a byte behind a backslash, if it cannot stand for itself.
#[inline]
fn escape(syntax: Syntax, byte: u8) -> Option<u8> {
    match (byte, syntax) {
        (b'\\', _) => Some(b'\\'),
        (b'\t', Syntax::Load) => Some(b't'),
        (b'\n', Syntax::Load) => Some(b'n'),
        (b'\'', Syntax::Insert) => Some(b'\''),
        (0, Syntax::Insert) => Some(b'0'),
        _ => None,
    }
}

fn push_hexadecimal(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b"X'");
    out.extend(bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]));
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(syntax: Syntax, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_bytes(&mut out, syntax, bytes);
        out
    }

    #[test]
    fn bytes_are_escaped() {
        assert_eq!(escaped(Syntax::Load, b"a\tb\nc\\N'\0"), b"a\\tb\\nc\\\\N'\0");
        assert_eq!(escaped(Syntax::Insert, b"a\tb\nc\\N'\0"), b"'a\tb\nc\\\\N\\'\\0'");
        assert_eq!(escaped(Syntax::Load, b""), b"");
    }

    #[test]
    fn integers_have_the_columns_range() {
        assert!(is_in_range(-128, 8, true) && !is_in_range(128, 8, true) && !is_in_range(-1, 8, false));
        assert!(is_in_range(i64::MIN, 64, true) && is_in_range(i64::MAX, 64, false));
        assert!(is_in_range(16_777_215, 24, false) && !is_in_range(16_777_216, 24, false));
    }
}
