//! The session's time zone, in which the server writes and reads TIMESTAMP values.
//! <https://dev.mysql.com/doc/refman/8.4/en/time-zone-support.html>
//!
//! The zone stays as the server and the user have set it, because a statement's own meaning depends on it: literals,
//! HOUR(), DATE(), NOW(). A zone with one offset is converted here. In other zones two points in time may have one local
//! time, at the end of DST, so values cannot be converted when they have arrived. There the server runs the statement
//! with a cursor, which keeps TIMESTAMP values as points in time, and sends its rows after the session's zone was set to
//! UTC. Then the zone is set back.

use super::packet::protocol;
use super::server_connection::{ServerConnection, TextAnswer};
use crate::Error;
use crate::shared_connection::Tick;

/// What decides the zone. The abbreviation of the operating system's zone is not enough: `TZ=UTC+5` has it too.
pub(super) const COLUMNS: &str = "@@SESSION.time_zone, @@system_time_zone, FROM_UNIXTIME(86400)";
const A_DAY_IN_UTC: &str = "1970-01-02 00:00:00";
pub(super) const UTC: &str = "+00:00";
pub(super) const WAY_OUT: &str = "run SET time_zone = '+00:00' before, or convert the column to datetime in the query";
const SECOND: i64 = 1_000_000;
/// The seconds by which zones have been set back since 1970, by DST (20 minutes to 2 hours) or by law.
const SET_BACK: [i32; 6] = [1200, 1800, 3600, 5400, 7200, 10800];

/// A session's time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionZone {
    /// Always so many microseconds east of UTC.
    Offset(i64),
    /// Any other, by its name.
    Named(String),
}

impl SessionZone {
    /// # Errors
    /// The connection is lost, or the server does not say it.
    pub(super) fn ask(connection: &mut ServerConnection, tick: Tick<'_>) -> Result<Self, Error> {
        Self::read(&connection.ask(&format!("SELECT {COLUMNS}"), tick)?, 0)
    }

    /// The zone in an answer with [`COLUMNS`] from the column `at` on.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn zone(values: [&str; 3]) -> SessionZone {
        let row = values.iter().map(|value| Some((*value).to_owned())).collect();
        SessionZone::read(&TextAnswer { rows: vec![row], ..TextAnswer::default() }, 0).unwrap()
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
