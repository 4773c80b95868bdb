//! What SQLite stores for a value: exactly what the reading side turns into the same value, or nothing.
//! TYPES.md, "Writing".

use std::borrow::Cow;

use arrow_array::ArrayRef;

use super::moment::MomentText;
use super::stored_type::StoredType;
use crate::literal::sqlite::Atom;
use crate::sqlite::decimal;
use crate::write::kind::ColumnMeaning;
use crate::write::misfit::ValueMisfit;
use crate::write::values::{ColumnValues, Scalar};
use crate::{Error, parameter};

/// The largest integer up to which each has a double.
const EXACT: u64 = 1 << 53;

/// Powers of ten.
const ONES: [i64; 19] = {
    let mut ones = [1; 19];
    let mut scale = 1;
    while scale < ones.len() {
        ones[scale] = ones[scale - 1] * 10;
        scale += 1;
    }
    ones
};

/// A column of a batch with what its conversion needs.
pub(super) struct BatchColumn<'m> {
    values: ColumnValues,
    meaning: &'m ColumnMeaning,
}

impl<'m> BatchColumn<'m> {
    pub(super) fn of(array: &ArrayRef, meaning: &'m ColumnMeaning) -> Result<Self, Error> {
        Ok(Self { values: ColumnValues::of(array)?, meaning })
    }
}

/// A column that receives values.
pub(super) struct TargetColumn {
    pub(super) name: String,
    pub(super) stored: StoredType,
    /// Whether SQLite stores another number in place of NULL: the column is the rowid.
    pub(super) numbers_nulls: bool,
}

impl TargetColumn {
    /// What is stored for the value of a row.
    ///
    /// # Errors
    /// SQLite would store another value, or one that is read as another.
    #[inline]
    pub(super) fn atom<'v>(
        &self,
        column: &'v BatchColumn<'_>,
        row: usize,
        moment: &'v mut MomentText,
    ) -> Result<Atom<'v>, ValueMisfit> {
        use StoredType as T;
        let refused = |value: &dyn std::fmt::Display| ValueMisfit::number(value, &self.stored.name());
        Ok(match (self.stored, column.values.get(row)) {
            (_, Scalar::Null) if self.numbers_nulls => {
                let what = "NULL, in whose place SQLite would store a number, because the column is the table's key";
                return Err(ValueMisfit::changed(what, "leave the column out to let SQLite number the rows"));
            }
            (_, Scalar::Null) => Atom::Null,
            (T::Integer, Scalar::Integer(number)) => Atom::Integer(number),
            (T::Integer, Scalar::Unsigned(number)) => {
                Atom::Integer(i64::try_from(number).map_err(|_| refused(&number))?)
            }
            (T::Real, Scalar::Float(number)) => Atom::Real(real(number)?),
            (T::Real, Scalar::Integer(number)) if number.unsigned_abs() <= EXACT => Atom::Real(number as f64),
            (T::Real, Scalar::Unsigned(number)) if number <= EXACT => Atom::Real(number as f64),
            (T::Bool, Scalar::Bool(value)) => Atom::Integer(value.into()),
            (T::Decimal { precision, scale }, Scalar::Decimal(number)) => {
                number_of(number, column.exponent(), precision, scale)
                    .ok_or_else(|| refused(&format!("{number}e{}", -column.exponent())))?
            }
            (T::Decimal { precision, scale }, Scalar::WideDecimal(number)) => {
                let short = number.to_i128().and_then(|short| number_of(short, column.exponent(), precision, scale));
                short.ok_or_else(|| refused(&format!("{number}e{}", -column.exponent())))?
            }
            (T::Decimal { precision, scale }, Scalar::Integer(number)) => {
                number_of(number.into(), 0, precision, scale).ok_or_else(|| refused(&number))?
            }
            (T::Decimal { precision, scale }, Scalar::Unsigned(number)) => {
                number_of(number.into(), 0, precision, scale).ok_or_else(|| refused(&number))?
            }
            (T::Date | T::Time | T::Timestamp { .. }, Scalar::Integer(number)) => {
                let text = moment.write(number, column.meaning, self.stored);
                Atom::Text(Cow::Borrowed(text.ok_or_else(|| self.stored.wrong_moment(number, column.meaning))?))
            }
            (T::Text, Scalar::Text(text)) => Atom::Text(Cow::Borrowed(text)),
            (T::Uuid, Scalar::Bytes(bytes)) => {
                let bytes = bytes.try_into().map_err(|_| refused(&"a value"))?;
                Atom::Text(Cow::Owned(parameter::uuid(bytes)))
            }
            (T::Blob, Scalar::Bytes(bytes)) => Atom::Blob(bytes),
            (_, Scalar::Integer(number)) => return Err(refused(&number)),
            (_, Scalar::Unsigned(number)) => return Err(refused(&number)),
            // `StoredType::accepts` has refused all others.
            _ => return Err(refused(&"a value")),
        })
    }
}

impl BatchColumn<'_> {
    /// The scale of the decimals, as Arrow has it.
    fn exponent(&self) -> i32 {
        match &self.values {
            ColumnValues::Decimal(decimals) => decimals.scale().into(),
            ColumnValues::WideDecimal(decimals) => decimals.scale().into(),
            _ => 0,
        }
    }
}

/// SQLite stores NaN as NULL, and −0.0 as 0.0.
fn real(number: f64) -> Result<f64, ValueMisfit> {
    if number.is_nan() {
        return Err(ValueMisfit::changed("NaN, which SQLite stores as NULL", "replace it, or make it NULL, before"));
    }
    if number == 0.0 && number.is_sign_negative() {
        return Err(ValueMisfit::changed("-0.0, which SQLite stores as 0.0", "add 0.0 to the column before"));
    }
    Ok(number)
}

/// The number that is read as `unscaled` / 10^`exponent` from a column declared DECIMAL(`precision`,`scale`).
#[inline]
fn number_of(unscaled: i128, exponent: i32, precision: u8, scale: u8) -> Option<Atom<'static>> {
    match i64::try_from(unscaled) {
        Ok(short) if exponent == i32::from(scale) && decimal::fits(unscaled, precision) => short_number(short, scale),
        _ => None,
    }
    .or_else(|| long_number(unscaled, exponent, precision, scale))
}

/// The most frequent numbers: few digits, and the column's own scale.
#[inline]
fn short_number(unscaled: i64, scale: u8) -> Option<Atom<'static>> {
    let one = *ONES.get(usize::from(scale))?;
    if unscaled % one == 0 {
        return Some(Atom::Integer(unscaled / one));
    }
    let number = unscaled as f64 / one as f64;
    (decimal::from_real(number, scale) == Some(unscaled.into())).then_some(Atom::Real(number))
}

fn long_number(unscaled: i128, exponent: i32, precision: u8, scale: u8) -> Option<Atom<'static>> {
    let shift = i32::from(scale) - exponent;
    let power = 10i128.checked_pow(shift.unsigned_abs())?;
    let unscaled = match shift {
        0.. => unscaled.checked_mul(power)?,
        _ => (unscaled % power == 0).then(|| unscaled / power)?,
    };
    if !decimal::fits(unscaled, precision) {
        return None;
    }
    let one = 10i128.checked_pow(scale.into())?;
    let whole =
        i64::try_from(unscaled / one).ok().filter(|whole| decimal::from_integer(*whole, scale) == Some(unscaled));
    if let Some(whole) = whole {
        return Some(Atom::Integer(whole));
    }
    let number = unscaled as f64 / one as f64;
    (decimal::from_real(number, scale) == Some(unscaled)).then_some(Atom::Real(number))
}
