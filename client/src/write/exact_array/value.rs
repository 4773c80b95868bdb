//! One value in the form that a column's type wants.

use arrow_buffer::{IntervalMonthDayNano, i256};

use super::{TypeNames, range};
use crate::write::kind::ColumnMeaning;
use crate::write::misfit::ValueMisfit;
use crate::write::values::{ColumnValues, Scalar};

/// A column of a batch, with what its conversion needs.
pub(super) struct Source<'a> {
    pub(super) values: ColumnValues,
    pub(super) meaning: ColumnMeaning,
    /// The scale of decimals.
    pub(super) scale: i8,
    pub(super) rows: usize,
    pub(super) names: TypeNames<'a>,
}

impl Source<'_> {
    #[cold]
    pub(super) fn misfit(&self, value: impl std::fmt::Display) -> ValueMisfit {
        ValueMisfit::number(value, self.names.column)
    }

    /// The error of a moment for a column whose unit a second has `to` of.
    #[cold]
    fn wrong_moment(&self, number: i64, to: i64) -> ValueMisfit {
        let held = match self.meaning {
            ColumnMeaning::Time { .. } => "00:00:00 to 24:00:00",
            ColumnMeaning::Duration { .. } | ColumnMeaning::Interval => {
                "less than 2562047 hours beside days and months"
            }
            ColumnMeaning::Date { .. } => "5877642 BC to the year 5881580",
            _ => "290309 BC to the year 294247",
        };
        ValueMisfit::moment(number, &self.meaning, self.names.column, held, 1_000_000 / to)
    }

    /// The error of a value that `accepts` does not let through.
    #[cold]
    pub(super) fn other<T>(&self) -> Result<T, ValueMisfit> {
        Err(self.misfit("a value"))
    }

    pub(super) fn float64(&self, value: Scalar<'_>) -> Result<f64, ValueMisfit> {
        match value {
            Scalar::Float(number) => Ok(number),
            Scalar::Integer(number) if number as f64 as i128 == i128::from(number) => Ok(number as f64),
            Scalar::Unsigned(number) if number as f64 as i128 == i128::from(number) => Ok(number as f64),
            Scalar::Integer(number) => Err(self.misfit(number)),
            Scalar::Unsigned(number) => Err(self.misfit(number)),
            _ => self.other(),
        }
    }

    pub(super) fn float32(&self, value: Scalar<'_>) -> Result<f32, ValueMisfit> {
        let number = self.float64(value)?;
        let short = number as f32;
        let is_exact = f64::from(short).to_bits() == number.to_bits() || number.is_nan();
        if is_exact { Ok(short) } else { Err(self.misfit(number)) }
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
        let days = (number % per_day == 0).then_some(number / per_day).filter(|days| range::is_date(*days));
        // No date becomes infinity.
        let days = days.filter(|days| *per_day == 1 || days.abs() != i64::from(i32::MAX));
        let days = days.and_then(|days| i32::try_from(days).ok());
        days.ok_or_else(|| self.wrong_moment(number, 1_000_000))
    }

    /// The time in units of which a second has `to`.
    pub(super) fn time(&self, value: Scalar<'_>, to: i64) -> Result<i64, ValueMisfit> {
        let (Scalar::Integer(number), ColumnMeaning::Time { per_second }) = (value, &self.meaning) else {
            return self.other();
        };
        let scaled = rescaled(number, *per_second, to).filter(|scaled| range::times(to).contains(scaled));
        scaled.ok_or_else(|| self.wrong_moment(number, to))
    }

    /// The timestamp in units of which a second has `to`. The largest and the smallest number mean infinity in each
    /// unit.
    pub(super) fn timestamp(&self, value: Scalar<'_>, to: i64) -> Result<i64, ValueMisfit> {
        let (Scalar::Integer(number), ColumnMeaning::Timestamp { per_second, .. }) = (value, &self.meaning) else {
            return self.other();
        };
        if range::is_infinite(number) {
            return Ok(number);
        }
        let scaled = rescaled(number, *per_second, to).filter(|scaled| range::timestamps(to).contains(scaled));
        scaled.ok_or_else(|| self.wrong_moment(number, to))
    }

    /// The duration in units of which a second has `to`, in whole microseconds.
    pub(super) fn duration(&self, value: Scalar<'_>, to: i64) -> Result<i64, ValueMisfit> {
        let (Scalar::Integer(number), ColumnMeaning::Duration { per_second }) = (value, &self.meaning) else {
            return self.other();
        };
        let micros = rescaled(number, *per_second, 1_000_000);
        let micros = micros.filter(|micros| range::durations(1_000_000).contains(micros));
        let scaled = micros.and_then(|micros| rescaled(micros, 1_000_000, to));
        scaled.ok_or_else(|| self.wrong_moment(number, 1_000_000))
    }

    pub(super) fn interval(&self, value: Scalar<'_>) -> Result<IntervalMonthDayNano, ValueMisfit> {
        match value {
            Scalar::Interval(value) if range::is_interval(value) => Ok(value),
            Scalar::Interval(value) => Err(self.wrong_moment(value.nanoseconds, 1_000_000)),
            _ => Ok(IntervalMonthDayNano::new(0, 0, self.duration(value, 1_000_000_000)?)),
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

/// The number in another unit, if it is whole.
fn rescaled(number: i64, from: i64, to: i64) -> Option<i64> {
    if to >= from {
        return number.checked_mul(to / from);
    }
    (number % (from / to) == 0).then(|| number / (from / to))
}
