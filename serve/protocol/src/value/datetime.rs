//! PostgreSQL's text forms of dates and times (`EncodeDateOnly` and `EncodeDateTime` in its datetime.c).

use arrow_schema::TimeUnit;

use super::date_style::{DateForm, DateOrder, DateStyle};
use super::number::integer;
use super::zone::Zone;

/// Whether a date is infinite. DuckDB's infinite dates are ±i32::MAX; PostgreSQL's are i32::MIN and i32::MAX.
pub(super) fn is_infinite_date(days: i32) -> bool {
    days == i32::MAX || days == -i32::MAX || days == i32::MIN
}

/// Whether a timestamp of any unit is infinite, by the same rule in 64 bits.
pub(super) fn is_infinite_timestamp(value: i64) -> bool {
    value == i64::MAX || value == -i64::MAX || value == i64::MIN
}

/// The number of these units in a second.
pub(super) fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

const SECONDS_PER_DAY: i64 = 86_400;

/// Appends a date. `days` counts from 1970-01-01.
pub(crate) fn date(days: i32, style: DateStyle, out: &mut Vec<u8>) {
    if is_infinite_date(days) {
        infinity(days > 0, out);
        return;
    }
    let date = CivilDate::new(days.into());
    date.write(style, out);
    date.write_era(out);
}

/// Appends a timestamp. `value` counts from 1970-01-01. With a zone, the text is local time with its offset.
pub(crate) fn timestamp(value: i64, unit: TimeUnit, zone: Option<&Zone>, style: DateStyle, out: &mut Vec<u8>) {
    if is_infinite_timestamp(value) {
        infinity(value > 0, out);
        return;
    }
    let per_second = per_second(unit);
    let second = value.div_euclid(per_second);
    let offset = zone.map(|zone| zone.offset(second));
    let local = i128::from(value) + i128::from(offset.unwrap_or(0) * per_second);
    let per_day = i128::from(per_second) * i128::from(SECONDS_PER_DAY);
    let days = local.div_euclid(per_day) as i64;
    let within = local.rem_euclid(per_day) as i64;
    let date = CivilDate::new(days);
    if style.form == DateForm::Postgres {
        date.write_words(style, out);
        out.push(b' ');
        time(within, unit, out);
        out.push(b' ');
        date.write_year(out);
    } else {
        date.write(style, out);
        out.push(b' ');
        time(within, unit, out);
    }
    match (style.form, zone, offset) {
        (DateForm::Iso, _, Some(offset)) => utc_offset(offset, out),
        (_, Some(zone), _) => {
            out.push(b' ');
            out.extend_from_slice(zone.abbreviation(second).as_bytes());
        }
        _ => {}
    }
    date.write_era(out);
}

/// Appends an offset in seconds: `+01`, `-03:30`, `+00:53:28` (PostgreSQL's `EncodeTimezone`).
fn utc_offset(offset: i64, out: &mut Vec<u8>) {
    out.push(if offset < 0 { b'-' } else { b'+' });
    let seconds = offset.abs();
    two_digits(seconds / 3600, out);
    if seconds % 3600 > 0 {
        out.push(b':');
        two_digits(seconds / 60 % 60, out);
    }
    if seconds % 60 > 0 {
        out.push(b':');
        two_digits(seconds % 60, out);
    }
}

/// Appends a time of day. `value` counts from midnight.
pub(crate) fn time(value: i64, unit: TimeUnit, out: &mut Vec<u8>) {
    let per_second = per_second(unit);
    let seconds = value.div_euclid(per_second);
    two_digits(seconds / 3600, out);
    out.push(b':');
    two_digits(seconds / 60 % 60, out);
    out.push(b':');
    two_digits(seconds % 60, out);
    fraction(value.rem_euclid(per_second), per_second, out);
}

/// Appends a fraction of a second without trailing zeros: `.5` for 500000 of 1000000, nothing for 0.
pub(super) fn fraction(value: i64, per_second: i64, out: &mut Vec<u8>) {
    if value == 0 {
        return;
    }
    out.push(b'.');
    let (mut rest, mut digit) = (value, per_second / 10);
    while rest > 0 && digit > 0 {
        out.push(b'0' + (rest / digit) as u8);
        (rest, digit) = (rest % digit, digit / 10);
    }
}

/// Appends at least two digits.
pub(super) fn two_digits(value: i64, out: &mut Vec<u8>) {
    if (0..10).contains(&value) {
        out.push(b'0');
    }
    integer(value, out);
}

fn infinity(positive: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if positive { b"infinity" } else { b"-infinity" });
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// A date of the Gregorian calendar.
struct CivilDate {
    days: i64,
    year: i64,
    month: i64,
    day: i64,
}

impl CivilDate {
    /// The date so many days after 1970-01-01.
    fn new(days: i64) -> Self {
        let (year, month, day) = civil(days);
        Self { days, year, month, day }
    }

    /// Appends year, month and day.
    fn write(&self, style: DateStyle, out: &mut Vec<u8>) {
        let is_day_first = style.form == DateForm::German || style.order == DateOrder::Dmy;
        let (first, second) = if is_day_first { (self.day, self.month) } else { (self.month, self.day) };
        let sign = match style.form {
            DateForm::Iso => {
                self.write_year(out);
                for part in [self.month, self.day] {
                    out.push(b'-');
                    two_digits(part, out);
                }
                return;
            }
            DateForm::Sql => b'/',
            DateForm::Postgres => b'-',
            DateForm::German => b'.',
        };
        for part in [first, second] {
            two_digits(part, out);
            out.push(sign);
        }
        self.write_year(out);
    }

    /// Appends the day of the week, and month and day.
    fn write_words(&self, style: DateStyle, out: &mut Vec<u8>) {
        out.extend_from_slice(WEEKDAYS[self.days.rem_euclid(7) as usize].as_bytes());
        out.push(b' ');
        let month = MONTHS[(self.month - 1) as usize].as_bytes();
        if style.order == DateOrder::Dmy {
            two_digits(self.day, out);
            out.push(b' ');
            out.extend_from_slice(month);
        } else {
            out.extend_from_slice(month);
            out.push(b' ');
            two_digits(self.day, out);
        }
    }

    /// Appends the year, of which a year before Christ has no sign.
    fn write_year(&self, out: &mut Vec<u8>) {
        let shown = if self.year <= 0 { 1 - self.year } else { self.year };
        for digits in [1000, 100, 10] {
            if shown < digits {
                out.push(b'0');
            }
        }
        integer(shown, out);
    }

    fn write_era(&self, out: &mut Vec<u8>) {
        if self.year <= 0 {
            out.extend_from_slice(b" BC");
        }
    }
}

/// The proleptic Gregorian date for a number of days after 1970-01-01. Years begin in March, so that a leap day is the
/// last day of a year, and are counted in cycles of 400 (H. Hinnant, "chrono-compatible low-level date algorithms").
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_PER_CYCLE: i64 = 146_097;
    let days = days + 719_468;
    let cycle = days.div_euclid(DAYS_PER_CYCLE);
    let day_of_cycle = days.rem_euclid(DAYS_PER_CYCLE);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / (DAYS_PER_CYCLE - 1)) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (cycle * 400 + year_of_cycle + i64::from(month <= 2), month, day)
}

/// The days after 1970-01-01 of a date, the inverse of [`civil`]. The month is 1 to 12; a day beyond the month's last
/// counts on.
pub(crate) fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    const DAYS_PER_CYCLE: i64 = 146_097;
    let shifted_year = year - i64::from(month <= 2);
    let (cycle, year_of_cycle) = (shifted_year.div_euclid(400), shifted_year.rem_euclid(400));
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_cycle = 365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * DAYS_PER_CYCLE + day_of_cycle - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn dates_before_and_after_christ() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (-719_162, "0001-01-01"),
            (-719_163, "0001-12-31 BC"),
            (-735_160, "0044-03-15 BC"),
            (2_932_897, "10000-01-01"),
            (i32::MAX, "infinity"),
            (-i32::MAX, "-infinity"),
        ] {
            assert_eq!(text(|out| date(days, DateStyle::default(), out)), expected);
        }
    }

    #[test]
    fn timestamps_of_all_units() {
        let show =
            |value, unit, zone: Option<&Zone>| text(|out| timestamp(value, unit, zone, DateStyle::default(), out));
        assert_eq!(show(0, TimeUnit::Second, None), "1970-01-01 00:00:00");
        assert_eq!(show(-1, TimeUnit::Millisecond, None), "1969-12-31 23:59:59.999");
        assert_eq!(show(1_500_000, TimeUnit::Microsecond, Some(&Zone::UTC)), "1970-01-01 00:00:01.5+00");
        assert_eq!(show(1, TimeUnit::Nanosecond, None), "1970-01-01 00:00:00.000000001");
        assert_eq!(show(i64::MIN, TimeUnit::Microsecond, Some(&Zone::UTC)), "-infinity");
        assert_eq!(show(-62_135_596_800 - 1, TimeUnit::Second, None), "0001-12-31 23:59:59 BC");
    }

    #[test]
    fn timestamps_of_all_zones() {
        let show = |value, zone| {
            text(|out| timestamp(value, TimeUnit::Second, Some(&Zone::of_arrow(zone)), DateStyle::default(), out))
        };
        for (value, zone, expected) in [
            (0, "Europe/Berlin", "1970-01-01 01:00:00+01"),
            (-5_364_662_400, "Europe/Berlin", "1800-01-01 00:53:28+00:53:28"),
            (-5_364_662_400, "Europe/Dublin", "1799-12-31 23:34:39-00:25:21"),
            (0, "America/St_Johns", "1969-12-31 20:30:00-03:30"),
            (0, "Asia/Kolkata", "1970-01-01 05:30:00+05:30"),
            (-62_135_596_801, "Asia/Tokyo", "0001-01-01 09:18:58+09:18:59"),
            (-62_135_596_800, "America/New_York", "0001-12-31 19:03:58-04:56:02 BC"),
            (i64::MAX - 1, "Nowhere", "292277026596-12-04 15:30:06+00"),
        ] {
            assert_eq!(show(value, zone), expected);
        }
    }

    #[test]
    fn times_of_day() {
        assert_eq!(text(|out| time(86_400_000_000, TimeUnit::Microsecond, out)), "24:00:00");
        assert_eq!(text(|out| time(3_723_000_100, TimeUnit::Microsecond, out)), "01:02:03.0001");
    }

    proptest::proptest! {
        #[test]
        fn consecutive_days_have_consecutive_dates(days in -3_000_000i64..3_000_000) {
            let (year, month, day) = civil(days);
            let (next_year, next_month, next_day) = civil(days + 1);
            let same_month = (next_year, next_month, next_day) == (year, month, day + 1);
            let next = next_day == 1 && day >= 28
                && (next_year * 12 + next_month) == (year * 12 + month) + 1;
            proptest::prop_assert!(same_month || next);
            proptest::prop_assert_eq!(days_of_civil(year, month, day), days);
        }
    }
}
