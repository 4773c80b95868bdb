//! Dates and times: a length, then year, month, day, hour, minute, second and microseconds, without trailing zeros.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>

use std::io::Write as _;

use super::value::ValueFault;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i32 = 719_468;
/// The most hours of MySQL's type TIME.
const MAX_HOURS: u64 = 838;

/// A date and a time of day as received. Each part may be 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DateTime {
    year: u16,
    month: u8,
    day: u8,
    hour: u8,
    minute: u8,
    second: u8,
    micros: u32,
}

impl DateTime {
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ValueFault> {
        let date = |[low, high, month, day]: [u8; 4]| Self {
            year: u16::from_le_bytes([low, high]),
            month,
            day,
            ..Self::default()
        };
        Ok(match *bytes {
            [a, b, c, d] => date([a, b, c, d]),
            [a, b, c, d, hour, minute, second] => Self { hour, minute, second, ..date([a, b, c, d]) },
            [a, b, c, d, hour, minute, second, e, f, g, h] => {
                Self { hour, minute, second, micros: u32::from_le_bytes([e, f, g, h]), ..date([a, b, c, d]) }
            }
            [] => Self::default(),
            _ => return Err(ValueFault::Damaged),
        })
    }

    /// Days from 1970-01-01.
    #[inline]
    pub(super) fn days(self) -> Result<i32, ValueFault> {
        let Self { year, month, day, .. } = self;
        if !(1..=12).contains(&month) || day == 0 || day > last_day(year, month) || year > 9999 {
            return Err(self.no_date());
        }
        // Years that begin in March end with the leap day.
        let year = i32::from(year) - i32::from(month < 3);
        let month = (i32::from(month) + 9) % 12;
        let in_year = (153 * month + 2) / 5 + i32::from(day) - 1;
        Ok(365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + in_year - EPOCH)
    }

    /// Microseconds from 1970-01-01 00:00:00.
    #[inline]
    pub(super) fn microseconds(self) -> Result<i64, ValueFault> {
        let Self { hour, minute, second, micros, .. } = self;
        if hour > 23 || minute > 59 || second > 59 || micros >= SECOND as u32 {
            return Err(ValueFault::Damaged);
        }
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        Ok(i64::from(self.days()?) * DAY + seconds * SECOND + i64::from(micros))
    }

    #[cold]
    fn no_date(self) -> ValueFault {
        let Self { year, month, day, .. } = self;
        if month > 12 || day > 31 || year > 9999 {
            return ValueFault::Damaged;
        }
        ValueFault::Refused("22008", format!("{year:04}-{month:02}-{day:02} is not a valid date"))
    }

    /// Appends a date in MySQL's text form.
    pub(super) fn show_date(self, text: &mut Vec<u8>) {
        let Self { year, month, day, .. } = self;
        // Writing to a Vec cannot fail.
        let _ = write!(text, "{year:04}-{month:02}-{day:02}");
    }

    /// Appends a datetime in MySQL's text form, with `digits` digits after the point.
    pub(super) fn show(self, digits: u8, text: &mut Vec<u8>) {
        self.show_date(text);
        let Self { hour, minute, second, micros, .. } = self;
        let _ = write!(text, " {hour:02}:{minute:02}:{second:02}");
        show_fraction(micros, digits, text);
    }
}

fn last_day(year: u16, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

/// A duration in microseconds.
#[inline]
pub(super) fn time(bytes: &[u8]) -> Result<i64, ValueFault> {
    let (negative, days, [hour, minute, second], micros) = match *bytes {
        [] => return Ok(0),
        [sign, a, b, c, d, hour, minute, second] => (sign, u32::from_le_bytes([a, b, c, d]), [hour, minute, second], 0),
        [sign, a, b, c, d, hour, minute, second, e, f, g, h] => {
            (sign, u32::from_le_bytes([a, b, c, d]), [hour, minute, second], u32::from_le_bytes([e, f, g, h]))
        }
        _ => return Err(ValueFault::Damaged),
    };
    if negative > 1 || hour > 23 || minute > 59 || second > 59 || micros >= SECOND as u32 {
        return Err(ValueFault::Damaged);
    }
    let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
    let Some(whole) = i64::from(days).checked_mul(DAY) else { return Err(ValueFault::Damaged) };
    let Some(length) = whole.checked_add(seconds * SECOND + i64::from(micros)) else { return Err(ValueFault::Damaged) };
    Ok(if negative == 1 { -length } else { length })
}

/// Appends a time in MySQL's text form.
pub(super) fn show_time(microseconds: i64, digits: u8, text: &mut Vec<u8>) -> Result<(), ValueFault> {
    let (second, length) = (SECOND as u64, microseconds.unsigned_abs());
    let seconds = length / second;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    if hours > MAX_HOURS {
        return Err(ValueFault::Damaged);
    }
    let sign = if microseconds < 0 { "-" } else { "" };
    let _ = write!(text, "{sign}{hours:02}:{minutes:02}:{:02}", seconds % 60);
    show_fraction((length % second) as u32, digits, text);
    Ok(())
}

fn show_fraction(micros: u32, digits: u8, text: &mut Vec<u8>) {
    if digits > 0 {
        let all = format!(".{micros:06}");
        text.extend_from_slice(&all.as_bytes()[..all.len().min(usize::from(digits) + 1)]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn days(year: u16, month: u8, day: u8) -> Result<i32, ValueFault> {
        DateTime { year, month, day, ..DateTime::default() }.days()
    }

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(days(1970, 1, 1).unwrap(), 0);
        assert_eq!(days(2000, 2, 29).unwrap(), 11016);
        assert_eq!(days(9999, 12, 31).unwrap(), 2_932_896);
        assert_eq!(days(1, 1, 1).unwrap(), -719_162);
        assert_eq!(days(0, 1, 1).unwrap(), -719_528);
        for (year, month, day) in [(0, 0, 0), (2024, 0, 10), (2024, 1, 0), (2023, 2, 29), (1900, 2, 29), (2024, 4, 31)]
        {
            assert!(matches!(days(year, month, day), Err(ValueFault::Refused("22008", _))));
        }
        assert_eq!(days(2024, 13, 1), Err(ValueFault::Damaged));
    }

    #[test]
    fn times_are_lengths() {
        // 838:59:59.999999, below 0
        let bytes = [1, 34, 0, 0, 0, 22, 59, 59, 0x3f, 0x42, 0x0f, 0];
        assert_eq!(time(&bytes).unwrap(), -3_020_399_999_999);
        assert_eq!(time(&[]).unwrap(), 0);
        assert_eq!(time(&[2, 0, 0, 0, 0, 0, 0, 0]), Err(ValueFault::Damaged));
        assert_eq!(time(&[0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0]), Err(ValueFault::Damaged));
        let mut text = Vec::new();
        show_time(-3_020_399_999_999, 3, &mut text).unwrap();
        assert_eq!(text, b"-838:59:59.999");
    }

    #[test]
    fn text_is_mysqls() {
        let mut text = Vec::new();
        DateTime::read(&[0xe8, 7, 0, 10, 1, 2, 3, 0x40, 0xe2, 1, 0]).unwrap().show(6, &mut text);
        assert_eq!(text, b"2024-00-10 01:02:03.123456");
        text.clear();
        DateTime::read(&[]).unwrap().show(0, &mut text);
        assert_eq!(text, b"0000-00-00 00:00:00");
    }

    proptest! {
        #[test]
        fn each_day_is_one_after_the_last(year in 0u16..9999, month in 1u8..=12, day in 1u8..=31) {
            if let Ok(this) = days(year, month, day) {
                let next = days(year, month, day + 1).or_else(|_| days(year, month + 1, 1));
                prop_assert_eq!(next.or_else(|_| days(year + 1, 1, 1)).unwrap(), this + 1);
            }
        }

        #[test]
        fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..14)) {
            let mut text = Vec::new();
            if let Ok(value) = DateTime::read(&bytes) {
                let _ = (value.days(), value.microseconds());
                value.show(6, &mut text);
            }
            if let Ok(value) = time(&bytes) {
                let _ = show_time(value, 6, &mut text);
            }
        }
    }
}
