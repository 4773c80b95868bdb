//! Runs statements of the user while the settings that affect how the server reads them are as announced (`reports`).

use super::server_connection::ServerConnection;
use crate::Error;
use crate::shared_connection::{AnswerOutcome, Started};

/// Runs a statement of the user. Checks before and after that the settings by which statements are read are unchanged.
pub(super) fn checked(
    connection: &mut ServerConnection,
    run: impl FnOnce(&mut ServerConnection) -> AnswerOutcome,
) -> AnswerOutcome {
    connection.check_state()?;
    let outcome = run(connection)?;
    connection.check_state()?;
    Ok(outcome)
}

/// As [`checked`], for a statement whose answer may be received on another thread.
pub(super) fn checked_begin<T: 'static>(
    connection: &mut ServerConnection,
    begin: impl FnOnce(&mut ServerConnection) -> Result<Started<ServerConnection, T>, Error>,
) -> Result<Started<ServerConnection, T>, Error> {
    connection.check_state()?;
    match begin(connection)? {
        Started::Ended(outcome) => connection.check_state().map(|()| Started::Ended(outcome)),
        Started::Open(rest) => Ok(Started::Open(Box::new(move |connection, tick, tell| {
            let outcome = rest(connection, tick, tell)?;
            connection.check_state().map(|()| outcome)
        }))),
    }
}
