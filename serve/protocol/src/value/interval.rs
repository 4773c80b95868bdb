//! PostgreSQL's text forms of intervals, by its setting `IntervalStyle`.

use super::datetime::{fraction, two_digits};
use super::number::integer;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The form of intervals in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 year 2 mons -3 days +04:05:06.7`
    #[default]
    Postgres,
    /// `P1Y2M-3DT4H5M6.7S`, which Rails reads.
    Iso8601,
}

impl IntervalStyle {
    /// The style with this name, in any letter case, if it is one of these.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Postgres, Self::Iso8601].into_iter().find(|style| style.name().eq_ignore_ascii_case(name))
    }

    /// The value of `IntervalStyle`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Iso8601 => "iso_8601",
        }
    }

    /// Appends an interval (PostgreSQL's `EncodeInterval`).
    pub(super) fn write(self, months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
        match self {
            Self::Postgres => postgres(months, days, nanos, out),
            Self::Iso8601 => iso_8601(months, days, nanos, out),
        }
    }
}

/// A positive part after a negative one has a sign, so that the text reads back as the same interval.
fn postgres(months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
    let start = out.len();
    let mut after_negative = false;
    for (value, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if value == 0 {
            continue;
        }
        if out.len() > start {
            out.push(b' ');
        }
        if after_negative && value > 0 {
            out.push(b'+');
        }
        integer(value, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if value != 1 {
            out.push(b's');
        }
        after_negative = value < 0;
    }
    if nanos == 0 && out.len() > start {
        return;
    }
    if out.len() > start {
        out.push(b' ');
    }
    if nanos < 0 {
        out.push(b'-');
    } else if after_negative {
        out.push(b'+');
    }
    let nanos = nanos.unsigned_abs();
    let seconds = (nanos / NANOS_PER_SECOND) as i64;
    two_digits(seconds / 3600, out);
    out.push(b':');
    two_digits(seconds / 60 % 60, out);
    out.push(b':');
    two_digits(seconds % 60, out);
    fraction((nanos % NANOS_PER_SECOND) as i64, NANOS_PER_SECOND as i64, out);
}

/// Each part has its own sign.
fn iso_8601(months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
    let part = |value: i64, letter: u8, out: &mut Vec<u8>| {
        if value != 0 {
            integer(value, out);
            out.push(letter);
        }
    };
    if (months, days, nanos) == (0, 0, 0) {
        return out.extend_from_slice(b"PT0S");
    }
    out.push(b'P');
    part(i64::from(months / 12), b'Y', out);
    part(i64::from(months % 12), b'M', out);
    part(i64::from(days), b'D', out);
    if nanos == 0 {
        return;
    }
    out.push(b'T');
    let (seconds, rest) = (nanos / NANOS_PER_SECOND as i64, nanos % NANOS_PER_SECOND as i64);
    part(seconds / 3600, b'H', out);
    part(seconds / 60 % 60, b'M', out);
    if seconds % 60 != 0 || rest != 0 {
        if nanos < 0 {
            out.push(b'-');
        }
        integer((seconds % 60).abs(), out);
        fraction(rest.abs(), NANOS_PER_SECOND as i64, out);
        out.push(b'S');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_as_in_postgresql() {
        // Taken from PostgreSQL 15: set intervalstyle = …; select interval '…'.
        for ((months, days, nanos), postgres, iso_8601) in [
            ((0, 0, 0), "00:00:00", "PT0S"),
            ((14, 3, 14_706_700_000_000), "1 year 2 mons 3 days 04:05:06.7", "P1Y2M3DT4H5M6.7S"),
            ((-1, 1, 0), "-1 mons +1 day", "P-1M1D"),
            ((0, -1, 3_600_000_000_000), "-1 days +01:00:00", "P-1DT1H"),
            ((-14, 0, -1_000), "-1 years -2 mons -00:00:00.000001", "P-1Y-2MT-0.000001S"),
            ((0, 0, -3_661_000_000_000), "-01:01:01", "PT-1H-1M-1S"),
            ((12, 0, 0), "1 year", "P1Y"),
            ((0, 2, 0), "2 days", "P2D"),
            ((0, 0, 360_000_000_000_000), "100:00:00", "PT100H"),
        ] {
            for (style, expected) in [(IntervalStyle::Postgres, postgres), (IntervalStyle::Iso8601, iso_8601)] {
                let mut out = Vec::new();
                style.write(months, days, nanos, &mut out);
                assert_eq!(String::from_utf8(out).unwrap(), expected);
            }
        }
    }
}
