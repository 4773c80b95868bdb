//! `numeric` without digits, which PostgreSQL's manual calls unconstrained.
//!
//! The engine's decimals have a fixed number of digits, so one decimal stands for the type. A value with more digits
//! behind the point is refused, because it would have to be rounded. Zeros behind the last digit are not kept.

use super::number::scaled;

/// The engine's decimal that stands for the type. With more digits behind the point, a product of two values, which has
/// twice as many, would have fewer than 18 before it.
pub const NAME: &str = "DECIMAL(37,10)";
/// The digits behind the point.
pub const SCALE: u8 = 10;
/// All digits. Hardly anyone declares as many and not 38.
pub const WIDTH: u8 = 37;

/// Why a value is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumericError {
    /// More digits behind the point.
    #[error(
        "numeric without digits has {SCALE} of them behind the point here, and the value has {0}: declare \
         numeric(p, s), or round the value"
    )]
    TooFine(i64),
    /// More digits before the point.
    #[error(
        "numeric without digits has {} of them before the point here, and the value has more: declare numeric(p, s)",
        WIDTH - SCALE
    )]
    TooLarge,
    /// Not a number with digits.
    #[error("numeric has no NaN and no infinite values here: use double precision")]
    NotFinite,
    /// A text that is not a number.
    #[error("invalid input syntax for type numeric: \"{0}\"")]
    Syntax(String),
}

/// The stored value of a text in PostgreSQL's form.
///
/// # Errors
/// A text that is not a number, or that has more digits.
pub fn from_text(text: &str) -> Result<i128, NumericError> {
    let syntax = || NumericError::Syntax(text.to_owned());
    let number = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    let unsigned = number.strip_prefix(['-', '+']).unwrap_or(number);
    if ["nan", "infinity", "inf"].iter().any(|name| unsigned.eq_ignore_ascii_case(name)) {
        return Err(NumericError::NotFinite);
    }
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| syntax())?;
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [before, behind].concat();
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(syntax());
    }
    let significant = digits.trim_end_matches('0');
    let scale = behind.len() as i64 - i64::from(exponent) - (digits.len() - significant.len()) as i64;
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    let zeros = i64::from(SCALE) - scale;
    if zeros < 0 {
        return Err(NumericError::TooFine(scale));
    }
    if significant.len() as i64 + zeros > i64::from(WIDTH) {
        return Err(NumericError::TooLarge);
    }
    let value: i128 = significant.parse().map_err(|_| NumericError::TooLarge)?;
    let value = value * 10i128.pow(zeros as u32);
    Ok(if number.starts_with('-') { -value } else { value })
}

/// The stored value of `value` × 10^−`scale`.
///
/// # Errors
/// More digits.
pub fn from_decimal(value: i128, scale: u8) -> Result<i128, NumericError> {
    let (value, scale) = without_zeros(value, scale);
    let zeros = SCALE.checked_sub(scale).ok_or(NumericError::TooFine(scale.into()))?;
    let value = 10i128.checked_pow(zeros.into()).and_then(|factor| value.checked_mul(factor));
    value.filter(|value| value.unsigned_abs() < 10u128.pow(WIDTH.into())).ok_or(NumericError::TooLarge)
}

/// The stored value of a double, of whose digits PostgreSQL takes 15.
///
/// # Errors
/// More digits, and values that are not finite.
pub fn from_double(value: f64) -> Result<i128, NumericError> {
    from_text(&format!("{value:.14e}"))
}

/// The stored value of a float, of whose digits PostgreSQL takes six.
///
/// # Errors
/// As [`from_double`].
pub fn from_float(value: f32) -> Result<i128, NumericError> {
    from_text(&format!("{value:.5e}"))
}

/// A value × 10^−`scale` without zeros behind its last digit after the point.
pub(super) fn without_zeros(mut value: i128, mut scale: u8) -> (i128, u8) {
    while scale > 0 && value % 10 == 0 {
        (value, scale) = (value / 10, scale - 1);
    }
    (value, scale)
}

/// Appends the text of a stored value.
pub fn write_text(value: i128, out: &mut Vec<u8>) {
    let (value, scale) = without_zeros(value, SCALE);
    scaled(value, scale as i8, out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_exact_or_refused() {
        let one = 10i128.pow(SCALE.into());
        for (text, value) in [
            ("1", one),
            (" -1.50 ", -3 * one / 2),
            ("+.5", one / 2),
            ("1e3", 1000 * one),
            ("15E-1", 3 * one / 2),
            ("0.00000000010000", 1),
            ("1e-10", 1),
            ("0e999999999", 0),
            ("0.00000000000000000000", 0),
            ("999999999999999999999999999.9999999999", 10i128.pow(37) - 1),
        ] {
            assert_eq!(from_text(text), Ok(value), "{text}");
        }
        for text in ["", " ", "-", ".", "1.2.3", "1e", "1e1.5", "e5", "--1", "1 2", "0x10", "é"] {
            assert_eq!(from_text(text), Err(NumericError::Syntax(text.to_owned())), "{text}");
        }
        for text in ["NaN", "-inf", "Infinity"] {
            assert_eq!(from_text(text), Err(NumericError::NotFinite), "{text}");
        }
        assert_eq!(from_text("0.00000000011"), Err(NumericError::TooFine(11)));
        assert_eq!(from_text("1e-2147483647"), Err(NumericError::TooFine(2_147_483_647)));
        for text in ["1e27", "1e2147483647", "1000000000000000000000000000"] {
            assert_eq!(from_text(text), Err(NumericError::TooLarge), "{text}");
        }
    }

    #[test]
    fn a_double_has_15_digits() {
        assert_eq!(from_double(0.1 + 0.2), from_text("0.3"));
        assert_eq!(from_double(1.0 / 3.0), Err(NumericError::TooFine(15)));
        assert_eq!(from_double(f64::NAN), Err(NumericError::NotFinite));
        assert_eq!(from_double(1e300), Err(NumericError::TooLarge));
        assert_eq!(from_float(0.1), from_text("0.1"));
    }

    proptest! {
        #[test]
        fn decimals_and_texts_agree(value in any::<i128>(), scale in 0..=38u8) {
            let value = value % 10i128.pow(38);
            let mut text = Vec::new();
            scaled(value, scale as i8, &mut text);
            let text = String::from_utf8(text).unwrap();
            let found = from_decimal(value, scale);
            prop_assert_eq!(&found, &from_text(&text));
            if let Ok(stored) = found {
                let mut written = Vec::new();
                write_text(stored, &mut written);
                prop_assert_eq!(from_text(&String::from_utf8(written).unwrap()), Ok(stored));
            }
        }
    }
}
