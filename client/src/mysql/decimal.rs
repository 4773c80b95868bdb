//! Decimals, which arrive as text: a sign, digits, a point, digits.

use arrow_buffer::i256;

use super::value::ValueFault;

/// Every number with this many digits fits into 64 bits.
const SHORT: usize = 19;

/// The values of a column: integers below 10^precision, scaled by 10^scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    precision: u8,
    scale: u8,
}

impl Decimal {
    pub(super) fn new(precision: u8, scale: u8) -> Self {
        Self { precision, scale }
    }

    /// The scaled value, if it has few digits, and as many after the point as the column. [`Decimal::wide`] reads all
    /// other values.
    #[inline]
    pub(super) fn short(&self, text: &[u8]) -> Option<i128> {
        let (negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let scale = usize::from(self.scale);
        // The length includes the point. So the value has no more digits than the precision.
        let most = SHORT.min(usize::from(self.precision)) + usize::from(scale > 0);
        if digits.is_empty() || digits.len() > most {
            return None;
        }
        let mut value = 0u64;
        let mut each = |part: &[u8]| {
            for byte in part {
                let digit = byte.wrapping_sub(b'0');
                if digit > 9 {
                    return None;
                }
                value = value * 10 + u64::from(digit);
            }
            Some(())
        };
        if scale == 0 {
            each(digits)?;
        } else {
            let point = digits.len().checked_sub(scale + 1)?;
            if digits[point] != b'.' {
                return None;
            }
            each(&digits[..point])?;
            each(&digits[point + 1..])?;
        }
        let value = i128::from(value);
        Some(if negative { -value } else { value })
    }

    /// The scaled value.
    #[cold]
    pub(super) fn wide(&self, text: &[u8]) -> Result<i256, ValueFault> {
        let (negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let mut parts = digits.splitn(2, |byte| *byte == b'.');
        let (whole, fraction) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if whole.is_empty() && fraction.is_empty() || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
            return Err(ValueFault::Damaged);
        }
        let scale = usize::from(self.scale);
        let (kept, beyond) = fraction.split_at(fraction.len().min(scale));
        if beyond.iter().any(|digit| *digit != b'0') {
            return Err(refused(format!("a value has more than {scale} digits after the decimal point")));
        }
        let zeros = whole.iter().take_while(|digit| **digit == b'0').count();
        let whole = &whole[zeros..];
        if whole.len() > usize::from(self.precision) - scale {
            let most = usize::from(self.precision) - scale;
            return Err(refused(format!("a value has more than {most} digits before the decimal point")));
        }
        // A value has at most 76 digits, which fit into 256 bits.
        let missing = std::iter::repeat_n(&b'0', scale - kept.len());
        let ten = i256::from_i128(10);
        let value = whole.iter().chain(kept).chain(missing).fold(i256::ZERO, |value, digit| {
            value.wrapping_mul(ten).wrapping_add(i256::from_i128(i128::from(digit - b'0')))
        });
        Ok(if negative { value.wrapping_neg() } else { value })
    }
}

fn refused(why: String) -> ValueFault {
    ValueFault::Refused("22003", why)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_are_scaled() {
        let decimal = Decimal::new(12, 3);
        assert_eq!(decimal.short(b"-12.345"), Some(-12345));
        assert_eq!(decimal.short(b"0.001"), Some(1));
        assert_eq!(decimal.short(b"-999999999.999"), Some(-999_999_999_999));
        for text in [&b"12"[..], b"12.3450", b"012.3", b"0000000012.345"] {
            assert_eq!(decimal.short(text), None);
            decimal.wide(text).unwrap();
        }
        assert_eq!(decimal.wide(b"000012").unwrap(), i256::from_i128(12000));
        assert_eq!(Decimal::new(5, 0).short(b"-42"), Some(-42));
        assert_eq!(Decimal::new(3, 3).wide(b".5").unwrap(), i256::from_i128(500));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let decimal = Decimal::new(5, 2);
        for text in [&b"1000.00"[..], b"0.001"] {
            assert!(matches!(decimal.wide(text), Err(ValueFault::Refused("22003", _))));
        }
        for text in [&b""[..], b"-", b".", b"1e3", b"1.2.3", b"--1"] {
            assert_eq!(decimal.wide(text), Err(ValueFault::Damaged));
        }
        let most = Decimal::new(65, 30);
        let nines = format!("-{}.{}", "9".repeat(35), "9".repeat(30));
        assert_eq!(most.wide(nines.as_bytes()).unwrap().to_string(), nines.replace('.', ""));
    }

    proptest! {
        #[test]
        fn short_and_wide_agree(text in "-?[0-9]{0,20}(\\.[0-9]{0,5})?", precision in 1u8..=38, scale in 0u8..=5) {
            let decimal = Decimal::new(precision.max(scale), scale);
            if let Some(short) = decimal.short(text.as_bytes()) {
                prop_assert_eq!(decimal.wide(text.as_bytes()), Ok(i256::from_i128(short)));
            }
        }

        #[test]
        fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..90)) {
            let _ = (Decimal::new(76, 10).wide(&bytes), Decimal::new(18, 4).short(&bytes));
        }
    }
}
