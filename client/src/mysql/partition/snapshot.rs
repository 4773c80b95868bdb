//! One state for several connections. A snapshot cannot be handed over, so all are taken while nobody can commit.
//!
//! MariaDB's BACKUP STAGE BLOCK_COMMIT lets transactions go on up to their commit and waits for no query; what it waits for is
//! commits, statements that write to tables without transactions, and changes of tables. FLUSH TABLES WITH READ LOCK, which is what MySQL
//! has, keeps back everybody who writes and waits for queries that run. Either is held for as long as the siblings need for one
//! statement, which all get at once. That nothing has changed between two snapshots could not be told without a lock: what the
//! binary log or InnoDB's counters say leaves some commits out.
//! <https://mariadb.com/kb/en/backup-stage/>, <https://dev.mysql.com/doc/refman/8.4/en/flush.html>

use std::sync::Arc;

use super::{CONSISTENT, MysqlConnection, unsupported};
use crate::{Connection, Error, ErrorKind, Keep};

/// How many seconds each step towards the lock may take: for so long, whoever comes later may have to wait with it.
const PATIENCE: u32 = 2;
/// After so many seconds of silence the server ends the connection that holds the lock, should this client be gone without a word.
const ABANDONED: u32 = 10;
/// The first series of which each version has them: they came with 10.4.1.
const STAGES_SINCE: (u32, u32) = (10, 5);

const STAGES: (&[&str], &str) = (&["BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"], "BACKUP STAGE END");
const READ_LOCK: (&[&str], &str) = (&["FLUSH TABLES WITH READ LOCK"], "UNLOCK TABLES");

/// A snapshot is taken at this level only.
const SNAPSHOTS: &str = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ";
const TAKE_SNAPSHOT: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
const COMMITTED: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
const ONLY_READ: &str = "START TRANSACTION READ ONLY";

/// What tells one server from another behind the same address.
const PLACE: &str = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir)";
/// Of rights that the user lacks.
const DENIED: [&str; 2] = ["42000", "28000"];

/// Begins a transaction on each sibling, all of which see the same state.
///
/// # Errors
/// `Unsupported` if the user may not take the lock, it did not come in time, or the connections lead to different servers.
pub(super) fn begin_together(
    siblings: &[Arc<MysqlConnection>],
    locker: &MysqlConnection,
    keep: Keep<'_>,
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
    // Whatever came of that, nobody shall have to wait. A lock that was lost before is an error.
    let released = locker.execute(unlock.into(), keep);
    begun.and(released.map(drop))
}

/// Begins a transaction on each sibling, which sees what was committed when each of its queries starts.
pub(super) fn begin_each(siblings: &[Arc<MysqlConnection>], keep: Keep<'_>) -> Result<(), Error> {
    on_each(siblings, COMMITTED, keep)?;
    on_each(siblings, ONLY_READ, keep)
}

/// Runs a statement on all connections at once.
fn on_each(siblings: &[Arc<MysqlConnection>], sql: &str, keep: Keep<'_>) -> Result<(), Error> {
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
