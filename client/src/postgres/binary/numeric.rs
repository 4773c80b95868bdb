//! numeric's send function: `numeric_send` in PostgreSQL's numeric.c.
//!
//! Four integers of 2 bytes (number of digits, weight of the first digit, sign, number of decimals), then digits to
//! the base 10000. Neither the first nor the last digit is 0.

use super::value::ValueFault;

const DIGIT_BASE: u16 = 10000;
const DECIMALS_PER_DIGIT: i32 = 4;
const HEADER: usize = 8;

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const MINUS_INFINITY: u16 = 0xf000;

/// A non-negative integer of 32-bit limbs, the lowest first. The limbs hold 96 decimal digits.
type Limbs = [u32; 10];
const MAX_DECIMALS: i32 = 95;
/// Every number with this many decimal digits fits into 64 bits.
const MAX_SHORT_DECIMALS: i32 = 19;
/// Every number with this many digits to the base 10000 fits into 64 bits.
const MAX_SHORT_DIGITS: usize = 4;
const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// A numeric as it was received.
struct Numeric<'a> {
    /// Pairs of bytes.
    digits: &'a [u8],
    weight: i32,
    sign: u16,
    decimals: u16,
}

impl<'a> Numeric<'a> {
    #[inline]
    fn read(value: &'a [u8]) -> Result<Self, ValueFault> {
        let Some((&[c0, c1, w0, w1, s0, s1, d0, d1], digits)) = value.split_first_chunk::<HEADER>() else {
            return Err(ValueFault::Damaged);
        };
        let (count, weight) = (u16::from_be_bytes([c0, c1]), i16::from_be_bytes([w0, w1]));
        let (sign, decimals) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        if digits.len() != 2 * usize::from(count) {
            return Err(ValueFault::Damaged);
        }
        Ok(Self { digits, weight: i32::from(weight), sign, decimals })
    }

    #[inline]
    fn digits(&self) -> impl Iterator<Item = u16> + 'a {
        self.digits.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
    }
}

/// The values of a decimal column: integers below 10^precision, scaled by 10^scale.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    precision: u8,
    scale: u8,
    limit: Limbs,
    /// The limit, if 64 bits hold it.
    short_limit: u64,
}

impl Decimal {
    pub(super) fn new(precision: u8, scale: u8) -> Self {
        let mut limit = [0; 10];
        limit[0] = 1;
        (0..precision).for_each(|_| multiply_add(&mut limit, 10, 0));
        let short_limit = POWERS.get(usize::from(precision)).copied().unwrap_or(u64::MAX);
        Self { precision, scale, limit, short_limit }
    }

    /// The scaled value, if it has few digits. [`Decimal::wide`] reads all other values.
    #[inline]
    pub(super) fn short(&self, value: &[u8]) -> Option<i128> {
        let numeric = Numeric::read(value).ok()?;
        let count = numeric.digits.len() / 2;
        let scale = i32::from(self.scale);
        let most = DECIMALS_PER_DIGIT * (numeric.weight + 1) + scale;
        if count > MAX_SHORT_DIGITS || most >= MAX_SHORT_DECIMALS || numeric.sign & !NEGATIVE != 0 {
            return None;
        }
        let mut scaled = 0u64;
        for digit in numeric.digits() {
            if digit >= DIGIT_BASE {
                return None;
            }
            scaled = scaled * u64::from(DIGIT_BASE) + u64::from(digit);
        }
        // The exponent of ten that is missing after the last digit. The result has at most `most` decimal digits.
        let shift = most - DECIMALS_PER_DIGIT * count as i32;
        // Constants, so that the compiler avoids divisions.
        let (quotient, rest) = match shift {
            0.. => (scaled.checked_mul(*POWERS.get(shift as usize)?)?, 0),
            -1 => (scaled / 10, scaled % 10),
            -2 => (scaled / 100, scaled % 100),
            -3 => (scaled / 1000, scaled % 1000),
            _ => return None,
        };
        if rest != 0 || quotient >= self.short_limit {
            return None;
        }
        let scaled = i128::from(quotient);
        Some(if numeric.sign == NEGATIVE { -scaled } else { scaled })
    }

    /// The scaled value of 256 bits, little-endian.
    #[cold]
    pub(super) fn wide(&self, value: &[u8]) -> Result<[u8; 32], ValueFault> {
        let numeric = Numeric::read(value)?;
        match numeric.sign {
            POSITIVE | NEGATIVE => {}
            NAN | INFINITY | MINUS_INFINITY => {
                return Err(refused("a decimal column cannot represent NaN and infinity".to_owned()));
            }
            _ => return Err(ValueFault::Damaged),
        }
        let scale = i32::from(self.scale);
        let too_large = || {
            refused(format!("a value has more than {} digits before the decimal point", self.precision - self.scale))
        };
        let too_fine = || refused(format!("a value has more than {scale} digits after the decimal point"));
        let mut limbs: Limbs = [0; 10];
        let count = (numeric.digits.len() / 2) as i32;
        if count > 0 {
            // Neither the first nor the last digit is 0, so this is about the number of decimal digits of the scaled
            // value.
            let shift = DECIMALS_PER_DIGIT * (numeric.weight - count + 1) + scale;
            if DECIMALS_PER_DIGIT * (numeric.weight + 1) + scale > MAX_DECIMALS {
                return Err(too_large());
            }
            if shift <= -DECIMALS_PER_DIGIT {
                return Err(too_fine());
            }
            for digit in numeric.digits() {
                if digit >= DIGIT_BASE {
                    return Err(ValueFault::Damaged);
                }
                multiply_add(&mut limbs, u32::from(DIGIT_BASE), u32::from(digit));
            }
            (0..shift).for_each(|_| multiply_add(&mut limbs, 10, 0));
            if divide(&mut limbs, 10u32.pow((-shift).max(0) as u32)) != 0 {
                return Err(too_fine());
            }
        }
        if limbs.iter().rev().ge(self.limit.iter().rev()) {
            return Err(too_large());
        }
        let mut bytes = [0; 32];
        for (to, limb) in bytes.chunks_exact_mut(4).zip(limbs) {
            to.copy_from_slice(&limb.to_le_bytes());
        }
        if numeric.sign == NEGATIVE {
            let mut carry = true;
            for byte in &mut bytes {
                (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
            }
        }
        Ok(bytes)
    }
}

fn refused(why: String) -> ValueFault {
    ValueFault::Refused("22003", why)
}

fn multiply_add(limbs: &mut Limbs, factor: u32, addend: u32) {
    let mut carry = u64::from(addend);
    for limb in limbs {
        carry += u64::from(*limb) * u64::from(factor);
        *limb = carry as u32;
        carry >>= 32;
    }
}

/// Divides; returns the remainder.
fn divide(limbs: &mut Limbs, divisor: u32) -> u32 {
    let (mut rest, divisor) = (0u64, u64::from(divisor));
    for limb in limbs.iter_mut().rev() {
        rest = rest << 32 | u64::from(*limb);
        *limb = (rest / divisor) as u32;
        rest %= divisor;
    }
    rest as u32
}

/// Appends the value in the form of `numeric_out`.
pub(super) fn write_text(value: &[u8], text: &mut Vec<u8>) -> Result<(), ValueFault> {
    let numeric = Numeric::read(value)?;
    match numeric.sign {
        POSITIVE => {}
        NEGATIVE => text.push(b'-'),
        NAN => text.extend_from_slice(b"NaN"),
        INFINITY => text.extend_from_slice(b"Infinity"),
        MINUS_INFINITY => text.extend_from_slice(b"-Infinity"),
        _ => return Err(ValueFault::Damaged),
    }
    if numeric.sign & !NEGATIVE != 0 {
        return Ok(());
    }
    // Digits before the first and after the last are 0.
    let digit = |place: i32| {
        let at = usize::try_from(numeric.weight - place).unwrap_or(usize::MAX);
        let pair = at.checked_mul(2).and_then(|at| numeric.digits.get(at..at + 2));
        pair.map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]]))
    };
    if numeric.digits().any(|digit| digit >= DIGIT_BASE) {
        return Err(ValueFault::Damaged);
    }
    let start = text.len();
    for place in (0..=numeric.weight).rev() {
        text.extend_from_slice(&decimals(digit(place)));
    }
    let zeros = text[start..].iter().take_while(|byte| **byte == b'0').count();
    text.drain(start..start + zeros);
    if text.len() == start {
        text.push(b'0');
    }
    if numeric.decimals > 0 {
        text.push(b'.');
        let end = text.len() + usize::from(numeric.decimals);
        let mut place = -1;
        while text.len() < end {
            text.extend_from_slice(&decimals(digit(place)));
            place -= 1;
        }
        text.truncate(end);
    }
    Ok(())
}

/// The four decimals of a digit.
fn decimals(digit: u16) -> [u8; 4] {
    [1000, 100, 10, 1].map(|power| b'0' + (digit / power % 10) as u8)
}

#[cfg(test)]
#[path = "numeric_tests.rs"]
mod tests;
