//! Units of time, and dates.

use super::kind::ColumnMeaning;

const PER_SECOND: i64 = 1_000_000;
/// The days of 400 years.
const ERA: u32 = 146_097;

/// Year, month and day, of days since 1970 in the years 0 to 9999. The algorithm is `civil_from_days` of
/// <http://howardhinnant.github.io/date_algorithms.html>, whose years begin in March.
#[inline]
pub(crate) fn civil(days: i64) -> (u32, u32, u32) {
    // Days since March of the year -400, so that no number is negative.
    let shifted = (days + i64::from(ERA) + 719_468) as u32;
    let (era, day_of_era) = (shifted / ERA, shifted % ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + u32::from(month <= 2) - 400, month, day)
}

/// The days from 0000-01-01 to 9999-12-31, since 1970.
const DAYS: std::ops::RangeInclusive<i64> = -719_528..=2_932_896;

/// The value in the form that an error shows: of ISO 8601 in the years 0 to 9999, and a number of units otherwise.
pub(crate) fn shown(number: i64, meaning: &ColumnMeaning) -> String {
    let date = |days: i64| {
        DAYS.contains(&days).then(|| civil(days)).map(|(year, month, day)| format!("{year:04}-{month:02}-{day:02}"))
    };
    let clock = |number: i64, per: i64| {
        let (seconds, fraction) = (number / per, number % per);
        let digits = per.ilog10() as usize;
        let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:0digits$}") };
        format!("{:02}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    };
    let moment = |per: i64, zone: &str| {
        let (days, rest) = (number.div_euclid(86_400 * per), number.rem_euclid(86_400 * per));
        date(days).map(|date| format!("{date} {}{zone}", clock(rest, per)))
    };
    let (found, unit) = match *meaning {
        ColumnMeaning::Date { per_day: 1 } => (date(number), "days since 1970"),
        ColumnMeaning::Date { .. } => (moment(1000, ""), "ms since 1970"),
        ColumnMeaning::Timestamp { per_second, zoned } => {
            let unit = unit_name(per_second);
            let found = moment(per_second, if zoned { "+00:00" } else { "" });
            return found.unwrap_or_else(|| format!("{number} {unit} since 1970"));
        }
        ColumnMeaning::Time { per_second } => ((number >= 0).then(|| clock(number, per_second)), unit_name(per_second)),
        ColumnMeaning::Duration { per_second } => (None, unit_name(per_second)),
        _ => (None, "ns"),
    };
    found.unwrap_or_else(|| format!("{number} {unit}"))
}

/// The name of a unit of which a second, or a day, has so many.
fn unit_name(per: i64) -> &'static str {
    match per {
        1 => "s",
        1_000 => "ms",
        1_000_000 => "us",
        1_000_000_000 => "ns",
        _ => "ms since 1970",
    }
}

/// Whether it lies between values that are `step` microseconds apart, or is a date that is no midnight.
pub(crate) fn is_between(number: i64, meaning: &ColumnMeaning, step: i64) -> bool {
    let per = match *meaning {
        ColumnMeaning::Date { per_day } => return number % per_day != 0,
        ColumnMeaning::Time { per_second }
        | ColumnMeaning::Timestamp { per_second, .. }
        | ColumnMeaning::Duration { per_second } => per_second,
        ColumnMeaning::Interval => 1_000_000_000,
        _ => return false,
    };
    match microseconds(number, per) {
        Some(micros) => step > 1 && micros % step != 0,
        // Otherwise it is out of the range of microseconds.
        None => step > 0 && per > PER_SECOND,
    }
}

/// The microseconds of so many units, if they are whole.
pub(crate) fn microseconds(number: i64, per_second: i64) -> Option<i64> {
    if per_second <= PER_SECOND {
        number.checked_mul(PER_SECOND / per_second)
    } else {
        let units = per_second / PER_SECOND;
        (number % units == 0).then(|| number / units)
    }
}
