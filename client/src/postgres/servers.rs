//! Connects to the first of several servers that answers and suits.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS>

use std::time::{Duration, Instant};

use super::delivery::ask;
use super::server_connection::ServerConnection;
use super::target::{Conninfo, TargetSessionAttrs};
use crate::{Error, ErrorKind};

/// The timeout for the question which kind a server is, without `connect_timeout`.
const LIMIT: Duration = Duration::from_secs(60);
const READ_ONLY: &str = "SHOW transaction_read_only";
const STANDBY: &str = "SELECT pg_catalog.pg_is_in_recovery()";

/// Connects to the first suitable server.
///
/// # Errors
/// The error of the only server. For several servers: none answers and suits, or one refuses the user.
pub(crate) fn open(conninfo: &Conninfo) -> Result<ServerConnection, Error> {
    let sessions: &[TargetSessionAttrs] = match &conninfo.session {
        TargetSessionAttrs::PreferStandby => &[TargetSessionAttrs::Standby, TargetSessionAttrs::Any],
        session => std::slice::from_ref(session),
    };
    let alone = conninfo.targets.len() == 1 && sessions.len() == 1;
    let mut failures = Vec::new();
    for session in sessions {
        for target in &conninfo.targets {
            let opened = ServerConnection::open(target).and_then(|connection| suits(connection, *session));
            match opened.map_err(|error| error.with_origin(&target.to_string())) {
                Err(error) if !alone && passes(&error) => failures.push(format!("{target}: {error}")),
                result => return result,
            }
        }
    }
    Err(Error::new(ErrorKind::Connect, "none of the servers answers and meets target_session_attrs")
        .with_detail(Some(failures.join("\n"))))
}

/// Whether the next server is tried after an error: not if a server has refused the user (libpq's rule), unless it
/// currently refuses all users.
fn passes(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Connect | ErrorKind::ConnectionLost | ErrorKind::Protocol => true,
        ErrorKind::Database => error.sqlstate() == Some("57P03"),
        _ => false,
    }
}

fn suits(mut connection: ServerConnection, session: TargetSessionAttrs) -> Result<ServerConnection, Error> {
    let (question, wanted, otherwise) = match session {
        TargetSessionAttrs::Any | TargetSessionAttrs::PreferStandby => return Ok(connection),
        TargetSessionAttrs::ReadWrite => (READ_ONLY, "off", "may only be read"),
        TargetSessionAttrs::ReadOnly => (READ_ONLY, "on", "may be written to"),
        TargetSessionAttrs::Primary => (STANDBY, "f", "is a standby"),
        TargetSessionAttrs::Standby => (STANDBY, "t", "is not a standby"),
    };
    let deadline = Instant::now() + connection.route.target.connect_timeout.unwrap_or(LIMIT);
    let mut tick = || match Instant::now() < deadline {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Connect, "the server does not report whether it is a standby")),
    };
    let answer = ask(&mut connection, question, &mut tick)??;
    if answer.as_deref() == Some(wanted) {
        return Ok(connection);
    }
    Err(Error::new(ErrorKind::Connect, format!("the server {otherwise}, which target_session_attrs excludes")))
}
