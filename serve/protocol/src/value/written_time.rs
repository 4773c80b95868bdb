//! Parses dates and timestamps in ISO 8601's form, as PostgreSQL and its drivers write them.

use super::datetime::{civil, days_of_civil};

/// A date, or a timestamp, as it is written.
pub(crate) struct WrittenTime {
    /// The days after 1970-01-01.
    pub days: i64,
    /// The microseconds of the day; 0 for a date.
    pub micros: i64,
    /// The offset from UTC, if it is written.
    pub seconds_east: Option<i64>,
}

/// The maximum number of digits of a second's fraction.
const FRACTION_DIGITS: usize = 6;
const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// PostgreSQL's largest year.
const MAX_YEAR: i64 = 5_874_897;

/// Parses `2024-02-29`, with or without a time, an offset and the era: ` BC` at the end, or ` (BC)` after the date.
pub(crate) fn parse(text: &str) -> Option<WrittenTime> {
    let (text, is_before_christ) = match text.strip_suffix(" BC") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (date, rest) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    let (rest, is_before_christ) = match rest.strip_prefix("(BC)") {
        Some(rest) => (rest.trim_ascii_start(), true),
        None => (rest, is_before_christ),
    };
    let [year, month, day] = numbers(date, '-')?;
    // There is no year 0.
    let year = if is_before_christ { 1 - year } else { year };
    let days = Some(days_of_civil(year, month, day)).filter(|_| year.abs() <= MAX_YEAR && date.len() >= "1-1-1".len());
    let days = days.filter(|days| civil(*days) == (year, month, day))?;
    if rest.is_empty() {
        return Some(WrittenTime { days, micros: 0, seconds_east: None });
    }
    let (time, zone) = rest.split_at(rest.find(['+', '-', 'Z', 'z']).unwrap_or(rest.len()));
    let seconds_east = if zone.is_empty() { None } else { Some(seconds_east(zone)?) };
    Some(WrittenTime { days, micros: micros_of_day(time.trim_ascii_end())?, seconds_east })
}

/// Parses `01:02:03.5`, or without the seconds.
fn micros_of_day(time: &str) -> Option<i64> {
    let (whole, fraction) = time.split_once('.').unwrap_or((time, ""));
    let is_fraction = fraction.len() <= FRACTION_DIGITS && fraction.bytes().all(|digit| digit.is_ascii_digit());
    let micros: i64 = format!("{fraction:0<FRACTION_DIGITS$}").parse().ok().filter(|_| is_fraction)?;
    let [hour, minute, second] = match whole.matches(':').count() {
        1 => numbers(&format!("{whole}:0"), ':')?,
        _ => numbers(whole, ':')?,
    };
    let seconds = hour * 3600 + minute * 60 + second;
    let is_time = hour <= 24 && minute < 60 && second < 60 && seconds * MICROS_PER_SECOND + micros <= MICROS_PER_DAY;
    is_time.then_some(seconds * MICROS_PER_SECOND + micros)
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
fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    /// More digits are in no date or time.
    const DIGITS: usize = 7;
    let number = |part: &str| part.parse().ok().filter(|_| part.len() <= DIGITS && !part.starts_with(['-', '+']));
    let mut parts = text.split(separator).map(number);
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}
