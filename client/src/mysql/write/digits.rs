//! Numbers, dates and times as text.

use crate::write::moment::civil;

/// The digits of the largest number of 64 bits.
const MAX_DIGITS: usize = 20;
const SECOND: u64 = 1_000_000;
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
                            2021222324252627282930313233343536373839\
                            4041424344454647484950515253545556575859\
                            6061626364656667686970717273747576777879\
                            8081828384858687888990919293949596979899";

/// Appends a number in decimal.
#[inline]
pub(super) fn push_unsigned(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; MAX_DIGITS];
    let start = fill(&mut digits, number);
    out.extend_from_slice(&digits[start..]);
}

/// Appends a number in decimal.
#[inline]
pub(super) fn push_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_unsigned(out, number.unsigned_abs());
}

/// Appends `number` / 10^`scale` with all digits after the point.
#[inline]
pub(super) fn push_scaled(out: &mut Vec<u8>, number: u64, scale: usize) {
    let mut digits = [b'0'; MAX_DIGITS];
    let start = fill(&mut digits, number);
    match MAX_DIGITS.checked_sub(scale) {
        Some(point) if scale > 0 => {
            // At least one digit stands before the point.
            out.extend_from_slice(&digits[start.min(point.saturating_sub(1))..point]);
            if point == 0 {
                out.push(b'0');
            }
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
        Some(_) => out.extend_from_slice(&digits[start..]),
        None => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + scale - MAX_DIGITS, b'0');
            out.extend_from_slice(&digits);
        }
    }
}

/// Writes the digits to the end of the buffer. Returns the place of the first.
#[inline]
fn fill(digits: &mut [u8; MAX_DIGITS], mut number: u64) -> usize {
    let mut at = MAX_DIGITS;
    while number >= 100 {
        let pair = 2 * (number % 100) as usize;
        number /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if number >= 10 {
        let pair = 2 * number as usize;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + number as u8;
    }
    at
}

#[inline]
fn push_pair(out: &mut Vec<u8>, number: u64) {
    let pair = 2 * (number % 100) as usize;
    out.extend_from_slice(&PAIRS[pair..pair + 2]);
}

/// Appends `YYYY-MM-DD`. The year is between 0 and 9999.
#[inline]
pub(super) fn push_date(out: &mut Vec<u8>, days: i64) {
    let (year, month, day) = civil(days);
    push_pair(out, (year / 100).into());
    push_pair(out, year.into());
    out.push(b'-');
    push_pair(out, month.into());
    out.push(b'-');
    push_pair(out, day.into());
}

/// Appends `HH:MM:SS`, with more hours if there are, and microseconds if there are any.
#[inline]
pub(super) fn push_time(out: &mut Vec<u8>, micros: u64) {
    let (seconds, fraction) = (micros / SECOND, micros % SECOND);
    let hours = seconds / 3600;
    if hours < 100 {
        push_pair(out, hours);
    } else {
        push_unsigned(out, hours);
    }
    out.push(b':');
    push_pair(out, seconds / 60 % 60);
    out.push(b':');
    push_pair(out, seconds % 60);
    if fraction > 0 {
        out.push(b'.');
        push_pair(out, fraction / 10_000);
        push_pair(out, fraction / 100);
        push_pair(out, fraction);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn text(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn scaled_numbers_have_a_digit_before_the_point() {
        for (number, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (123, 2, "1.23"),
            (7, 20, "0.00000000000000000007"),
            (7, 22, "0.0000000000000000000007"),
            (u64::MAX, 20, "0.18446744073709551615"),
            (u64::MAX, 19, "1.8446744073709551615"),
        ] {
            assert_eq!(text(|out| push_scaled(out, number, scale)), expected);
        }
    }

    #[test]
    fn dates_and_times_are_iso() {
        for (days, expected) in
            [(0, "1970-01-01"), (-719_528, "0000-01-01"), (2_932_896, "9999-12-31"), (11_016, "2000-02-29")]
        {
            assert_eq!(text(|out| push_date(out, days)), expected);
        }
        assert_eq!(text(|out| push_time(out, 3_723_000_000)), "01:02:03");
        assert_eq!(text(|out| push_time(out, 838 * 3_600_000_000 + 1)), "838:00:00.000001");
    }

    proptest! {
        #[test]
        fn numbers_are_decimal(number: i64, scale in 0usize..=25) {
            prop_assert_eq!(text(|out| push_signed(out, number)), number.to_string());
            let magnitude = number.unsigned_abs();
            prop_assert_eq!(text(|out| push_unsigned(out, magnitude)), magnitude.to_string());
            let digits = format!("{magnitude:0width$}", width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            let expected = if scale == 0 { whole.to_owned() } else { format!("{whole}.{fraction}") };
            prop_assert_eq!(text(|out| push_scaled(out, magnitude, scale)), expected);
        }
    }
}
