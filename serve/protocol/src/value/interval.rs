//! PostgreSQL's text forms of intervals, by its setting `IntervalStyle`.

use super::datetime::{fraction, two_digits};
use super::number::integer;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const NANOS_PER_HOUR: u64 = 3600 * NANOS_PER_SECOND;

/// The form of intervals in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 year 2 mons -3 days +04:05:06.7`
    #[default]
    Postgres,
    /// `P1Y2M-3DT4H5M6.7S`, which Rails reads.
    Iso8601,
    /// `+1-2 -3 +4:05:06.7`
    SqlStandard,
    /// `@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs`
    PostgresVerbose,
}

impl IntervalStyle {
    /// The style with this name, in any letter case, if it is one of these.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Postgres, Self::Iso8601, Self::SqlStandard, Self::PostgresVerbose];
        all.into_iter().find(|style| style.name().eq_ignore_ascii_case(name))
    }

    /// The value of `IntervalStyle`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Iso8601 => "iso_8601",
            Self::SqlStandard => "sql_standard",
            Self::PostgresVerbose => "postgres_verbose",
        }
    }

    /// Appends an interval (PostgreSQL's `EncodeInterval`).
    pub(super) fn write(self, months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
        match self {
            Self::Postgres => postgres(months, days, nanos, out),
            Self::Iso8601 => iso_8601(months, days, nanos, out),
            Self::SqlStandard => sql_standard(months, days, nanos, out),
            Self::PostgresVerbose => verbose(months, days, nanos, out),
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
    two_digits((nanos / NANOS_PER_HOUR) as i64, out);
    within_hour(nanos, out);
}

/// Appends minutes and seconds behind the hours.
fn within_hour(nanos: u64, out: &mut Vec<u8>) {
    let seconds = (nanos / NANOS_PER_SECOND) as i64;
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

/// The standard has intervals of years and months, and those of days and time, each with one sign. Others have a sign for
/// each part.
fn sql_standard(months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
    let parts = [i64::from(months), i64::from(days), nanos];
    let (has_negative, has_positive) = (parts.iter().any(|part| *part < 0), parts.iter().any(|part| *part > 0));
    if !has_negative && !has_positive {
        return out.push(b'0');
    }
    let is_standard = !(has_negative && has_positive) && (months == 0 || (days, nanos) == (0, 0));
    let sign = |is_negative: bool, out: &mut Vec<u8>| match (is_negative, is_standard) {
        (true, false) => out.push(b'-'),
        (false, false) => out.push(b'+'),
        _ => {}
    };
    if is_standard && has_negative {
        out.push(b'-');
    }
    if months != 0 || !is_standard {
        sign(months < 0, out);
        integer((months / 12).unsigned_abs(), out);
        out.push(b'-');
        integer((months % 12).unsigned_abs(), out);
    }
    if !is_standard {
        out.push(b' ');
    }
    if days != 0 || !is_standard {
        sign(days < 0, out);
        integer(days.unsigned_abs(), out);
        out.push(b' ');
    }
    if months == 0 || !is_standard {
        sign(nanos < 0, out);
        let nanos = nanos.unsigned_abs();
        integer((nanos / NANOS_PER_HOUR) as i64, out);
        within_hour(nanos, out);
    }
}

/// The signs are relative to the first part. If it is negative, the interval is `ago`.
fn verbose(months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
    let (seconds, rest) = (nanos / NANOS_PER_SECOND as i64, nanos % NANOS_PER_SECOND as i64);
    let whole = [
        (i64::from(months / 12), "year"),
        (i64::from(months % 12), "mon"),
        (i64::from(days), "day"),
        (seconds / 3600, "hour"),
        (seconds / 60 % 60, "min"),
    ];
    let mut is_before = None;
    out.push(b'@');
    for (value, unit) in whole.into_iter().filter(|(value, _)| *value != 0) {
        let shown = if *is_before.get_or_insert(value < 0) { -value } else { value };
        out.push(b' ');
        integer(shown, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if shown != 1 {
            out.push(b's');
        }
    }
    let seconds = seconds % 60;
    if (seconds, rest) != (0, 0) {
        let is_negative = seconds < 0 || rest < 0;
        out.push(b' ');
        if *is_before.get_or_insert(is_negative) != is_negative {
            out.push(b'-');
        }
        integer(seconds.unsigned_abs(), out);
        fraction(rest.abs(), NANOS_PER_SECOND as i64, out);
        out.extend_from_slice(if seconds.abs() == 1 && rest == 0 { b" sec" } else { b" secs" });
    }
    match is_before {
        None => out.extend_from_slice(b" 0"),
        Some(true) => out.extend_from_slice(b" ago"),
        Some(false) => {}
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
