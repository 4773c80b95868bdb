//! The session's time zone, in which the server writes and reads TIMESTAMP values.
//! <https://dev.mysql.com/doc/refman/8.4/en/time-zone-support.html>
//!
//! The zone stays as the server and the user have set it, because a statement's own meaning depends on it: literals,
//! HOUR(), DATE(), NOW(). A zone with one offset is converted here. In other zones two points in time may have one
//! local time, at the end of DST, so values cannot be converted when they have arrived. There the server runs the
//! statement with a cursor, which keeps TIMESTAMP values as points in time, and sends its rows after the session's zone
//! was set to UTC. Then the zone is set back.
//!
//! MySQL, seen in 9.7, keeps local times in a cursor if `sql_mode` has NO_ZERO_DATE, NO_ZERO_IN_DATE or
//! ALLOW_INVALID_DATES, as it has by default. So on MySQL, whatever its mode is, values whose local time another point
//! in time has are refused ([`Ambiguous`]).

use std::ops::Range;
use std::sync::Arc;

use super::packet::protocol;
use super::text_answer::TextAnswer;
use crate::{Error, ErrorKind};

/// What decides the zone. The abbreviation of the operating system's zone is not enough: `TZ=UTC+5` has it too.
pub(super) const COLUMNS: &str = "@@SESSION.time_zone, @@system_time_zone, FROM_UNIXTIME(86400)";
const A_DAY_IN_UTC: &str = "1970-01-02 00:00:00";
pub(super) const UTC: &str = "+00:00";
pub(super) const WAY_OUT: &str = "run SET time_zone = '+00:00' before, or convert the column to datetime in the query";
const SECOND: i64 = 1_000_000;
/// The seconds by which zones have been set back since 1970, by DST (20 minutes to 2 hours) or by law.
const SET_BACK: [i32; 6] = [1200, 1800, 3600, 5400, 7200, 10800];

/// Points in time that share their local time with another one, in microseconds since 1970: around the ends of DST, to
/// the minute.
pub(super) type Ambiguous = Arc<[Range<i64>]>;

/// A session's time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionZone {
    /// Always so many microseconds east of UTC.
    Offset(i64),
    /// Any other, by its name.
    Named(String),
}

impl SessionZone {
    /// The zone in an answer with [`COLUMNS`] from the column `at` on.
    ///
    /// # Errors
    /// The server does not say it.
    pub(super) fn read(answer: &TextAnswer, at: usize) -> Result<Self, Error> {
        let text = |column| answer.text(0, at + column).ok_or_else(|| protocol("an answer without its values"));
        let (name, system, day) = (text(0)?, text(1)?, text(2)?);
        let is_utc = name == "UTC" || name == "SYSTEM" && system == "UTC" && day == A_DAY_IN_UTC;
        Ok(match offset(name) {
            Some(micros) => Self::Offset(micros),
            None if is_utc => Self::Offset(0),
            None => Self::Named(name.to_owned()),
        })
    }
}

/// `+05:30` in microseconds.
fn offset(name: &str) -> Option<i64> {
    let sign = match name.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = name[1..].split_once(':')?;
    Some(sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60) * SECOND)
}

/// An expression that is true if one point in time has this local time in the session's zone.
pub(super) fn is_certain(local: &str) -> String {
    let around: Vec<_> = SET_BACK
        .iter()
        .flat_map(|shift| [*shift, -shift])
        .map(|shift| format!("FROM_UNIXTIME(UNIX_TIMESTAMP({local}) + ({shift}))"))
        .collect();
    format!("(FROM_UNIXTIME(UNIX_TIMESTAMP({local})) = {local} AND {local} NOT IN ({}))", around.join(", "))
}

/// A question for the first of these points in time, date and time in UTC, that is not the only one with its local
/// time, or that the zone's functions do not reach. CONVERT_TZ returns such values unchanged.
pub(super) fn uncertain(instants: &[String]) -> String {
    let rows: Vec<_> = instants.iter().map(|instant| format!("SELECT CAST('{instant}' AS DATETIME(6)) AS u")).collect();
    format!(
        "SELECT u FROM (SELECT u, CONVERT_TZ(u, '{UTC}', @@session.time_zone) AS l FROM ({}) AS a) AS b WHERE ({} AND \
         UNIX_TIMESTAMP(l) * 1000000 = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', u)) IS NOT TRUE LIMIT 1",
        rows.join(" UNION ALL "),
        is_certain("l")
    )
}

/// A question for the minutes in which the session's zone was set back: their beginnings in seconds since 1970, and by
/// how many seconds. TIMESTAMP ends in January 2038.
pub(super) fn set_back() -> String {
    let east = |at: &str| {
        let utc = format!("(TIMESTAMP('1970-01-01 00:00:00') + INTERVAL ({at}) SECOND)");
        format!("TIMESTAMPDIFF(SECOND, {utc}, CONVERT_TZ({utc}, '{UTC}', @@session.time_zone))")
    };
    // The steps of so many seconds within those found before. A NULL, which no zone of a session gives, is passed on.
    let within = |found: &str, steps: &str, seconds: u32| {
        let (begin, end) = (format!("s + i * {seconds}"), format!("s + i * {seconds} + {seconds}"));
        format!(
            "SELECT {begin} AS s FROM ({found}) AS found, ({steps}) AS steps WHERE ({} > {}) IS NOT FALSE LIMIT 1000",
            east(&begin),
            east(&end)
        )
    };
    // Two changes are more than twelve hours apart.
    let steps = within("SELECT 0 AS s", &numbers(5, "BETWEEN 1 AND 49700"), 43_200);
    let hours = within(&steps, &numbers(2, "< 12"), 3600);
    let minutes = within(&hours, &numbers(2, "< 60"), 60);
    format!("SELECT s, {} - {} FROM ({minutes}) AS minutes ORDER BY s", east("s"), east("s + 60"))
}

/// A query for the numbers `i` of so many digits for which this is true.
fn numbers(digits: u32, condition: &str) -> String {
    let digit = (0..10).map(|digit| format!("SELECT {digit} AS n")).collect::<Vec<_>>().join(" UNION ALL ");
    let tables: Vec<_> = (0..digits).map(|place| format!("({digit}) AS d{place}")).collect();
    let sum: Vec<_> = (0..digits).map(|place| format!("d{place}.n * {}", 10_u32.pow(place))).collect();
    format!("SELECT i FROM (SELECT {} AS i FROM {}) AS n WHERE i {condition}", sum.join(" + "), tables.join(", "))
}

/// The answer to [`set_back`].
///
/// # Errors
/// The server cannot convert times of its session's zone.
pub(super) fn ambiguous(answer: &TextAnswer) -> Result<Ambiguous, Error> {
    let number = |row, column| answer.text(row, column).and_then(|text| text.parse::<i64>().ok());
    let range = |row| {
        let (begins, back) = (number(row, 0)?, number(row, 1)?);
        Some((begins - back) * SECOND..(begins + 60 + back) * SECOND)
    };
    let ranges: Option<Vec<_>> = (0..answer.rows.len()).map(range).collect();
    ranges.map(Arc::from).ok_or_else(|| {
        let message = "the server does not say when its time zone changes, so its timestamps may be ambiguous";
        Error::new(ErrorKind::Unsupported, message).with_hint(WAY_OUT)
    })
}

/// Whether a point in time is among these.
#[inline]
pub(super) fn is_ambiguous(ranges: &[Range<i64>], micros: i64) -> bool {
    // They are few, and none in most sessions.
    ranges.iter().any(|range| range.contains(&micros))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn zone(values: [&str; 3]) -> SessionZone {
        let row = values.iter().map(|value| Some((*value).to_owned())).collect();
        SessionZone::read(&TextAnswer { rows: vec![row], ..TextAnswer::default() }, 0).unwrap()
    }

    #[test]
    fn values_around_the_end_of_dst_are_ambiguous() {
        let rows = vec![vec![Some("1729990740".to_owned()), Some("3600".to_owned())]];
        let ranges = ambiguous(&TextAnswer { rows, ..TextAnswer::default() }).unwrap();
        // Within the minute in which the zone changes, the second is not known.
        let end = 1_729_990_800;
        for (seconds, expected) in
            [(-3661, false), (-3660, true), (-3600, true), (0, true), (3599, true), (3600, false)]
        {
            assert_eq!(is_ambiguous(&ranges, (end + seconds) * SECOND), expected, "{seconds}");
        }
        assert!(!is_ambiguous(&[], end * SECOND));
        // A zone that the server cannot convert.
        let unknown = TextAnswer { rows: vec![vec![Some("0".to_owned()), None]], ..TextAnswer::default() };
        ambiguous(&unknown).unwrap_err();
    }

    #[test]
    fn only_zones_without_rules_are_offsets() {
        let utc = "1970-01-02 00:00:00";
        for (values, micros) in [
            (["+05:30", "CET", "1970-01-02 05:30:00"], 19_800 * SECOND),
            (["-08:00", "UTC", "1970-01-01 16:00:00"], -28_800 * SECOND),
            (["+00:00", "CET", utc], 0),
            (["UTC", "CET", utc], 0),
            (["SYSTEM", "UTC", utc], 0),
        ] {
            assert_eq!(zone(values), SessionZone::Offset(micros), "{values:?}");
        }
        for values in [
            ["SYSTEM", "UTC", "1970-01-01 19:00:00"],
            ["SYSTEM", "GMT", utc],
            ["Europe/Berlin", "UTC", "1970-01-02 01:00:00"],
        ] {
            assert_eq!(zone(values), SessionZone::Named(values[0].to_owned()));
        }
    }
}
