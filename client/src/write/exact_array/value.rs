//! One value in the form that a column's type wants.

use arrow_buffer::{IntervalMonthDayNano, i256};

use crate::write::kind::ColumnMeaning;
use crate::write::misfit::{ValueMisfit, unit_name};
use crate::write::values::{ColumnValues, Scalar};

/// The largest integers of which each has a float.
pub(super) const EXACT_FLOAT32: u64 = 1 << 24;
pub(super) const EXACT_FLOAT64: u64 = 1 << 53;

/// A column of a batch, with what its conversion needs.
pub(super) struct Source<'a> {
    pub(super) values: ColumnValues,
    pub(super) meaning: ColumnMeaning,
    /// The scale of decimals.
    pub(super) scale: i8,
    pub(super) rows: usize,
    /// The database's name of the column's type.
    pub(super) type_name: &'a str,
}

impl Source<'_> {
    #[cold]
    pub(super) fn misfit(&self, value: impl std::fmt::Display) -> ValueMisfit {
        ValueMisfit::number(value, self.type_name)
    }

    /// The error of a value that `accepts` does not let through.
    #[cold]
    pub(super) fn other<T>(&self) -> Result<T, ValueMisfit> {
        Err(self.misfit("a value"))
    }

    /// `exact` is the largest integer up to which each one has a float.
    pub(super) fn float(&self, value: Scalar<'_>, exact: u64) -> Result<f64, ValueMisfit> {
        match value {
            Scalar::Float(number) => Ok(number),
            Scalar::Integer(number) if number.unsigned_abs() <= exact => Ok(number as f64),
            Scalar::Unsigned(number) if number <= exact => Ok(number as f64),
            Scalar::Integer(number) => Err(self.misfit(number)),
            Scalar::Unsigned(number) => Err(self.misfit(number)),
            _ => self.other(),
        }
    }

    /// The number as a count of 10^-scale, with at most `precision` digits.
    pub(super) fn decimal(&self, value: Scalar<'_>, precision: Option<u8>, scale: i8) -> Result<i256, ValueMisfit> {
        let (number, from) = match value {
            Scalar::Integer(number) => (i256::from_i128(number.into()), 0),
            Scalar::Unsigned(number) => (i256::from_i128(number.into()), 0),
            Scalar::Decimal(number) => (i256::from_i128(number), self.scale),
            Scalar::WideDecimal(number) => (number, self.scale),
            _ => return self.other(),
        };
        let power = |by: i32| u32::try_from(by).ok().and_then(|by| i256::from_i128(10).checked_pow(by));
        let shift = i32::from(scale) - i32::from(from);
        let scaled = if number == i256::ZERO {
            Some(number)
        } else if shift >= 0 {
            power(shift).and_then(|power| number.checked_mul(power))
        } else {
            power(-shift).filter(|power| number.checked_rem(*power) == Some(i256::ZERO)).map(|power| number / power)
        };
        let limit = precision.and_then(|precision| power(precision.into()));
        let fits = |scaled: &i256| limit.is_none_or(|limit| *scaled < limit && *scaled > limit.wrapping_neg());
        let shown = || if from == 0 { number.to_string() } else { format!("{number}e{}", -i32::from(from)) };
        scaled.filter(fits).ok_or_else(|| self.misfit(shown()))
    }

    pub(super) fn date(&self, value: Scalar<'_>) -> Result<i32, ValueMisfit> {
        let (Scalar::Integer(number), ColumnMeaning::Date { per_day }) = (value, &self.meaning) else {
            return self.other();
        };
        let days = (number % per_day == 0).then_some(number / per_day).and_then(|days| i32::try_from(days).ok());
        let unit = if *per_day == 1 { "days since 1970" } else { "ms since 1970" };
        days.ok_or_else(|| ValueMisfit::moment(number, unit, self.type_name))
    }

    /// The time in units of which a second has `to`.
    pub(super) fn time(&self, value: Scalar<'_>, to: i64) -> Result<i64, ValueMisfit> {
        let (Scalar::Integer(number), ColumnMeaning::Time { per_second }) = (value, &self.meaning) else {
            return self.other();
        };
        let scaled = rescaled(number, *per_second, to).filter(|scaled| (0..=86_400 * to).contains(scaled));
        scaled.ok_or_else(|| ValueMisfit::moment(number, unit_name(*per_second), self.type_name))
    }

    /// The timestamp in units of which a second has `to`. The largest and the smallest number mean infinity in each unit.
    pub(super) fn timestamp(&self, value: Scalar<'_>, to: i64) -> Result<i64, ValueMisfit> {
        let (Scalar::Integer(number), ColumnMeaning::Timestamp { per_second, .. }) = (value, &self.meaning) else {
            return self.other();
        };
        if number.unsigned_abs() == i64::MAX.unsigned_abs() {
            return Ok(number);
        }
        let is_finite = |scaled: &i64| scaled.unsigned_abs() < i64::MAX.unsigned_abs();
        let scaled = rescaled(number, *per_second, to).filter(is_finite);
        scaled.ok_or_else(|| ValueMisfit::moment(number, unit_name(*per_second), self.type_name))
    }

    pub(super) fn interval(&self, value: Scalar<'_>) -> Result<IntervalMonthDayNano, ValueMisfit> {
        match (value, &self.meaning) {
            (Scalar::Interval(value), _) => Ok(value),
            (Scalar::Integer(number), ColumnMeaning::Duration { per_second }) => {
                let nanos = rescaled(number, *per_second, 1_000_000_000);
                let nanos = nanos.ok_or_else(|| ValueMisfit::moment(number, unit_name(*per_second), self.type_name))?;
                Ok(IntervalMonthDayNano::new(0, 0, nanos))
            }
            _ => self.other(),
        }
    }

    /// The bytes of a column so far. Its offsets have 32 bits.
    pub(super) fn checked_size(&self, bytes: usize) -> Result<usize, ValueMisfit> {
        match i32::try_from(bytes) {
            Ok(_) => Ok(bytes),
            Err(_) => Err(self.misfit(format!("a column of {bytes} bytes in one batch"))),
        }
    }
}

/// The same number in 32 bits.
pub(super) fn float32(source: &Source<'_>, number: f64) -> Result<f32, ValueMisfit> {
    let short = number as f32;
    let is_exact = f64::from(short).to_bits() == number.to_bits() || number.is_nan();
    if is_exact { Ok(short) } else { Err(source.misfit(number)) }
}

/// The number in another unit, if it is whole.
fn rescaled(number: i64, from: i64, to: i64) -> Option<i64> {
    if to >= from {
        return number.checked_mul(to / from);
    }
    (number % (from / to) == 0).then(|| number / (from / to))
}

/// Whether a text is like `123e4567-e89b-12d3-a456-426614174000`.
pub(super) fn is_uuid(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

/// The text of a UUID's 16 bytes.
pub(super) fn uuid_text(bytes: &[u8]) -> Option<String> {
    let digits = format!("{:032x}", u128::from_be_bytes(bytes.try_into().ok()?));
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Some(parts.join("-"))
}
