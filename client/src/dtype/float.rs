//! Converts decimals and text to floats, and floats to decimals. A float represents the shortest decimal number that
//! reads back as the float.

use std::fmt::LowerExp;
use std::ops::RangeInclusive;
use std::str::FromStr;

use arrow_buffer::i256;

use super::number::Number;

/// A binary floating point number.
pub(super) trait Float: Copy + FromStr + LowerExp {
    /// The number of decimal digits for which every number reads back from a normal float.
    const DIGITS: usize;
    /// The exponents of ten of normal floats.
    const POINTS: RangeInclusive<i64>;
    const NAN: Self;
    const INFINITY: Self;
    const NEGATIVE_INFINITY: Self;

    fn is_finite(self) -> bool;

    /// `value` / 10^`scale`, if it is exact in this sense and quick to compute.
    fn quick(value: i128, scale: i8) -> Option<Self>;
}

impl Float for f64 {
    const DIGITS: usize = Self::DIGITS as usize;
    const POINTS: RangeInclusive<i64> = -290..=290;
    const NAN: Self = Self::NAN;
    const INFINITY: Self = Self::INFINITY;
    const NEGATIVE_INFINITY: Self = Self::NEG_INFINITY;

    fn is_finite(self) -> bool {
        self.is_finite()
    }

    fn quick(value: i128, scale: i8) -> Option<Self> {
        // A quotient of two exact floats is rounded once, and a number with 15 digits reads back.
        let power = POWERS.get(usize::try_from(scale).ok()?)?;
        (value.unsigned_abs() < 1_000_000_000_000_000).then(|| value as Self / power)
    }
}

impl Float for f32 {
    const DIGITS: usize = Self::DIGITS as usize;
    const POINTS: RangeInclusive<i64> = -30..=30;
    const NAN: Self = Self::NAN;
    const INFINITY: Self = Self::INFINITY;
    const NEGATIVE_INFINITY: Self = Self::NEG_INFINITY;

    fn is_finite(self) -> bool {
        self.is_finite()
    }

    fn quick(_value: i128, _scale: i8) -> Option<Self> {
        None
    }
}

/// 10^0 … 10^22, all exact (10^23 is not).
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Memory that is reused for one number after another.
#[derive(Default)]
pub(super) struct Scratch {
    number: Number,
    back: Number,
}

impl Scratch {
    /// The nearest float of a decimal, and whether it reads back as the decimal.
    pub(super) fn float_of_decimal<F: Float>(&mut self, value: i256, scale: i8) -> Option<(F, bool)> {
        let quick = value.to_i128().and_then(|value| F::quick(value, scale));
        quick.map(|float| (float, true)).or_else(|| self.float_of_text(&format!("{value}e{}", -i32::from(scale))))
    }

    /// The nearest float of a number that is text, and whether it reads back as the same number. `None` for no number,
    /// and for one that is too large.
    pub(super) fn float_of_text<F: Float>(&mut self, text: &str) -> Option<(F, bool)> {
        let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
        if self.number.parse(text).is_none() {
            return match text.to_ascii_lowercase().as_str() {
                "nan" => Some((F::NAN, true)),
                "inf" | "infinity" | "+inf" | "+infinity" => Some((F::INFINITY, true)),
                "-inf" | "-infinity" => Some((F::NEGATIVE_INFINITY, true)),
                _ => None,
            };
        }
        let float = text.parse::<F>().ok().filter(|float| float.is_finite())?;
        let same = self.number.is_short(F::DIGITS, &F::POINTS)
            || self.back.parse(&format!("{float:e}")).is_some() && self.back == self.number;
        Some((float, same))
    }

    /// A number that is text in units of 10^-scale; see [`Number::scaled`].
    pub(super) fn scaled(&mut self, text: &str, precision: u8, scale: i8, round: bool) -> Option<(i256, bool)> {
        self.number.parse(text)?;
        let (value, cut) = self.number.scaled(precision, scale, round)?;
        Some((value, !cut))
    }
}
