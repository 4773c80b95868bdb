//! Units of time, and dates.

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

/// The microseconds of so many units, if they are whole.
pub(crate) fn microseconds(number: i64, per_second: i64) -> Option<i64> {
    if per_second <= PER_SECOND {
        number.checked_mul(PER_SECOND / per_second)
    } else {
        let units = per_second / PER_SECOND;
        (number % units == 0).then(|| number / units)
    }
}
