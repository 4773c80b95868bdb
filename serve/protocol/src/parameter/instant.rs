//! Parses the timestamps with a zone that PostgreSQL's drivers write, for databases that cannot read a zone.

use crate::value::datetime::civil;
use crate::value::written_time;

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

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Parses `2024-02-29 01:02:03.5+05:30`; `None` for another form, and for a text without a zone.
pub fn parse_instant(text: &str) -> Option<Instant> {
    let written = written_time::parse(text)?;
    let utc = written.days.checked_mul(MICROS_PER_DAY)? + written.micros - written.seconds_east? * MICROS_PER_SECOND;
    let (year, month, day) = civil(utc.div_euclid(MICROS_PER_DAY));
    let within = utc.rem_euclid(MICROS_PER_DAY);
    let second = within / MICROS_PER_SECOND;
    Some(Instant {
        year: u16::try_from(year).ok().filter(|year| (1..=9999).contains(year))?,
        month: month as u8,
        day: day as u8,
        hour: (second / 3600) as u8,
        minute: (second / 60 % 60) as u8,
        second: (second % 60) as u8,
        microsecond: (within % MICROS_PER_SECOND) as u32,
    })
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
            ("2024-02-29 24:00:00Z", "2024-3-1 0:0:0.0"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "2024-02-29 01:02:03",
            "2024-02-30 00:00:00Z",
            "infinity",
            "0044-03-15 00:00:00+00 BC",
            "a b+c",
            "2024-02-29 24:00:01Z",
            "292277-01-01 00:00:00Z",
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
