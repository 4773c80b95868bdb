//! numeric's receive function: `numeric_recv` in PostgreSQL's numeric.c. `binary/numeric.rs` reads the same form.

use arrow_buffer::i256;

const BASE: u64 = 10_000;
const DIGITS: usize = 4;
const NEGATIVE: u16 = 0x4000;
/// Bytes before the digits.
const HEADER: usize = 8;

/// Appends `unscaled` / 10^`scale` without a length. `scale` is at most 96.
#[inline]
pub(super) fn push(out: &mut Vec<u8>, unscaled: i128, scale: u8) {
    // The fraction is filled with zeros to whole digits of the base.
    let filled = usize::from(scale).next_multiple_of(DIGITS);
    let zeros = (filled - usize::from(scale)) as u32;
    let magnitude = unscaled.unsigned_abs();
    match u64::try_from(magnitude).ok().and_then(|short| short.checked_mul(10u64.pow(zeros))) {
        Some(mut rest) => {
            let mut groups = [0u16; 5];
            let mut count = 0;
            while rest > 0 {
                groups[count] = (rest % BASE) as u16;
                rest /= BASE;
                count += 1;
            }
            push_groups(out, &groups[..count], filled / DIGITS, unscaled < 0, scale);
        }
        None => push_long(out, &magnitude.to_string(), unscaled < 0, scale),
    }
}

/// How the numbers of a column are appended that have few digits, and the scale of the table's column.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortNumeric {
    scale: u8,
    /// 10 for each zero that fills the fraction to whole digits of the base.
    filling: u64,
    /// The digits of the base that are behind the point.
    behind: usize,
    /// All smaller numbers fit into the column.
    limit: u64,
}

impl ShortNumeric {
    /// The longest field: the length, the header and the digits of 64 bits.
    const LONGEST: usize = 4 + HEADER + 2 * 5;

    /// `None` if the scales differ, so that each number has to be looked at.
    pub(super) fn of(scale: i8, limits: Option<(i32, i32)>) -> Option<Self> {
        let scale = u8::try_from(scale).ok()?;
        let limit = match limits {
            None => u64::MAX,
            Some((_, other)) if other != i32::from(scale) => return None,
            Some((precision, _)) => {
                u32::try_from(precision).ok().and_then(|digits| 10u64.checked_pow(digits)).unwrap_or(u64::MAX)
            }
        };
        let filled = usize::from(scale).next_multiple_of(DIGITS);
        Some(Self { scale, filling: 10u64.pow((filled - usize::from(scale)) as u32), behind: filled / DIGITS, limit })
    }

    /// Appends a length and a number. `false` if nothing was appended, because the number is long or does not fit.
    #[inline]
    pub(super) fn push(self, out: &mut Vec<u8>, unscaled: i128) -> bool {
        let Ok(short) = i64::try_from(unscaled) else { return false };
        let magnitude = short.unsigned_abs();
        if magnitude >= self.limit {
            return false;
        }
        let Some(mut rest) = magnitude.checked_mul(self.filling) else { return false };
        // Zeros at the end are not sent.
        let mut lowest = 0;
        while rest != 0 && rest % BASE == 0 {
            rest /= BASE;
            lowest += 1;
        }
        let mut groups = [0u16; 5];
        let mut count = 0;
        while rest != 0 {
            groups[count] = (rest % BASE) as u16;
            rest /= BASE;
            count += 1;
        }
        let weight = if count == 0 { 0 } else { (lowest + count) as i32 - self.behind as i32 - 1 };
        let length = HEADER + 2 * count;
        let mut field = [0; Self::LONGEST];
        field[..4].copy_from_slice(&(length as u32).to_be_bytes());
        field[4..6].copy_from_slice(&(count as u16).to_be_bytes());
        field[6..8].copy_from_slice(&(weight as i16).to_be_bytes());
        field[8..10].copy_from_slice(&(if short < 0 { NEGATIVE } else { 0 }).to_be_bytes());
        field[10..12].copy_from_slice(&u16::from(self.scale).to_be_bytes());
        for (place, group) in field[4 + HEADER..].chunks_exact_mut(2).zip(groups[..count].iter().rev()) {
            place.copy_from_slice(&group.to_be_bytes());
        }
        out.extend_from_slice(&field[..4 + length]);
        true
    }
}

/// The same for 256 bits.
pub(super) fn push_wide(out: &mut Vec<u8>, unscaled: i256, scale: u8) {
    match unscaled.to_i128() {
        Some(short) => push(out, short, scale),
        None => {
            let text = unscaled.to_string();
            push_long(out, text.trim_start_matches('-'), unscaled < i256::ZERO, scale);
        }
    }
}

/// Appends a number of any length, whose decimal digits are in `text`.
fn push_long(out: &mut Vec<u8>, text: &str, negative: bool, scale: u8) {
    let filled = usize::from(scale).next_multiple_of(DIGITS);
    let mut digits = text.as_bytes().to_vec();
    digits.resize(text.len() + filled - usize::from(scale), b'0');
    let groups: Vec<u16> = digits
        .rchunks(DIGITS)
        .map(|group| group.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0')))
        .collect();
    push_groups(out, &groups, filled / DIGITS, negative, scale);
}

/// `groups` begin with the lowest; `behind` of them are behind the point.
#[inline]
fn push_groups(out: &mut Vec<u8>, groups: &[u16], behind: usize, negative: bool, scale: u8) {
    let highest = groups.iter().rposition(|group| *group != 0).map_or(0, |at| at + 1);
    let lowest = groups.iter().position(|group| *group != 0).unwrap_or(highest);
    let weight = if highest == 0 { 0 } else { highest as i32 - behind as i32 - 1 };
    out.reserve(HEADER + 2 * (highest - lowest));
    out.extend_from_slice(&((highest - lowest) as u16).to_be_bytes());
    out.extend_from_slice(&(weight as i16).to_be_bytes());
    out.extend_from_slice(&(if negative { NEGATIVE } else { 0 }).to_be_bytes());
    out.extend_from_slice(&u16::from(scale).to_be_bytes());
    for group in groups[lowest..highest].iter().rev() {
        out.extend_from_slice(&group.to_be_bytes());
    }
}

/// Whether a number fits into NUMERIC(precision, scale) without rounding. `text` has the digits of the unscaled number.
pub(super) fn fits(text: &str, number_scale: u8, (precision, scale): (i32, i32)) -> bool {
    let digits = text.trim_start_matches('-').trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return true;
    }
    let (length, number_scale) = (digits.len() as i32, i32::from(number_scale));
    let zeros = length - significant.len() as i32;
    // The places of the highest and of the lowest digit that is not zero.
    length - number_scale <= precision - scale && number_scale - zeros <= scale
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn pushed(unscaled: i128, scale: u8) -> Vec<u16> {
        let mut out = Vec::new();
        push(&mut out, unscaled, scale);
        let mut wide = Vec::new();
        push_long(&mut wide, &unscaled.unsigned_abs().to_string(), unscaled < 0, scale);
        assert_eq!(out, wide, "both ways agree");
        let mut short = Vec::new();
        if ShortNumeric::of(scale as i8, None).unwrap().push(&mut short, unscaled) {
            assert_eq!(short[..4], (out.len() as u32).to_be_bytes());
            assert_eq!(short[4..], out, "the short way agrees");
        }
        out.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
    }

    #[test]
    fn digits_are_those_of_numeric_send() {
        // count, weight, sign, scale, digits
        assert_eq!(pushed(0, 2), [0, 0, 0, 2]);
        assert_eq!(pushed(1, 0), [1, 0, 0, 0, 1]);
        assert_eq!(pushed(-1_234_567, 2), [3, 1, NEGATIVE, 2, 1, 2345, 6700]);
        assert_eq!(pushed(10_000, 0), [1, 1, 0, 0, 1]);
        assert_eq!(pushed(5, 5), [1, u16::MAX - 1, 0, 5, 5000]);
        assert_eq!(pushed(i128::from(u64::MAX), 0), [5, 4, 0, 0, 1844, 6744, 737, 955, 1615]);
        assert_eq!(pushed(10i128.pow(38) - 1, 38).len(), 4 + 10);
    }

    #[test]
    fn all_ways_agree() {
        for scale in 0..=18 {
            for digits in 0..=18 {
                for number in
                    [10i128.pow(digits), 10i128.pow(digits) - 1, 10i128.pow(digits) + 1, 7 * 10i128.pow(digits)]
                {
                    pushed(number, scale);
                    pushed(-number, scale);
                }
            }
        }
    }

    #[test]
    fn the_short_way_leaves_out_what_does_not_fit() {
        let short =
            |scale, limits, number| ShortNumeric::of(scale, limits).is_some_and(|it| it.push(&mut Vec::new(), number));
        assert!(short(2, Some((6, 2)), 999_999) && short(2, Some((6, 2)), -999_999));
        assert!(!short(2, Some((6, 2)), 1_000_000) && !short(2, Some((6, 2)), -1_000_000));
        assert!(!short(2, Some((6, 3)), 1) && !short(-1, None, 1));
        assert!(short(2, Some((38, 2)), 1 << 50) && !short(2, None, i128::from(i64::MAX)) && !short(0, None, 1 << 64));
    }

    #[test]
    fn limits_are_those_of_the_modifier() {
        assert!(fits("123456", 2, (6, 2)));
        assert!(!fits("1234567", 2, (6, 2)));
        assert!(fits("-1200", 3, (3, 1)));
        assert!(!fits("1234", 3, (10, 2)));
        assert!(fits("1200", 0, (2, -2)));
        assert!(!fits("1201", 0, (2, -2)));
        assert!(fits("12", 5, (2, 5)));
        assert!(!fits("123", 5, (2, 5)));
        assert!(fits("0", 9, (1, 0)));
    }
}
