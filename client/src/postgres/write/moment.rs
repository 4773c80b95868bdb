//! Dates, times and timestamps in the forms of PostgreSQL's receive functions.

use super::column_type::ColumnType;
use crate::write::kind::ColumnMeaning;
use crate::write::misfit::ValueMisfit;
use crate::write::moment::microseconds;

/// 2000-01-01 in days since 1970, and in microseconds.
pub(super) const EPOCH_DAYS: i64 = 10_957;
const EPOCH: i64 = EPOCH_DAYS * DAY;
const DAY: i64 = 86_400_000_000;
/// The finite dates and timestamps, since 2000: `MIN_TIMESTAMP`, `END_TIMESTAMP` and `IS_VALID_DATE` in timestamp.h and
/// date.h.
const DATES: std::ops::Range<i64> = -2_451_545..2_145_031_949;
const TIMESTAMPS: std::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;

/// Days since 2000. The largest and the smallest number mean infinity, as in TYPES.md.
pub(super) fn date(number: i64, meaning: &ColumnMeaning) -> Result<i32, ValueMisfit> {
    let ColumnMeaning::Date { per_day } = *meaning else { return Err(misfit(number, meaning, 1, &ColumnType::Date)) };
    match number {
        _ if per_day > 1 => {}
        2_147_483_647 => return Ok(i32::MAX),
        -2_147_483_647 => return Ok(i32::MIN),
        _ => {}
    }
    let days = (number % per_day == 0).then(|| number / per_day - EPOCH_DAYS);
    let days = days.filter(|days| DATES.contains(days)).and_then(|days| i32::try_from(days).ok());
    days.ok_or_else(|| misfit(number, meaning, 1, &ColumnType::Date))
}

/// Microseconds since midnight.
pub(super) fn time(number: i64, meaning: &ColumnMeaning, step: i64, to: &ColumnType) -> Result<i64, ValueMisfit> {
    let ColumnMeaning::Time { per_second } = *meaning else { return Err(misfit(number, meaning, step, to)) };
    let micros = microseconds(number, per_second).filter(|micros| (0..=DAY).contains(micros) && micros % step == 0);
    micros.ok_or_else(|| misfit(number, meaning, step, to))
}

/// Microseconds since 2000. The largest and the smallest number mean infinity, as in TYPES.md.
pub(super) fn timestamp(number: i64, meaning: &ColumnMeaning, step: i64, to: &ColumnType) -> Result<i64, ValueMisfit> {
    let ColumnMeaning::Timestamp { per_second, .. } = *meaning else { return Err(misfit(number, meaning, step, to)) };
    match number {
        i64::MAX => return Ok(i64::MAX),
        number if number == -i64::MAX => return Ok(i64::MIN),
        _ => {}
    }
    let micros = microseconds(number, per_second)
        .filter(|micros| micros % step == 0)
        .and_then(|micros| micros.checked_sub(EPOCH))
        .filter(|micros| TIMESTAMPS.contains(micros));
    micros.ok_or_else(|| misfit(number, meaning, step, to))
}

#[cold]
pub(super) fn misfit(number: i64, meaning: &ColumnMeaning, step: i64, to: &ColumnType) -> ValueMisfit {
    let held = match to {
        ColumnType::Date => "4713 BC to the year 5874897",
        ColumnType::Time(_) => "00:00:00 to 24:00:00",
        ColumnType::Interval => "292,271 years of microseconds",
        _ => "4713 BC to the year 294276",
    };
    ValueMisfit::moment(number, meaning, &to.name(), held, step)
}
