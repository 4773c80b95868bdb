//! Converts intervals from text: `EncodeInterval` in PostgreSQL's datetime.c.
//!
//! The texts of its four styles differ, so the session's IntervalStyle need not be known.

use super::scalars::{SECOND, clock, seconds, signed, whole};

/// Microseconds, days and months.
pub(super) fn parts(text: &str) -> Option<(i64, i32, i32)> {
    match text {
        "infinity" => return Some((i64::MAX, i32::MAX, i32::MAX)),
        "-infinity" => return Some((i64::MIN, i32::MIN, i32::MIN)),
        _ => {}
    }
    let Sum { micros, days, months } = match text.strip_prefix('P') {
        Some(text) => iso_8601(text),
        None if text.bytes().any(|byte| byte.is_ascii_alphabetic()) || text.starts_with('@') => with_units(text),
        None => sql_standard(text),
    }?;
    Some((i64::try_from(micros).ok()?, i32::try_from(days).ok()?, i32::try_from(months).ok()?))
}

#[derive(Default)]
struct Sum {
    micros: i128,
    days: i128,
    months: i128,
}

impl Sum {
    /// Adds a number of a unit. Only seconds have digits after a point.
    fn add(&mut self, sign: i128, number: &str, unit: &str) -> Option<()> {
        let whole = || whole(number).map(|number| sign * i128::from(number));
        match unit {
            "year" | "years" => self.months += whole()? * 12,
            "mon" | "mons" => self.months += whole()?,
            "day" | "days" => self.days += whole()?,
            "hour" | "hours" => self.micros += whole()? * 3600 * SECOND,
            "min" | "mins" => self.micros += whole()? * 60 * SECOND,
            "sec" | "secs" => self.micros += sign * seconds(number)?,
            _ => return None,
        }
        Some(())
    }
}

/// `postgres` and `postgres_verbose`: `1 year -2 days +03:04:05.6`, `@ 1 year 3 hours 5.6 secs ago`.
fn with_units(text: &str) -> Option<Sum> {
    let (text, is_verbose) = text.strip_prefix("@ ").map_or((text, false), |text| (text, true));
    let mut sum = Sum::default();
    if is_verbose && text == "0" {
        return Some(sum);
    }
    let mut words = text.split(' ');
    while let Some(word) = words.next() {
        let (sign, number) = signed(word);
        if word == "ago" && is_verbose && word.len() < text.len() {
            let Sum { micros, days, months } = sum;
            return words.next().is_none().then_some(Sum { micros: -micros, days: -days, months: -months });
        }
        if number.contains(':') {
            sum.micros += sign * clock(number)?;
        } else {
            sum.add(sign, number, words.next()?)?;
        }
    }
    Some(sum)
}

/// `1-2` for years and months, `3 4:05:06` for days and a time, `+1-2 -3 +4:05:06` for all. The first sign also counts
/// for what has none.
fn sql_standard(text: &str) -> Option<Sum> {
    let mut sum = Sum::default();
    let mut sign = 1;
    for word in text.split(' ') {
        let number = word.strip_prefix(['+', '-']).unwrap_or(word);
        if number.len() < word.len() {
            sign = signed(word).0;
        }
        if number.contains(':') {
            sum.micros += sign * clock(number)?;
        } else if let Some((years, months)) = number.split_once('-') {
            sum.add(sign, years, "years")?;
            sum.add(sign, months, "mons")?;
        } else {
            sum.add(sign, number, "days")?;
        }
    }
    Some(sum)
}

/// `1Y-2M3DT4H5M6.7S`.
fn iso_8601(text: &str) -> Option<Sum> {
    let (date, time) = text.split_once('T').unwrap_or((text, ""));
    let mut sum = Sum::default();
    for (text, units) in [
        (date, &[('Y', "years"), ('M', "mons"), ('D', "days")][..]),
        (time, &[('H', "hours"), ('M', "mins"), ('S', "secs")]),
    ] {
        for part in text.split_inclusive(|letter: char| letter.is_ascii_uppercase()) {
            let (_, unit) = units.iter().find(|(letter, _)| part.ends_with(*letter))?;
            let (sign, number) = signed(&part[..part.len() - 1]);
            sum.add(sign, number, unit)?;
        }
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_styles_are_read() {
        assert_eq!(parts("00:00:00"), Some((0, 0, 0)));
        assert_eq!(parts("1 year 2 mons 3 days 04:05:06.7"), Some((14_706_700_000, 3, 14)));
        assert_eq!(parts("-1 years -2 mons +3 days -04:05:06"), Some((-14_706_000_000, 3, -14)));
        assert_eq!(parts("1 mon -1 days"), Some((0, -1, 1)));
        assert_eq!(parts("-2562047788:00:54.775808"), Some((i64::MIN, 0, 0)));
        assert_eq!(parts("-178956970 years -8 mons"), Some((0, 0, i32::MIN)));
        assert_eq!(parts("@ 0"), Some((0, 0, 0)));
        assert_eq!(parts("@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs"), Some((14_706_700_000, -3, 14)));
        assert_eq!(parts("@ 1 day -2 hours ago"), Some((7_200_000_000, -1, 0)));
        assert_eq!(parts("@ 0.000001 secs ago"), Some((-1, 0, 0)));
        assert_eq!(parts("0"), Some((0, 0, 0)));
        assert_eq!(parts("-1-2"), Some((0, 0, -14)));
        assert_eq!(parts("-1 2:00:00"), Some((-7_200_000_000, -1, 0)));
        assert_eq!(parts("+1-2 -3 +4:05:06.7"), Some((14_706_700_000, -3, 14)));
        assert_eq!(parts("+0-0 -1 +2:00:00"), Some((7_200_000_000, -1, 0)));
        assert_eq!(parts("PT0S"), Some((0, 0, 0)));
        assert_eq!(parts("P1Y2M-3DT4H5M6.7S"), Some((14_706_700_000, -3, 14)));
        assert_eq!(parts("P-1MT-0.5S"), Some((-500_000, 0, -1)));
        for text in ["", "1 week", "P", "P1", "P1H", "1 year 2", "04:05", "@ ago", "1 day ago", "--1"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[P@]?[0-9:. +YMDTHS-]{0,24}( years| mons| ago)?") {
            let _ = parts(&text);
        }
    }
}
