//! Dates, timestamps and intervals: days and microseconds from 2000, as `date_send`, `timestamp_send` and
//! `interval_send` write them.

use arrow_buffer::IntervalMonthDayNano;

use super::value::ValueFault;

/// Days from 1970 to 2000.
const EPOCH_DAYS: i32 = 10957;
/// Microseconds from 1970 to 2000.
const EPOCH_MICROSECONDS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// Infinity is the largest number, minus infinity the smallest. They become ±(2^31 − 1). TYPES.md.
#[inline]
pub(super) fn date(bytes: [u8; 4]) -> Result<i32, ValueFault> {
    match i32::from_be_bytes(bytes) {
        i32::MAX => Ok(i32::MAX),
        i32::MIN => Ok(-i32::MAX),
        // PostgreSQL's last date is far below this limit.
        days => match days.checked_add(EPOCH_DAYS) {
            Some(days) => Ok(days),
            None => Err(ValueFault::Damaged),
        },
    }
}

/// Microseconds since midnight, which is also the end of the day.
#[inline]
pub(super) fn time(bytes: [u8; 8]) -> Result<i64, ValueFault> {
    match i64::from_be_bytes(bytes) {
        microseconds @ 0..=86_400_000_000 => Ok(microseconds),
        _ => Err(ValueFault::Damaged),
    }
}

/// As [`date`], in 64 bits.
#[inline]
pub(super) fn timestamp(bytes: [u8; 8]) -> Result<i64, ValueFault> {
    match i64::from_be_bytes(bytes) {
        i64::MAX => Ok(i64::MAX),
        i64::MIN => Ok(-i64::MAX),
        microseconds => microseconds
            .checked_add(EPOCH_MICROSECONDS)
            // The largest number is infinity.
            .filter(|microseconds| *microseconds < i64::MAX)
            .ok_or_else(|| refused("microseconds from 1970 do not reach beyond 294247-01-10 04:00:54.775806")),
    }
}

/// Microseconds, days, months.
#[inline]
pub(super) fn interval(bytes: [u8; 16]) -> Result<IntervalMonthDayNano, ValueFault> {
    let parts = u128::from_be_bytes(bytes);
    let (microseconds, days, months) = ((parts >> 64) as i64, (parts >> 32) as i32, parts as i32);
    // This also refuses the infinite intervals of PostgreSQL 17.
    let nanoseconds = microseconds.checked_mul(1000).ok_or_else(|| {
        refused("an interval is infinite or has 2562047 hours or more, which nanoseconds do not reach")
    })?;
    Ok(IntervalMonthDayNano::new(months, days, nanoseconds))
}

#[cold]
fn refused(why: &str) -> ValueFault {
    ValueFault::Refused("22008", why.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn dates_start_in_2000() {
        // select '1970-01-01'::date, '2000-01-01', 'infinity', '-infinity', '4713-01-01 BC'
        assert_eq!(date([0xff, 0xff, 0xd5, 0x33]).unwrap(), 0);
        assert_eq!(date([0, 0, 0, 0]).unwrap(), 10957);
        assert_eq!(date([0x7f, 0xff, 0xff, 0xff]).unwrap(), i32::MAX);
        assert_eq!(date([0x80, 0, 0, 0]).unwrap(), -i32::MAX);
        assert!(date([0x7f, 0xff, 0xff, 0xfe]).is_err());
    }

    #[test]
    fn a_time_is_within_a_day() {
        assert_eq!(time([0; 8]).unwrap(), 0);
        assert_eq!(time(86_400_000_000i64.to_be_bytes()).unwrap(), 86_400_000_000);
        for other in [-1i64, 86_400_000_001] {
            assert!(matches!(time(other.to_be_bytes()), Err(ValueFault::Damaged)));
        }
    }

    #[test]
    fn timestamps_start_in_2000() {
        // select '1970-01-01'::timestamp
        assert_eq!(timestamp([0xff, 0xfc, 0xa2, 0xfe, 0xc4, 0xc8, 0x20, 0x00]).unwrap(), 0);
        assert_eq!(timestamp(i64::MAX.to_be_bytes()).unwrap(), i64::MAX);
        assert_eq!(timestamp(i64::MIN.to_be_bytes()).unwrap(), -i64::MAX);
        // select '294247-01-10 04:00:54.775806'::timestamp, and a microsecond later
        let last = i64::MAX - 1 - EPOCH_MICROSECONDS;
        assert_eq!(timestamp(last.to_be_bytes()).unwrap(), i64::MAX - 1);
        for finite in [last + 1, last + 2, i64::MAX - 1] {
            assert!(matches!(timestamp(finite.to_be_bytes()), Err(ValueFault::Refused("22008", _))));
        }
    }

    #[test]
    fn intervals_have_three_parts() {
        // select '14 months -3 days 1 us'::interval
        let bytes = [0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfd, 0, 0, 0, 0x0e];
        assert_eq!(interval(bytes).unwrap(), IntervalMonthDayNano::new(14, -3, 1000));
        assert!(matches!(interval([0x7f; 16]), Err(ValueFault::Refused("22008", _))));
    }
}
