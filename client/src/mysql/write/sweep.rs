//! After a lost connection: drops the table that was being filled, over another connection.

use std::time::Duration;

use super::table::TableName;
use super::target_table::TargetTable;
use crate::mysql::server_connection::ServerConnection;
use crate::mysql::uri::Target;
use crate::{Error, ErrorKind};

/// The time for the connection, and for each lock.
const LIMIT: Duration = Duration::from_secs(3);
/// ER_BAD_TABLE_ERROR
const NO_SUCH_TABLE: i32 = 1051;

/// What became of the table.
enum Found {
    /// It was dropped, so it was never renamed.
    Dropped,
    /// It was renamed, or never created.
    Missing,
}

/// The error of a lost connection. If the table could be dropped, nothing is stored.
pub(super) fn after(lost: Error, target: &TargetTable, server: &Target, thread: u64) -> Error {
    let Some((created, replaced)) = target.left_over() else { return lost };
    match drop_tables(server, thread, &created, replaced.as_ref()) {
        Ok(Found::Dropped) if lost.sqlstate() == Some("08007") => {
            let message = "the connection was lost during the commit, and nothing is stored";
            Error::new(ErrorKind::ConnectionLost, message).with_sqlstate("08006").with_cause(lost)
        }
        Ok(_) => lost,
        Err(_) => {
            let left = format!("the table {} may be left over: drop it", created.quoted());
            let detail = lost.detail().map_or_else(|| left.clone(), |detail| format!("{detail}\n{left}"));
            lost.with_detail(Some(detail))
        }
    }
}

fn drop_tables(
    server: &Target,
    thread: u64,
    created: &TableName,
    replaced: Option<&TableName>,
) -> Result<Found, Error> {
    let mut connection = ServerConnection::open(&Target { connect_timeout: Some(LIMIT), ..server.clone() })?;
    let deadline = std::time::Instant::now() + 2 * LIMIT;
    let mut tick = || match std::time::Instant::now() < deadline {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::ConnectionLost, "the server did not answer in time")),
    };
    // The lost session may still hold its locks. It may also be gone.
    let _ = connection.tell(&format!("KILL {thread}"), &mut tick);
    connection.tell(&format!("SET SESSION lock_wait_timeout = {}", LIMIT.as_secs()), &mut tick)?;
    match connection.tell(&format!("DROP TABLE {}", created.quoted()), &mut tick) {
        Ok(()) => Ok(Found::Dropped),
        Err(error) if error.code() == Some(NO_SUCH_TABLE) => {
            if let Some(replaced) = replaced {
                connection.tell(&format!("DROP TABLE IF EXISTS {}", replaced.quoted()), &mut tick)?;
            }
            Ok(Found::Missing)
        }
        Err(error) => Err(error),
    }
}
