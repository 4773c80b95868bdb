//! Units of time.

const PER_SECOND: i64 = 1_000_000;

/// The microseconds of so many units, if they are whole.
pub(crate) fn microseconds(number: i64, per_second: i64) -> Option<i64> {
    if per_second <= PER_SECOND {
        number.checked_mul(PER_SECOND / per_second)
    } else {
        let units = per_second / PER_SECOND;
        (number % units == 0).then(|| number / units)
    }
}
