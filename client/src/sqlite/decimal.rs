//! Decimals, which SQLite stores as integers and doubles.

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];
/// The digits that a decimal keeps as a double.
const DIGITS: u64 = 1_000_000_000_000_000;
/// Powers of ten for the digits of decimals of 128 bits.
const LIMITS: [u128; 39] = {
    let mut limits = [1; 39];
    let mut power = 1;
    while power < limits.len() {
        limits[power] = limits[power - 1] * 10;
        power += 1;
    }
    limits
};

/// The unique decimal of at most 15 digits and this scale whose nearest double is `number`, times 10^`scale`.
#[inline]
pub(super) fn from_real(number: f64, scale: u8) -> Option<i128> {
    let power = *POWERS.get(usize::from(scale))?;
    // If there is such an integer, the product is within a quarter of it. Otherwise the check below fails.
    let unscaled = (number * power + 0.5f64.copysign(number)) as i64;
    // A double represents both exactly, so the quotient is the double nearest to the decimal.
    (unscaled.unsigned_abs() < DIGITS && unscaled as f64 / power == number).then_some(unscaled.into())
}

/// An integer followed by `scale` zeros. `None` if it exceeds 128 bits.
#[inline]
pub(super) fn from_integer(number: i64, scale: u8) -> Option<i128> {
    i128::from(number).checked_mul(i128::try_from(*LIMITS.get(usize::from(scale))?).ok()?)
}

/// Whether it has at most `precision` digits.
#[inline]
pub(super) fn fits(unscaled: i128, precision: u8) -> bool {
    LIMITS.get(usize::from(precision)).is_some_and(|limit| unscaled.unsigned_abs() < *limit)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_double_is_the_decimal_that_was_written() {
        assert_eq!(from_real(0.1, 2), Some(10));
        assert_eq!(from_real(-1234.56, 2), Some(-123_456));
        assert_eq!(from_real(1e-20, 20), Some(1));
        assert_eq!(from_real(9_999_999_999_999.99, 2), Some(999_999_999_999_999));
    }

    #[test]
    fn any_other_double_is_none() {
        assert_eq!(from_real(0.1 + 0.2, 2), None);
        assert_eq!(from_real(0.125, 2), None);
        assert_eq!(from_real(1e15, 0), None);
        assert_eq!(from_real(f64::INFINITY, 2), None);
        assert_eq!(from_real(f64::NAN, 2), None);
        assert_eq!(from_real(0.5, 23), None);
    }

    #[test]
    fn integers_have_all_their_digits() {
        assert_eq!(from_integer(i64::MIN, 19), Some(i128::from(i64::MIN) * 10i128.pow(19)));
        assert_eq!(from_integer(1, 38), Some(10i128.pow(38)));
        assert_eq!(from_integer(2, 38), None);
        assert!(fits(10i128.pow(38) - 1, 38) && !fits(10i128.pow(38), 38) && !fits(-100, 2));
    }

    proptest! {
        #[test]
        fn what_has_fifteen_digits_comes_back(unscaled in -999_999_999_999_999i64..=999_999_999_999_999, scale in 0u8..=22) {
            let number: f64 = format!("{unscaled}e-{scale}").parse().unwrap();
            prop_assert_eq!(from_real(number, scale), Some(i128::from(unscaled)));
        }

        #[test]
        fn what_comes_back_is_the_same_double(number in any::<f64>(), scale in 0u8..=22) {
            if let Some(unscaled) = from_real(number, scale) {
                let back: f64 = format!("{unscaled}e-{scale}").parse().unwrap();
                prop_assert_eq!(back, number);
            }
        }
    }
}
