//! Dates and times in ISO 8601's text form, which SQLite's own functions write.
//! <https://www.sqlite.org/lang_datefunc.html#time_values>

const MICROSECONDS: i64 = 1_000_000;
const DAY: i64 = 86_400 * MICROSECONDS;
/// The digits of a fraction that are kept.
const FRACTION: usize = 6;

/// Days from 1970: `YYYY-MM-DD`.
#[inline]
pub(super) fn date(text: &[u8]) -> Option<i32> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = *text else { return None };
    let year = i32::from(two(y0, y1)?) * 100 + i32::from(two(y2, y3)?);
    let (month, day) = (two(m0, m1)?, two(d0, d1)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u8::from(leap),
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is their last day.
    // http://howardhinnant.github.io/date_algorithms.html
    let (month, day) = (i32::from(month), i32::from(day));
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day - 1;
    Some(days - 719_468)
}

/// Microseconds from midnight: `HH:MM`, `HH:MM:SS` or `HH:MM:SS.ffffff`, with more digits only if these are zeros.
#[inline]
pub(super) fn time(text: &[u8]) -> Option<i64> {
    let (hours, minutes, rest) = hours_and_minutes(text)?;
    let (seconds, fraction) = match rest {
        [] => (0, &[][..]),
        [b':', s0, s1] => (two(*s0, *s1)?, &[][..]),
        [b':', s0, s1, b'.', fraction @ ..] if !fraction.is_empty() => (two(*s0, *s1)?, fraction),
        _ => return None,
    };
    if seconds > 59 {
        return None;
    }
    let mut microseconds = 0;
    for place in 0..fraction.len().max(FRACTION) {
        let digit = fraction.get(place).map_or(Some(0), |byte| digit(*byte))?;
        if place < FRACTION {
            microseconds = microseconds * 10 + i64::from(digit);
        } else if digit > 0 {
            return None;
        }
    }
    Some(((hours * 60 + minutes) * 60 + i64::from(seconds)) * MICROSECONDS + microseconds)
}

/// Microseconds from 1970: a date, and a time after a space or a `T`, or else midnight.
#[inline]
pub(super) fn timestamp(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let time = match rest {
        [] => 0,
        [b' ' | b'T', time @ ..] => self::time(time)?,
        _ => return None,
    };
    Some(i64::from(self::date(date)?) * DAY + time)
}

/// The same in UTC, for text that ends with `Z` or an offset, `+HH:MM`.
pub(super) fn instant(text: &[u8]) -> Option<i64> {
    if let Some(text) = text.strip_suffix(b"Z") {
        return timestamp(text);
    }
    let (local, zone) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (sign, zone) = zone.split_first()?;
    let (hours, minutes, []) = hours_and_minutes(zone)? else { return None };
    let distance = (hours * 60 + minutes) * 60 * MICROSECONDS;
    match sign {
        b'+' => Some(timestamp(local)? - distance),
        b'-' => Some(timestamp(local)? + distance),
        _ => None,
    }
}

#[inline]
fn hours_and_minutes(text: &[u8]) -> Option<(i64, i64, &[u8])> {
    let [h0, h1, b':', m0, m1, rest @ ..] = text else { return None };
    let (hours, minutes) = (two(*h0, *h1)?, two(*m0, *m1)?);
    (hours < 24 && minutes < 60).then(|| (hours.into(), minutes.into(), rest))
}

#[inline]
fn two(tens: u8, ones: u8) -> Option<u8> {
    Some(digit(tens)? * 10 + digit(ones)?)
}

#[inline]
fn digit(byte: u8) -> Option<u8> {
    byte.is_ascii_digit().then(|| byte - b'0')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(b"1970-01-01"), Some(0));
        assert_eq!(date(b"2000-02-29"), Some(11016));
        assert_eq!(date(b"0000-01-01"), Some(-719_528));
        assert_eq!(date(b"9999-12-31"), Some(2_932_896));
        // Each day once, in order.
        let mut last = date(b"0000-01-01").unwrap() - 1;
        for year in 0..=9999 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(days) = date(format!("{year:04}-{month:02}-{day:02}").as_bytes()) {
                        assert_eq!(days, last + 1);
                        last = days;
                    }
                }
            }
        }
        assert_eq!(last, 2_932_896);
        for text in [
            "1900-02-29",
            "2023-04-31",
            "2023-13-01",
            "2023-00-01",
            "2023-1-1",
            "2023-01-00",
            "2023/01/01",
            "",
            "12023-01-01",
        ] {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(time(b"00:00"), Some(0));
        assert_eq!(time(b"23:59:59"), Some(86_399_000_000));
        assert_eq!(time(b"00:00:01.5"), Some(1_500_000));
        assert_eq!(time(b"00:00:01.000001000"), Some(1_000_001));
        for text in
            ["24:00", "12:60", "12:00:60", "12", "12:00:00.", "12:00:00.0000001", "1:00", "12:00:00Z", "12:00:0x"]
        {
            assert_eq!(time(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn timestamps() {
        assert_eq!(timestamp(b"1970-01-02"), Some(DAY));
        assert_eq!(timestamp(b"1969-12-31 23:59:59.999999"), Some(-1));
        assert_eq!(timestamp(b"1970-01-01T00:01"), Some(60 * MICROSECONDS));
        assert_eq!(instant(b"1970-01-01 01:00:00+01:00"), Some(0));
        assert_eq!(instant(b"1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(instant(b"1969-12-31 18:30:00-05:30"), Some(0));
        for text in
            ["1970-01-01 ", "1970-01-01 00:00:00Z", "1970-01-01 00:00:00+00:00", "1970-01-01x00:00", "1970", "now"]
        {
            assert_eq!(timestamp(text.as_bytes()), None, "{text}");
        }
        for text in ["1970-01-01 00:00:00", "1970-01-01 00:00:00+0100", "1970-01-01 00:00:00 01:00", "Z", "+01:00", ""]
        {
            assert_eq!(instant(text.as_bytes()), None, "{text}");
        }
    }
}
