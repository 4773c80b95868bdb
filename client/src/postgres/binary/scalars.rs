//! Converts dates and times in DateStyle ISO, and numbers, from text to the bytes of their send functions:
//! `EncodeDateOnly` and `EncodeDateTime` in PostgreSQL's datetime.c, `numeric_out` and `numeric_send` in numeric.c.

/// Days from 1 March of the year 0 to 1 January 2000.
const EPOCH: i64 = 730_425;
const DAY: i128 = 86_400_000_000;
pub(super) const SECOND: i128 = 1_000_000;
/// Decimal digits of one digit of a numeric.
const DIGIT: usize = 4;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const MINUS_INFINITY: u16 = 0xf000;

/// Days since 2000.
pub(super) fn date(text: &str) -> Option<i32> {
    match text {
        "infinity" => Some(i32::MAX),
        "-infinity" => Some(i32::MIN),
        text => {
            let (text, before_christ) = era(text);
            i32::try_from(days(text, before_christ)?).ok()
        }
    }
}

/// Microseconds since midnight.
pub(super) fn time(text: &str) -> Option<i64> {
    i64::try_from(clock(text)?).ok()
}

/// Microseconds since 2000, in UTC if the text has an offset.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    match text {
        "infinity" => return Some(i64::MAX),
        "-infinity" => return Some(i64::MIN),
        _ => {}
    }
    let (text, before_christ) = era(text);
    let (day, rest) = text.split_once(' ')?;
    let (time, offset) = match rest.find(['+', '-']) {
        Some(at) => {
            let (sign, offset) = signed(&rest[at..]);
            (&rest[..at], sign * offset_of(offset)?)
        }
        None => (rest, 0),
    };
    i64::try_from(i128::from(days(day, before_christ)?) * DAY + clock(time)? - offset).ok()
}

/// Appends the bytes of `numeric_send`: the number of digits to the base 10000, the weight of the first one, the sign,
/// the scale, the digits.
pub(super) fn write_numeric(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let (sign, text) = match text {
        "NaN" => (NAN, ""),
        "Infinity" => (INFINITY, ""),
        "-Infinity" => (MINUS_INFINITY, ""),
        text => text.strip_prefix('-').map_or((0, text), |text| (NEGATIVE, text)),
    };
    let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !integer.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) || text.is_empty() && sign < NAN {
        return None;
    }
    let before = integer.len().div_ceil(DIGIT);
    let zeros = std::iter::repeat(b'0');
    let padded: Vec<u8> = zeros
        .clone()
        .take(before * DIGIT - integer.len())
        .chain(integer.bytes())
        .chain(fraction.bytes())
        .chain(zeros.take(fraction.len().next_multiple_of(DIGIT) - fraction.len()))
        .collect();
    let value = |digit: &[u8]| digit.iter().fold(0u16, |sum, byte| sum * 10 + u16::from(byte - b'0'));
    let mut digits: Vec<u16> = padded.chunks_exact(DIGIT).map(value).collect();
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..leading);
    digits.truncate(digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1));
    let weight = if digits.is_empty() { 0 } else { before as i64 - 1 - leading as i64 };
    out.extend_from_slice(&u16::try_from(digits.len()).ok()?.to_be_bytes());
    out.extend_from_slice(&i16::try_from(weight).ok()?.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&u16::try_from(fraction.len()).ok()?.to_be_bytes());
    digits.iter().for_each(|digit| out.extend_from_slice(&digit.to_be_bytes()));
    Some(())
}

/// The text before ` BC`, and whether the text ends so.
fn era(text: &str) -> (&str, bool) {
    text.strip_suffix(" BC").map_or((text, false), |text| (text, true))
}

/// 1 or -1, and the text after the sign.
pub(super) fn signed(text: &str) -> (i128, &str) {
    match text.strip_prefix('-') {
        Some(text) => (-1, text),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Digits only.
pub(super) fn whole(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|number| *number <= i64::from(u32::MAX))
}

/// Days since 2000 of `YYYY-MM-DD`, in the calendar that PostgreSQL uses for all times.
fn days(text: &str, before_christ: bool) -> Option<i64> {
    let mut parts = text.split('-');
    // Other styles have the year elsewhere.
    let year = whole(parts.next().filter(|year| year.len() >= 4)?)?;
    let (month, day) = (whole(parts.next()?)?, whole(parts.next()?)?);
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if before_christ { 1 - year } else { year };
    // Years that begin in March end with the leap day.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(before + (month * 153 + 2) / 5 + day - 1 - EPOCH)
}

/// Microseconds of `HH:MM:SS`, with up to six digits after a point.
pub(super) fn clock(text: &str) -> Option<i128> {
    let mut parts = text.split(':');
    let (hours, minutes) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let last = seconds(parts.next()?)?;
    if parts.next().is_some() || minutes > 59 || last > 60 * SECOND {
        return None;
    }
    Some(i128::from(hours * 3600 + minutes * 60) * SECOND + last)
}

/// Microseconds of seconds with up to six digits after a point.
pub(super) fn seconds(text: &str) -> Option<i128> {
    let (text, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let micros = whole(fraction)? * 10i64.pow(6u32.checked_sub(fraction.len() as u32)?);
    Some(i128::from(whole(text)?) * SECOND + i128::from(micros))
}

/// Microseconds of `HH`, `HH:MM` or `HH:MM:SS`.
fn offset_of(text: &str) -> Option<i128> {
    let mut seconds = 0;
    let mut unit = 3600;
    for part in text.split(':') {
        seconds += whole(part)?.checked_mul(unit)?;
        unit /= 60;
    }
    Some(i128::from(seconds) * SECOND)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_and_times_are_read() {
        // select d - date '2000-01-01'
        assert_eq!(date("2000-01-01"), Some(0));
        assert_eq!(date("2000-03-01"), Some(60));
        assert_eq!(date("1970-01-01"), Some(-10957));
        assert_eq!(date("4714-11-24 BC"), Some(-2_451_545));
        assert_eq!(date("0001-12-31 BC"), Some(-730_120));
        assert_eq!(date("5874897-12-31"), Some(2_145_031_948));
        assert_eq!((date("infinity"), date("-infinity")), (Some(i32::MAX), Some(i32::MIN)));
        assert_eq!(time("24:00:00"), Some(86_400_000_000));
        assert_eq!(time("23:59:59.999999"), Some(86_399_999_999));
        assert_eq!(timestamp("2000-01-01 00:00:00.5"), Some(500_000));
        assert_eq!(timestamp("1999-12-31 23:59:59.999999"), Some(-1));
        assert_eq!(timestamp("2000-01-01 05:30:00+05:30"), Some(0));
        assert_eq!(timestamp("1999-12-31 23:06:32-00:53:28"), Some(0));
        // select extract(epoch from t) * 1000000 - 946684800000000
        assert_eq!(timestamp("4714-11-24 00:00:00+00 BC"), Some(-211_813_488_000_000_000));
        assert_eq!(timestamp("294276-12-31 23:59:59.999999"), Some(9_223_371_331_199_999_999));
        assert_eq!((timestamp("infinity"), timestamp("-infinity")), (Some(i64::MAX), Some(i64::MIN)));
        for text in ["", "2000", "2000-13-01", "2000-01-01-01", "01/02/2000", "2000-01-01 1:2", "x"] {
            assert_eq!((date(text), timestamp(text)), (None, None), "{text}");
        }
    }

    #[test]
    fn numerics_have_the_bytes_of_numeric_send() {
        let sent = |text: &str| {
            let mut out = Vec::new();
            write_numeric(text, &mut out)?;
            Some(out.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect::<Vec<_>>())
        };
        // select encode(numeric_send(n), 'hex')
        assert_eq!(sent("0"), Some(vec![0, 0, 0, 0]));
        assert_eq!(sent("0.00"), Some(vec![0, 0, 0, 2]));
        assert_eq!(sent("-12345.678"), Some(vec![3, 1, NEGATIVE, 3, 1, 2345, 6780]));
        assert_eq!(sent("0.00001"), Some(vec![1, 0xfffe, 0, 5, 1000]));
        assert_eq!(sent("100000000"), Some(vec![1, 2, 0, 0, 1]));
        assert_eq!(sent("NaN"), Some(vec![0, 0, NAN, 0]));
        assert_eq!(sent("-Infinity"), Some(vec![0, 0, MINUS_INFINITY, 0]));
        for text in ["", "-", "1e5", "x", "1.2.3", "--1"] {
            assert_eq!(sent(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9:. +-]{0,24}( BC| years| mons)?") {
            let _ = (date(&text), time(&text), timestamp(&text));
            let _ = write_numeric(&text, &mut Vec::new());
        }
    }
}
