//! Values that are not nested, in another type.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type,
    IntervalMonthDayNanoType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, PrimitiveArray, downcast_integer};
use arrow_buffer::{BooleanBuffer, i256};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::array::{Unfit, meant};
use crate::write::kind::ColumnMeaning;
use crate::write::misfit::{ValueMisfit, unit_name};
use crate::write::uuid::uuid;
use crate::write::values::{ColumnValues, Scalar};

/// Seconds.
const DAY: i64 = 86_400;
/// The first timestamp that DuckDB has, in microseconds. It stores earlier ones from Arrow, too, but a cast of one to text is then a fatal
/// error, after which the database must be opened again (DuckDB 2.0.0).
const FIRST_MOMENT: i128 = -9_223_372_022_400_000_000;

/// Whether some values of the first type can be values of the second.
pub(super) fn can_fit(from: &DataType, to: &DataType) -> bool {
    use ColumnMeaning as M;
    let (Some(own), Some(target)) = (ColumnMeaning::of_type(from, None), ColumnMeaning::of_type(to, None)) else {
        return false;
    };
    match (&own, &target) {
        (M::Integer { .. }, M::Integer { .. } | M::Float { .. } | M::Decimal { .. })
        | (M::Float { .. }, M::Float { .. })
        | (M::Decimal { .. }, M::Decimal { .. })
        | (M::Date { .. }, M::Date { per_day: 1 })
        | (M::Time { .. }, M::Time { .. })
        | (M::Duration { .. }, M::Duration { .. })
        | (M::Interval, M::Interval)
        | (M::Bool, M::Bool)
        | (M::Text, M::Text) => true,
        (M::Timestamp { zoned: own, .. }, M::Timestamp { zoned: target, .. }) => own == target,
        (M::Bytes, M::Bytes) => from == to || matches!(to, DataType::Binary | DataType::LargeBinary),
        // A UUID.
        (M::Text, M::Bytes) => *to == DataType::FixedSizeBinary(16),
        _ => false,
    }
}

/// The array in the type.
pub(super) fn fit(
    array: &ArrayRef,
    to: &DataType,
    live: Option<&BooleanBuffer>,
    shown: &str,
) -> Result<ArrayRef, Unfit> {
    // Libraries take it for granted that decimals have their precision and moments are in range.
    let has_range = matches!(
        to,
        DataType::Decimal128(..)
            | DataType::Date32
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Timestamp(..)
            | DataType::Interval(_)
    );
    if array.data_type() == to && !has_range {
        return Ok(array.clone());
    }
    let meaning = ColumnMeaning::of_type(array.data_type(), None);
    let meaning = meaning.ok_or_else(|| Unfit::Failed(format!("{} has no plain values", array.data_type())))?;
    let fitting = Fitting {
        values: ColumnValues::of(array).map_err(|error| Unfit::Failed(error.to_string()))?,
        rows: meant(array.logical_nulls().as_ref(), live),
        array,
        to,
        meaning,
        shown,
    };
    macro_rules! integers {
        ($integer:ty) => {
            fitting.build::<$integer>(|value| integer(value).and_then(|number| number.try_into().ok()))
        };
    }
    downcast_integer!(
        to => (integers),
        DataType::Float32 => fitting.build::<Float32Type>(single),
        DataType::Float64 => fitting.build::<Float64Type>(double),
        DataType::Decimal128(precision, scale) => {
            let (own, limit) = (fitting.scale(), i256::from_i128(10).checked_pow(u32::from(*precision)));
            let scaling = limit.and_then(|limit| Scaling::new(own, *scale, limit));
            fitting.build::<Decimal128Type>(|value| scaling.as_ref().and_then(|scaling| scaling.apply(value)))
        },
        DataType::Date32 => fitting.build::<Date32Type>(|value| fitting.days(value)),
        DataType::Time32(TimeUnit::Second) => fitting.build::<Time32SecondType>(|value| fitting.time(value, 1)?.try_into().ok()),
        DataType::Time32(_) => fitting.build::<Time32MillisecondType>(|value| fitting.time(value, 1_000)?.try_into().ok()),
        DataType::Time64(TimeUnit::Nanosecond) => fitting.build::<Time64NanosecondType>(|value| fitting.time(value, 1_000_000_000)),
        DataType::Time64(_) => fitting.build::<Time64MicrosecondType>(|value| fitting.time(value, 1_000_000)),
        DataType::Timestamp(TimeUnit::Second, _) => fitting.build::<TimestampSecondType>(|value| fitting.moment(value, 1)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => fitting.build::<TimestampMillisecondType>(|value| fitting.moment(value, 1_000)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => fitting.build::<TimestampMicrosecondType>(|value| fitting.moment(value, 1_000_000)),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => fitting.build::<TimestampNanosecondType>(|value| fitting.moment(value, 1_000_000_000)),
        DataType::Duration(TimeUnit::Microsecond) => fitting.build::<DurationMicrosecondType>(|value| fitting.scaled(value, 1_000_000)),
        DataType::Interval(IntervalUnit::MonthDayNano) => fitting.build::<IntervalMonthDayNanoType>(|value| match value {
            Scalar::Interval(interval) if interval.nanoseconds % 1_000 == 0 => Some(interval),
            _ => None,
        }),
        DataType::FixedSizeBinary(16) if matches!(fitting.meaning, ColumnMeaning::Text) => fitting.uuids(),
        _ => Ok(cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })?)
    )
}

/// An array on its way to another type.
struct Fitting<'a> {
    array: &'a ArrayRef,
    values: ColumnValues,
    meaning: ColumnMeaning,
    rows: Option<BooleanBuffer>,
    to: &'a DataType,
    shown: &'a str,
}

impl Fitting<'_> {
    /// An array of what `value` makes of each value. `None` is a misfit. Values of the same type stay where they are.
    fn build<T: ArrowPrimitiveType>(&self, value: impl Fn(Scalar<'_>) -> Option<T::Native>) -> Result<ArrayRef, Unfit> {
        if self.array.data_type() == self.to {
            let misfit = |row: &usize| self.meant(*row).is_some_and(|scalar| value(scalar).is_none());
            return match (0..self.array.len()).find(misfit) {
                Some(row) => Err(Unfit::Value(row, self.misfit(self.values.get(row)))),
                None => Ok(self.array.clone()),
            };
        }
        let mut made = Vec::with_capacity(self.array.len());
        for row in 0..self.array.len() {
            let native = match self.meant(row) {
                Some(scalar) => value(scalar).ok_or_else(|| Unfit::Value(row, self.misfit(scalar)))?,
                None => T::Native::default(),
            };
            made.push(native);
        }
        let array = PrimitiveArray::<T>::try_new(made.into(), self.array.logical_nulls())?;
        Ok(Arc::new(array.with_data_type(self.to.clone())))
    }

    /// The value of a row, unless it is NULL or below one.
    fn meant(&self, row: usize) -> Option<Scalar<'_>> {
        if self.rows.as_ref().is_some_and(|rows| !rows.value(row)) {
            return None;
        }
        Some(self.values.get(row)).filter(|scalar| !matches!(scalar, Scalar::Null))
    }

    fn uuids(&self) -> Result<ArrayRef, Unfit> {
        let mut bytes = Vec::with_capacity(self.array.len() * 16);
        for row in 0..self.array.len() {
            let id = match self.meant(row) {
                Some(Scalar::Text(text)) => uuid(text).ok_or_else(|| {
                    Unfit::Value(row, ValueMisfit::text("a text that is not a uuid of 36 characters"))
                })?,
                _ => [0; 16],
            };
            bytes.extend_from_slice(&id);
        }
        Ok(Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), self.array.logical_nulls())?))
    }

    /// The scale of the decimals; integers have none.
    fn scale(&self) -> i8 {
        match &self.values {
            ColumnValues::Decimal(decimals) => decimals.scale(),
            ColumnValues::WideDecimal(decimals) => decimals.scale(),
            _ => 0,
        }
    }

    /// How many units of the data a second, or a day, has.
    fn per(&self) -> i64 {
        match self.meaning {
            ColumnMeaning::Date { per_day } => per_day,
            ColumnMeaning::Time { per_second }
            | ColumnMeaning::Timestamp { per_second, .. }
            | ColumnMeaning::Duration { per_second } => per_second,
            _ => 1,
        }
    }

    /// The largest and the smallest date mean infinity (TYPES.md), and no other one becomes these. DuckDB's dates begin after them.
    fn days(&self, value: Scalar<'_>) -> Option<i32> {
        let Scalar::Integer(number) = value else { return None };
        let days = (number % self.per() == 0).then(|| number / self.per())?;
        let is_infinite = days.unsigned_abs() == i64::from(i32::MAX).unsigned_abs();
        i32::try_from(days).ok().filter(|days| *days != i32::MIN && (!is_infinite || self.per() == 1))
    }

    /// From 0:00 to 24:00.
    fn time(&self, value: Scalar<'_>, per_second: i64) -> Option<i64> {
        self.scaled(value, per_second).filter(|number| (0..=DAY * per_second).contains(number))
    }

    /// The largest and the smallest number mean infinity in every unit (TYPES.md).
    fn moment(&self, value: Scalar<'_>, per_second: i64) -> Option<i64> {
        match value {
            Scalar::Integer(number) if number.unsigned_abs() == i64::MAX.unsigned_abs() => Some(number),
            _ => self.scaled(value, per_second).filter(|number| {
                let micros = i128::from(*number) * 1_000_000 / i128::from(per_second);
                (FIRST_MOMENT..i128::from(i64::MAX)).contains(&micros)
            }),
        }
    }

    fn scaled(&self, value: Scalar<'_>, per_second: i64) -> Option<i64> {
        let (Scalar::Integer(number), own) = (value, self.per()) else { return None };
        if own <= per_second {
            return number.checked_mul(per_second / own);
        }
        let units = own / per_second;
        (number % units == 0).then(|| number / units)
    }

    #[cold]
    fn misfit(&self, value: Scalar<'_>) -> ValueMisfit {
        let number = |value: &dyn std::fmt::Display| ValueMisfit::number(value, self.shown);
        match value {
            Scalar::Integer(number) if !matches!(self.meaning, ColumnMeaning::Integer { .. }) => {
                let per = self.per();
                let is_day = matches!(self.meaning, ColumnMeaning::Date { per_day: 1 });
                ValueMisfit::moment(number, if is_day { "days since 1970" } else { unit_name(per) }, self.shown)
            }
            Scalar::Integer(value) => number(&value),
            Scalar::Unsigned(value) => number(&value),
            Scalar::Float(value) => number(&value),
            Scalar::Decimal(value) => number(&format!("{value}e{}", -i32::from(self.scale()))),
            Scalar::WideDecimal(value) => number(&format!("{value}e{}", -i32::from(self.scale()))),
            Scalar::Interval(interval) => ValueMisfit::moment(interval.nanoseconds, "ns", self.shown),
            _ => number(&"a value"),
        }
    }
}

fn integer(value: Scalar<'_>) -> Option<i128> {
    match value {
        Scalar::Integer(number) => Some(number.into()),
        Scalar::Unsigned(number) => Some(number.into()),
        _ => None,
    }
}

fn double(value: Scalar<'_>) -> Option<f64> {
    match value {
        Scalar::Float(number) => Some(number),
        _ => integer(value).filter(|number| *number as f64 as i128 == *number).map(|number| number as f64),
    }
}

fn single(value: Scalar<'_>) -> Option<f32> {
    match value {
        Scalar::Float(number) if number.is_nan() => Some(f32::NAN),
        Scalar::Float(number) => Some(number as f32).filter(|single| f64::from(*single) == number),
        _ => integer(value).filter(|number| *number as f32 as i128 == *number).map(|number| number as f32),
    }
}

/// From units of one power of ten to units of another.
struct Scaling {
    factor: i256,
    /// Whether to divide.
    shrinks: bool,
    /// The first number that has too many digits.
    limit: i256,
}

impl Scaling {
    fn new(own: i8, wanted: i8, limit: i256) -> Option<Self> {
        let shift = i32::from(wanted) - i32::from(own);
        let factor = i256::from_i128(10).checked_pow(shift.unsigned_abs())?;
        Some(Self { factor, shrinks: shift < 0, limit })
    }

    fn apply(&self, value: Scalar<'_>) -> Option<i128> {
        let number = match value {
            Scalar::Decimal(number) => i256::from_i128(number),
            Scalar::WideDecimal(number) => number,
            _ => i256::from_i128(integer(value)?),
        };
        let scaled = if self.factor == i256::ONE {
            number
        } else if self.shrinks {
            let is_whole = number.checked_rem(self.factor)? == i256::ZERO;
            is_whole.then(|| number.checked_div(self.factor))??
        } else {
            number.checked_mul(self.factor)?
        };
        if scaled.checked_abs()? >= self.limit { None } else { scaled.to_i128() }
    }
}
