//! Decimal numbers of any length, for conversions between text, floats, decimals and integers.

use std::ops::RangeInclusive;

use arrow_buffer::i256;

/// ±0.d₁d₂…dₙ × 10^point, without zeros at either end; zero has no digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Number {
    negative: bool,
    digits: Vec<u8>,
    point: i64,
}

impl Number {
    /// Reads `-12.50`, `.5`, `1e-7`, with spaces around it. `None` if it is not a finite number.
    pub(super) fn parse(&mut self, text: &str) -> Option<()> {
        let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
        let (negative, text) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, i64::from(exponent.parse::<i32>().ok()?)),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        self.negative = negative;
        self.digits.clear();
        self.digits.extend_from_slice(whole.as_bytes());
        self.digits.extend_from_slice(fraction.as_bytes());
        if !self.digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let leading = self.digits.iter().take_while(|digit| **digit == b'0').count();
        self.digits.drain(..leading);
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
        self.point = whole.len() as i64 - leading as i64 + exponent;
        if self.digits.is_empty() {
            self.point = 0;
        }
        Some(())
    }

    /// Whether it has at most this many digits, and is not extremely large or small.
    pub(super) fn is_short(&self, digits: usize, points: &RangeInclusive<i64>) -> bool {
        self.digits.len() <= digits && points.contains(&self.point)
    }

    /// The number of units of 10^-scale, an integer with at most `precision` digits, and whether digits were cut off.
    /// With `round`, it is rounded half away from zero instead. `None` if it does not fit.
    pub(super) fn scaled(&self, precision: u8, scale: i8, round: bool) -> Option<(i256, bool)> {
        if self.digits.is_empty() {
            return Some((i256::ZERO, false));
        }
        let kept = self.point + i64::from(scale);
        if kept > i64::from(precision) {
            return None;
        }
        let Ok(kept) = usize::try_from(kept) else { return Some((i256::ZERO, true)) };
        let mut text = vec![b'0'; kept.max(1)];
        let take = kept.min(self.digits.len());
        text[..take].copy_from_slice(&self.digits[..take]);
        let mut value = i256::from_string(std::str::from_utf8(&text).ok()?)?;
        let cut = self.digits.len() > kept;
        if cut && round && self.digits[kept] >= b'5' {
            value = value.checked_add(i256::ONE)?;
            if value.to_string().len() > usize::from(precision) {
                return None;
            }
        }
        Some((if self.negative { value.wrapping_neg() } else { value }, cut))
    }
}
