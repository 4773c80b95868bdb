//! Parses the timestamps with a zone that PostgreSQL's drivers write, for databases that cannot read a zone.

use jiff::SignedDuration;
use jiff::civil::{Date, Time};

/// A point in time in UTC, in the years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are enough")]
pub struct Instant {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// The maximum number of digits of a second's fraction.
const FRACTION_DIGITS: usize = 6;

/// Parses `2024-02-29 01:02:03.5+05:30`; `None` for another form, and for a text without a zone.
pub fn parse_instant(text: &str) -> Option<Instant> {
    let (date, rest) = text.split_once([' ', 'T'])?;
    let (time, zone) = rest.split_at(rest.find(['+', '-', 'Z', 'z'])?);
    let [year, month, day] = numbers(date, '-')?;
    let (whole, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(whole, ':')?;
    let is_fraction = fraction.len() <= FRACTION_DIGITS && fraction.bytes().all(|digit| digit.is_ascii_digit());
    let microsecond = format!("{fraction:0<FRACTION_DIGITS$}").parse().ok().filter(|_| is_fraction)?;
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let [hour, minute, second] = [hour, minute, second].map(|number| i8::try_from(number).unwrap_or(-1));
    let local = date.to_datetime(Time::new(hour, minute, second, 0).ok()?);
    let utc = local.checked_sub(SignedDuration::from_secs(seconds_east(zone)?)).ok()?;
    Some(Instant {
        year: u16::try_from(utc.year()).ok().filter(|year| *year > 0)?,
        month: utc.month().unsigned_abs(),
        day: utc.day().unsigned_abs(),
        hour: utc.hour().unsigned_abs(),
        minute: utc.minute().unsigned_abs(),
        second: utc.second().unsigned_abs(),
        microsecond,
    })
}

/// Parses an offset such as `+05:30`, `-08`, `+00:19:32` or `Z`.
fn seconds_east(zone: &str) -> Option<i64> {
    let (sign, offset) = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => return Some(0),
        (sign, offset) => (if sign == "-" { -1 } else { 1 }, offset),
    };
    let (mut total, mut unit) = (0, 3600);
    for part in offset.split(':') {
        let is_number = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_digit());
        total += part.parse::<i64>().ok().filter(|_| is_number && unit > 0)? * unit;
        unit /= 60;
    }
    Some(sign * total)
}

/// Parses three numbers with separators between them.
fn numbers(text: &str, separator: char) -> Option<[i16; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse().ok().filter(|number| *number >= 0));
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let at = parse_instant(text)?;
        let Instant { year, month, day, hour, minute, second, microsecond } = at;
        Some(format!("{year}-{month}-{day} {hour}:{minute}:{second}.{microsecond}"))
    }

    #[test]
    fn times_are_converted_to_utc() {
        for (text, expected) in [
            ("2024-02-29 01:02:03.5+05:30", "2024-2-28 19:32:3.500000"),
            ("2024-12-31T23:59:59-01", "2025-1-1 0:59:59.0"),
            ("0001-01-01 00:19:32+00:19:32", "1-1-1 0:0:0.0"),
            ("2024-02-29 01:02:03Z", "2024-2-29 1:2:3.0"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "2024-02-29 01:02:03",
            "2024-02-30 00:00:00Z",
            "infinity",
            "0044-03-15 00:00:00+00 BC",
            "a b+c",
            "2024-02-29 24:00:00Z",
            "0001-01-01 00:00:00+01",
            "2024-02-29 01:02:03+1",
            "2024-02-29 01:02:03 Europe/Berlin",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[-0-9T Z+.:é]{0,30}") {
            let _ = parse_instant(&text);
        }
    }
}
