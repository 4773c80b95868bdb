//! PostgreSQL's text form of intervals, with `IntervalStyle = postgres`.

use super::datetime::{fraction, two_digits};
use super::number::integer;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Appends an interval: `1 year 2 mons -3 days +04:05:06.7` (PostgreSQL's `EncodeInterval`).
///
/// A positive part after a negative one has a sign, so that the text reads back as the same interval.
pub(super) fn interval(months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_as_in_postgresql() {
        // Taken from PostgreSQL 15: select interval '…'.
        for ((months, days, nanos), expected) in [
            ((0, 0, 0), "00:00:00"),
            ((14, 3, 14_706_700_000_000), "1 year 2 mons 3 days 04:05:06.7"),
            ((-1, 1, 0), "-1 mons +1 day"),
            ((0, -1, 3_600_000_000_000), "-1 days +01:00:00"),
            ((-14, 0, -1_000), "-1 years -2 mons -00:00:00.000001"),
            ((12, 0, 0), "1 year"),
            ((0, 2, 0), "2 days"),
            ((0, 0, 360_000_000_000_000), "100:00:00"),
        ] {
            let mut out = Vec::new();
            interval(months, days, nanos, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
