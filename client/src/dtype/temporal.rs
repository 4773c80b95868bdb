//! Dates, timestamps and times of day in other units.

use arrow_schema::{DataType, TimeUnit};

/// The number of units in a day; `None` for other types.
pub(super) fn per_day(data_type: &DataType) -> Option<i64> {
    match data_type {
        DataType::Date32 => Some(1),
        DataType::Date64 => Some(86_400_000),
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) => {
            Some(86_400 * per_second(*unit))
        }
        _ => None,
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The largest and the smallest value represent infinity (TYPES.md).
pub(super) fn infinity(data_type: &DataType) -> Option<i64> {
    match data_type {
        DataType::Date32 => Some(i64::from(i32::MAX)),
        DataType::Timestamp(..) => Some(i64::MAX),
        _ => None,
    }
}

/// Converts from one unit to another.
pub(super) struct Rescale {
    from: i64,
    to: i64,
    infinities: Option<(i64, i64)>,
    limit: i64,
}

impl Rescale {
    pub(super) fn new(from: &DataType, to: &DataType) -> Option<Self> {
        let limit = match to {
            DataType::Date32 | DataType::Time32(_) => i64::from(i32::MAX),
            _ => i64::MAX,
        };
        Some(Self { from: per_day(from)?, to: per_day(to)?, infinities: infinity(from).zip(infinity(to)), limit })
    }

    /// The value, and whether it is unchanged; `None` if it does not fit.
    pub(super) fn apply(&self, value: i64) -> Option<(i64, bool)> {
        if let Some((from, to)) = self.infinities
            && (value == from || value == -from)
        {
            return Some((if value > 0 { to } else { -to }, true));
        }
        let (scaled, same) = if self.to >= self.from {
            (value.checked_mul(self.to / self.from)?, true)
        } else {
            let factor = self.from / self.to;
            (value.div_euclid(factor), value.rem_euclid(factor) == 0)
        };
        // A finite value must not become the infinite one.
        let reserved = self.infinities.is_some_and(|(_, to)| scaled.unsigned_abs() >= to.unsigned_abs());
        (!reserved && scaled <= self.limit && scaled >= -self.limit - 1).then_some((scaled, same))
    }
}

/// Whether text has more digits of a second than `unit` can represent.
pub(super) fn has_finer_digits(text: &str, data_type: &DataType) -> bool {
    let room = match data_type {
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) => match unit {
            TimeUnit::Second => 0,
            TimeUnit::Millisecond => 3,
            TimeUnit::Microsecond => 6,
            TimeUnit::Nanosecond => 9,
        },
        _ => 0,
    };
    let Some((_, fraction)) = text.split_once('.') else { return false };
    fraction.bytes().take_while(u8::is_ascii_digit).skip(room).any(|digit| digit != b'0')
}

/// Whether text begins in ISO 8601's extended form with all digits: a date `YYYY-MM-DD`, whose year may have a sign
/// and more digits, or a time `HH:MM`.
pub(super) fn is_iso(text: &str, data_type: &DataType) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let two = |text: Option<&str>| text.is_some_and(|text| text.len() == 2 && digits(text));
    if matches!(data_type, DataType::Time32(_) | DataType::Time64(_)) {
        let mut parts = text.split(':');
        let (hours, minutes, seconds) = (parts.next(), parts.next(), parts.next());
        let whole = seconds.map(|seconds| seconds.split_once('.').map_or(seconds, |(whole, _)| whole));
        return two(hours) && two(minutes) && (whole.is_none() || two(whole));
    }
    let date = text.split([' ', 'T', 't']).next().unwrap_or_default();
    let mut parts = date.strip_prefix(['+', '-']).unwrap_or(date).split('-');
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    year.is_some_and(|year| year.len() >= 4 && digits(year)) && two(month) && two(day) && parts.next().is_none()
}

/// Whether text has a zone after a time: `Z`, or a sign or a name after the last colon.
pub(super) fn has_zone(text: &str) -> bool {
    let Some((_, seconds)) = text.rsplit_once([' ', 'T', 't']).filter(|(date, _)| !date.is_empty()) else {
        return false;
    };
    seconds.contains(['+', '-', 'Z', 'z']) || seconds.contains(|c: char| c.is_ascii_alphabetic())
}
