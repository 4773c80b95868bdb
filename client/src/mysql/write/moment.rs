//! Dates, times and timestamps as text.

use super::column_type::ColumnType;
use super::digits::{push_date, push_time};
use crate::write::kind::ColumnMeaning;
use crate::write::misfit::ValueMisfit;
use crate::write::moment::microseconds;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// 0000-01-01 to 9999-12-31 in days since 1970.
const DAYS: std::ops::Range<i64> = -719_528..2_932_897;
/// A TIMESTAMP's seconds have 31 bits, and 0 is its zero date.
const TIMESTAMPS: std::ops::Range<i64> = SECOND..(1 << 31) * SECOND;
/// 838:59:59
const LONGEST: i64 = 3_020_399 * SECOND;

/// Appends a date or a timestamp.
#[inline]
pub(super) fn push_moment(
    out: &mut Vec<u8>,
    to: &ColumnType,
    meaning: &ColumnMeaning,
    number: i64,
) -> Result<(), ValueMisfit> {
    match (to, meaning) {
        (ColumnType::Date, ColumnMeaning::Date { per_day }) => {
            let days = number / per_day;
            if number % per_day != 0 || !DAYS.contains(&days) {
                return Err(misfit(number, meaning, to));
            }
            push_date(out, days);
        }
        (ColumnType::DateTime(step) | ColumnType::Timestamp(step), ColumnMeaning::Timestamp { per_second, .. }) => {
            let in_range = |micros: i64| match to {
                ColumnType::Timestamp(_) => TIMESTAMPS.contains(&micros),
                _ => DAYS.contains(&micros.div_euclid(DAY)),
            };
            let micros = microseconds(number, *per_second).filter(|micros| micros % step == 0 && in_range(*micros));
            let micros = micros.ok_or_else(|| misfit(number, meaning, to))?;
            push_date(out, micros.div_euclid(DAY));
            out.push(b' ');
            push_time(out, micros.rem_euclid(DAY).unsigned_abs());
        }
        _ => return Err(misfit(number, meaning, to)),
    }
    Ok(())
}

/// Appends a time or a duration.
#[inline]
pub(super) fn push_time_of_day(
    out: &mut Vec<u8>,
    to: &ColumnType,
    step: i64,
    meaning: &ColumnMeaning,
    number: i64,
) -> Result<(), ValueMisfit> {
    let (per_second, range) = match meaning {
        ColumnMeaning::Time { per_second } => (*per_second, 0..=DAY),
        ColumnMeaning::Duration { per_second } => (*per_second, -LONGEST..=LONGEST),
        _ => return Err(misfit(number, meaning, to)),
    };
    let micros = microseconds(number, per_second).filter(|micros| range.contains(micros) && micros % step == 0);
    let micros = micros.ok_or_else(|| misfit(number, meaning, to))?;
    if micros < 0 {
        out.push(b'-');
    }
    push_time(out, micros.unsigned_abs());
    Ok(())
}

#[cold]
fn misfit(number: i64, meaning: &ColumnMeaning, to: &ColumnType) -> ValueMisfit {
    let (held, step) = match (to, meaning) {
        (ColumnType::Timestamp(step), _) => ("1970-01-01 00:00:01 to 2038-01-19 03:14:07 UTC", *step),
        (ColumnType::DateTime(step), _) => ("the years 0 to 9999", *step),
        (ColumnType::Time(step), ColumnMeaning::Duration { .. }) => ("-838:59:59 to 838:59:59", *step),
        (ColumnType::Time(step), _) => ("00:00:00 to 24:00:00 of times", *step),
        _ => ("the years 0 to 9999", 1),
    };
    ValueMisfit::moment(number, meaning, &to.name(), held, step)
}
