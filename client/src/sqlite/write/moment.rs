//! Dates, times and timestamps as text in ISO 8601's form, which SQLite's own functions read.

use std::ops::RangeInclusive;

use crate::sqlite::datetime;
use crate::write::kind::ColumnMeaning;
use crate::write::moment::{civil, microseconds};

use super::stored_type::StoredType;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// The days from 0000-01-01 to 9999-12-31, since 1970.
const DATES: RangeInclusive<i64> = -719_528..=2_932_896;
/// `YYYY-MM-DD HH:MM:SS.ffffff+00:00`
const LONGEST: usize = 32;

/// The text of one moment. It has its own memory, so that the rows of a column need no allocations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MomentText {
    bytes: [u8; LONGEST],
    length: usize,
}

impl MomentText {
    /// The text that is read as this moment; `None` if there is none.
    #[inline]
    pub(super) fn write(&mut self, number: i64, meaning: &ColumnMeaning, stored: StoredType) -> Option<&str> {
        self.length = 0;
        let is_read_as_it = match (stored, meaning) {
            (StoredType::Date, ColumnMeaning::Date { per_day }) => {
                let days = (number % per_day == 0).then(|| number / per_day)?;
                // A test reads all of them.
                self.push_date(days).is_some()
            }
            (StoredType::Time, ColumnMeaning::Time { per_second }) => {
                let micros = microseconds(number, *per_second)?;
                self.push_time(micros)?;
                datetime::time(self.written()) == Some(micros)
            }
            (StoredType::Timestamp { zoned }, ColumnMeaning::Timestamp { per_second, .. }) => {
                let micros = microseconds(number, *per_second)?;
                self.push_date(micros.div_euclid(DAY))?;
                self.push(b" ");
                self.push_time(micros.rem_euclid(DAY))?;
                if zoned {
                    self.push(b"+00:00");
                    datetime::instant(self.written()) == Some(micros)
                } else {
                    datetime::timestamp(self.written()) == Some(micros)
                }
            }
            _ => false,
        };
        if is_read_as_it { std::str::from_utf8(self.written()).ok() } else { None }
    }

    fn written(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline]
    fn push(&mut self, text: &[u8]) {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    /// Two decimal digits of a number below 100.
    #[inline]
    fn two(number: u32) -> [u8; 2] {
        [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
    }

    /// `YYYY-MM-DD`, for years of four digits.
    #[inline]
    fn push_date(&mut self, days: i64) -> Option<()> {
        if !DATES.contains(&days) {
            return None;
        }
        let (year, month, day) = civil(days);
        let ([y0, y1], [y2, y3]) = (Self::two(year / 100), Self::two(year % 100));
        let ([m0, m1], [d0, d1]) = (Self::two(month), Self::two(day));
        self.push(&[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1]);
        Some(())
    }

    /// `HH:MM:SS`, and microseconds if there are any. At most one day.
    fn push_time(&mut self, micros: i64) -> Option<()> {
        if !(0..=DAY).contains(&micros) {
            return None;
        }
        let (seconds, fraction) = ((micros / SECOND) as u32, (micros % SECOND) as u32);
        let ([h0, h1], [m0, m1]) = (Self::two(seconds / 3600), Self::two(seconds / 60 % 60));
        let [s0, s1] = Self::two(seconds % 60);
        self.push(&[h0, h1, b':', m0, m1, b':', s0, s1]);
        if fraction != 0 {
            let [high, middle, low] = [fraction / 10_000, fraction / 100 % 100, fraction % 100].map(Self::two);
            self.push(&[b'.', high[0], high[1], middle[0], middle[1], low[0], low[1]]);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: ColumnMeaning = ColumnMeaning::Date { per_day: 1 };
    const TIME: ColumnMeaning = ColumnMeaning::Time { per_second: SECOND };

    fn text(number: i64, meaning: &ColumnMeaning, stored: StoredType) -> Option<String> {
        MomentText::default().write(number, meaning, stored).map(str::to_owned)
    }

    #[test]
    fn moments_have_the_form_of_sqlites_functions() {
        assert_eq!(text(0, &DATE, StoredType::Date).as_deref(), Some("1970-01-01"));
        assert_eq!(text(-719_528, &DATE, StoredType::Date).as_deref(), Some("0000-01-01"));
        assert_eq!(text(2_932_896, &DATE, StoredType::Date).as_deref(), Some("9999-12-31"));
        assert_eq!(text(3_661_000_000, &TIME, StoredType::Time).as_deref(), Some("01:01:01"));
        assert_eq!(text(1_020_304, &TIME, StoredType::Time).as_deref(), Some("00:00:01.020304"));
        let meaning = ColumnMeaning::Timestamp { per_second: 1_000_000_000, zoned: true };
        let stored = StoredType::Timestamp { zoned: true };
        assert_eq!(text(-1_000, &meaning, stored).as_deref(), Some("1969-12-31 23:59:59.999999+00:00"));
    }

    #[test]
    fn what_has_no_such_text_is_none() {
        assert_eq!(text(-719_529, &DATE, StoredType::Date), None);
        assert_eq!(text(2_932_897, &DATE, StoredType::Date), None);
        assert_eq!(text(i64::MIN, &DATE, StoredType::Date), None);
        assert_eq!(text(-1, &TIME, StoredType::Time), None);
        assert_eq!(text(DAY + 1, &TIME, StoredType::Time), None);
        let meaning = ColumnMeaning::Timestamp { per_second: 1_000_000_000, zoned: false };
        assert_eq!(text(1, &meaning, StoredType::Timestamp { zoned: false }), None);
    }

    #[test]
    fn every_date_is_read_as_itself() {
        let mut written = MomentText::default();
        for days in DATES {
            let text = written.write(days, &DATE, StoredType::Date).unwrap_or_default();
            assert_eq!(datetime::date(text.as_bytes()).map(i64::from), Some(days), "{text}");
        }
    }
}
