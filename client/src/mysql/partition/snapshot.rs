//! One state for several connections. MySQL cannot share a snapshot, so all snapshots are taken while commits are
//! blocked.
//!
//! MariaDB's BACKUP STAGE BLOCK_COMMIT lets transactions continue until their commit, and does not wait for queries.
//! It waits only for commits, for statements that write to tables without transactions, and for changes of tables.
//! MySQL has only FLUSH TABLES WITH READ LOCK, which blocks all writers and waits for running queries. Both are held
//! only while the siblings run one statement, which all receive at once. Without a lock it is unknown whether
//! something changed between two snapshots: the binary log and InnoDB's counters omit some commits.
//! <https://mariadb.com/kb/en/backup-stage/>, <https://dev.mysql.com/doc/refman/8.4/en/flush.html>

use std::sync::Arc;

use super::{CONSISTENT, MysqlConnection, unsupported};
use crate::{Connection, ContinueCheck, Error, ErrorKind};

/// The most seconds that each step to the lock may wait. Later statements may have to wait behind it for as long.
const PATIENCE: u32 = 2;
/// After this many idle seconds the server ends the connection with the lock, if this client has disappeared.
const ABANDONED: u32 = 10;
/// The first release series in which all versions have the stages. They came with 10.4.1.
const STAGES_SINCE: (u32, u32) = (10, 5);

const STAGES: (&[&str], &str) = (&["BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"], "BACKUP STAGE END");
const READ_LOCK: (&[&str], &str) = (&["FLUSH TABLES WITH READ LOCK"], "UNLOCK TABLES");

/// A snapshot is taken only at this level.
const SNAPSHOTS: &str = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";
const TAKE_SNAPSHOT: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
const COMMITTED: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
const ONLY_READ: &str = "START TRANSACTION READ ONLY";

/// Identifies a server, because several servers may have one address.
const PLACE: &str = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir)";
/// SQLSTATEs of missing privileges.
const DENIED: [&str; 2] = ["42000", "28000"];

/// Begins transactions on all siblings that see the same state.
///
/// # Errors
/// `Unsupported` if the user may not take the lock, it was not granted in time, or the connections lead to different
/// servers.
pub(super) fn begin_together(
    siblings: &[Arc<MysqlConnection>],
    locker: &MysqlConnection,
    keep: ContinueCheck<'_>,
) -> Result<(), Error> {
    on_each(siblings, SNAPSHOTS, keep)?;
    let place = locker.ask(PLACE, keep)?;
    for sibling in siblings {
        if sibling.ask(PLACE, keep)?.rows != place.rows {
            return Err(apart("they lead to different servers").with_hint(CONSISTENT));
        }
    }
    locker
        .execute((&format!("SET SESSION lock_wait_timeout = {PATIENCE}, wait_timeout = {ABANDONED}")).into(), keep)?;
    let (lock, unlock) = if has_stages(locker.server()) { STAGES } else { READ_LOCK };
    for statement in lock {
        locker.execute((*statement).into(), keep).map_err(not_locked)?;
    }
    let begun = on_each(siblings, TAKE_SNAPSHOT, keep);
    // The lock is released even after an error, so that nobody waits. If it was lost before, that is an error.
    let released = locker.execute(unlock.into(), keep);
    begun.and(released.map(drop))
}

/// Begins a transaction on each sibling. Each of its queries sees the data that is committed when the query starts.
pub(super) fn begin_each(siblings: &[Arc<MysqlConnection>], keep: ContinueCheck<'_>) -> Result<(), Error> {
    on_each(siblings, COMMITTED, keep)?;
    on_each(siblings, ONLY_READ, keep)
}

/// Runs a statement on all connections at the same time.
fn on_each(siblings: &[Arc<MysqlConnection>], sql: &str, keep: ContinueCheck<'_>) -> Result<(), Error> {
    let mut started = Vec::with_capacity(siblings.len());
    for sibling in siblings {
        started.push(sibling.start(sql, keep)?);
    }
    started.into_iter().try_for_each(|reader| reader.finish(keep).map(drop))
}

fn has_stages(server: &str) -> bool {
    let Some(version) = server.strip_prefix("MariaDB ") else { return false };
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= STAGES_SINCE
}

fn not_locked(error: Error) -> Error {
    if error.kind() != ErrorKind::Database {
        return error;
    }
    let way = if error.sqlstate().is_some_and(|state| DENIED.contains(&state)) {
        "grant RELOAD to the user"
    } else {
        "try again later"
    };
    apart(error.message()).with_hint(format!("{way}, or {CONSISTENT}")).with_cause(error)
}

fn apart(why: &str) -> Error {
    unsupported(&format!("the server cannot show one state to several connections: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gentler_lock_is_taken_where_there_is_one() {
        for (server, expected) in [
            ("MariaDB 10.11.6", true),
            ("MariaDB 11.4.2", true),
            ("MariaDB 10.4.0", false),
            ("MariaDB 10.3.39", false),
            ("MySQL 8.4.0", false),
            ("MySQL 12.0.1", false),
            ("", false),
        ] {
            assert_eq!(has_stages(server), expected, "{server}");
        }
    }
}
