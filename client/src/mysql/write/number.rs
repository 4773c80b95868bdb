//! Decimals and floats as text.

use std::io::Write as _;

use arrow_buffer::i256;

use super::column_type::ColumnType;
use super::digits::push_scaled;
use crate::write::misfit::ValueMisfit;

const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut at = 1;
    while at < 20 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Appends the shortest digits of which MySQL makes the same float.
pub(super) fn push_float(out: &mut Vec<u8>, to: &ColumnType, number: f64) -> Result<(), ValueMisfit> {
    if !number.is_finite() {
        let what = format!("{number}, which MySQL does not have");
        return Err(ValueMisfit::changed(what, "replace it, or make it NULL, before"));
    }
    if number == 0.0 && number.is_sign_negative() {
        return Err(ValueMisfit::changed("-0.0, which MySQL stores as 0.0", "add 0.0 to the column before"));
    }
    let fits = match to {
        ColumnType::Float { .. } => f64::from(number as f32).to_bits() == number.to_bits(),
        _ => true,
    };
    let (ColumnType::Float { signed } | ColumnType::Double { signed }) = to else {
        return Err(misfit(number, to));
    };
    if !fits || !signed && number.is_sign_negative() {
        return Err(misfit(number, to));
    }
    // MySQL reads every number as a double, and then makes a float of it. The shortest digits of a float could round to
    // another one on this way, those of the double cannot. Writing to a Vec cannot fail.
    let _ = write!(out, "{number:e}");
    Ok(())
}

/// Appends `number` / 10^`scale`.
#[inline]
pub(super) fn push_decimal(out: &mut Vec<u8>, to: &ColumnType, number: i128, scale: i8) -> Result<(), ValueMisfit> {
    let ColumnType::Decimal { precision, scale: kept, signed } = *to else { return Err(misfit(number, to)) };
    // The most frequent case: the column has the same scale, and the number is short.
    if let (Ok(short), true) = (u64::try_from(number.unsigned_abs()), i16::from(scale) == i16::from(kept)) {
        let fits = POWERS.get(usize::from(precision)).is_none_or(|limit| short < *limit);
        if fits && (signed || number >= 0) {
            if number < 0 {
                out.push(b'-');
            }
            push_scaled(out, short, usize::from(kept));
            return Ok(());
        }
    }
    push_long(out, to, &number.to_string(), scale)
}

/// The same for 256 bits.
pub(super) fn push_wide_decimal(
    out: &mut Vec<u8>,
    to: &ColumnType,
    number: i256,
    scale: i8,
) -> Result<(), ValueMisfit> {
    match number.to_i128() {
        Some(short) => push_decimal(out, to, short, scale),
        None => push_long(out, to, &number.to_string(), scale),
    }
}

/// The same for a number of any length, whose digits are in `text`.
fn push_long(out: &mut Vec<u8>, to: &ColumnType, text: &str, scale: i8) -> Result<(), ValueMisfit> {
    let wrong = || {
        let value = if scale == 0 { text.to_owned() } else { format!("{text}e{}", -i16::from(scale)) };
        Err(misfit(value, to))
    };
    let ColumnType::Decimal { precision, scale: kept, signed } = *to else { return wrong() };
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let zeros = usize::from(scale.min(0).unsigned_abs());
    let scale = usize::try_from(scale).unwrap_or(0);
    // At least one digit before the point.
    let digits = format!("{digits:0>width$}{}", "0".repeat(zeros), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let is_zero = whole.is_empty() && fraction.is_empty();
    let fits = whole.len() <= usize::from(precision.saturating_sub(kept)) && fraction.len() <= usize::from(kept);
    if !fits || negative && !signed && !is_zero {
        return wrong();
    }
    if negative && !is_zero {
        out.push(b'-');
    }
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole.as_bytes() });
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction.as_bytes());
    }
    Ok(())
}

#[cold]
fn misfit(value: impl std::fmt::Display, to: &ColumnType) -> ValueMisfit {
    ValueMisfit::number(value, &to.name())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn decimal((precision, kept): (u8, u8), number: i128, scale: i8) -> Option<String> {
        let to = ColumnType::Decimal { precision, scale: kept, signed: true };
        let (mut out, mut wide) = (Vec::new(), Vec::new());
        let pushed = push_decimal(&mut out, &to, number, scale);
        let again = push_long(&mut wide, &to, &number.to_string(), scale);
        assert_eq!(pushed.is_ok(), again.is_ok(), "both ways agree");
        pushed.ok().map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(decimal((5, 2), -12_345, 2).as_deref(), Some("-123.45"));
        assert_eq!(decimal((5, 2), 123_450, 3).as_deref(), Some("123.45"));
        assert_eq!(decimal((5, 2), 123_456, 3), None);
        assert_eq!(decimal((5, 2), 100_000, 2), None);
        assert_eq!(decimal((5, 2), 9, -2).as_deref(), Some("900"));
        assert_eq!(decimal((5, 2), 10, -2), None);
        assert_eq!(decimal((2, 2), 99, 2).as_deref(), Some("0.99"));
        assert_eq!(decimal((2, 2), 1, 0), None);
        let nines = 10i128.pow(38) - 1;
        assert_eq!(decimal((65, 30), nines, 10).unwrap(), format!("{}.{}", "9".repeat(28), "9".repeat(10)));
        assert_eq!(decimal((38, 37), -nines, 37).unwrap(), format!("-9.{}", "9".repeat(37)));
    }

    #[test]
    fn signs_need_a_column_with_signs() {
        let to = ColumnType::Decimal { precision: 5, scale: 0, signed: false };
        assert!(push_decimal(&mut Vec::new(), &to, -1, 0).is_err());
        assert!(push_decimal(&mut Vec::new(), &to, 0, 3).is_ok());
        assert!(push_float(&mut Vec::new(), &ColumnType::Double { signed: false }, -0.5).is_err());
    }

    #[test]
    fn floats_are_finite_and_fit() {
        let mut out = Vec::new();
        push_float(&mut out, &ColumnType::Double { signed: true }, -0.1).unwrap();
        assert_eq!(out, b"-1e-1");
        for (to, number) in [
            (ColumnType::Double { signed: true }, f64::NAN),
            (ColumnType::Double { signed: true }, f64::INFINITY),
            (ColumnType::Double { signed: true }, -0.0),
            (ColumnType::Float { signed: true }, 0.1),
            (ColumnType::Float { signed: true }, 1e300),
        ] {
            assert!(push_float(&mut Vec::new(), &to, number).is_err());
        }
    }
}
