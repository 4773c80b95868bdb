//! A statement of which only running tells whether it is refused: it can be undone then.
//! <https://dev.mysql.com/doc/refman/8.4/en/implicit-commit.html>

use super::packet::status;
use super::server_connection::{ServerConnection, TextAnswer};
use crate::shared_connection::{AnswerError, Tick};
use crate::{Error, ErrorKind};

/// The name of this client's own savepoint.
const SAVEPOINT: &str = "colonnade_undo";

/// The state before a statement, to which the session can return.
pub(super) struct Undo {
    /// Whether the transaction is the statement's own, and not the user's.
    own: bool,
}

impl Undo {
    /// Before the statement.
    ///
    /// # Errors
    /// The connection is lost, or the server refuses a savepoint.
    pub(super) fn begin(connection: &mut ServerConnection, tick: Tick<'_>) -> Result<Self, AnswerError> {
        // Without autocommit the statement belongs to a transaction of the user's even if that has not begun.
        let own = connection.status & status::AUTOCOMMIT != 0 && connection.status & status::IN_TRANSACTION == 0;
        if own {
            told(connection, "START TRANSACTION", tick)?;
        }
        told(connection, &format!("SAVEPOINT {SAVEPOINT}"), tick)?;
        Ok(Self { own })
    }

    /// After the statement: keeps what it did, or undoes it if it was refused. The error of a statement that cannot be undone
    /// says so: it has committed by itself, or changed tables that have no transactions.
    pub(super) fn end(
        self,
        connection: &mut ServerConnection,
        tick: Tick<'_>,
        result: Result<Option<u64>, AnswerError>,
    ) -> Result<Option<u64>, AnswerError> {
        let release = format!("RELEASE SAVEPOINT {SAVEPOINT}");
        match result {
            Ok(rows) if self.own => told(connection, "COMMIT", tick).map(|()| rows),
            Ok(rows) => match told(connection, &release, tick) {
                // A statement that has committed has ended the savepoint.
                Ok(()) | Err(AnswerError::Refused(_)) => Ok(rows),
                Err(lost) => Err(lost),
            },
            Err(AnswerError::Refused(error)) => {
                let undone = match asked(connection, &format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}"), tick) {
                    // Its warning: some changed tables have no transactions.
                    Ok(answer) => answer.warnings == 0,
                    Err(AnswerError::Refused(_)) => false,
                    Err(lost) => return Err(lost),
                };
                if self.own {
                    told(connection, "ROLLBACK", tick)?;
                } else if undone {
                    told(connection, &release, tick)?;
                }
                Err(AnswerError::Refused(if undone { error } else { lasting(&error) }))
            }
            lost => lost,
        }
    }
}

fn told(connection: &mut ServerConnection, sql: &str, tick: Tick<'_>) -> Result<(), AnswerError> {
    asked(connection, sql, tick).map(drop)
}

fn asked(connection: &mut ServerConnection, sql: &str, tick: Tick<'_>) -> Result<TextAnswer, AnswerError> {
    connection.ask(sql, tick).map_err(|error| match error.kind() {
        ErrorKind::Database => AnswerError::Refused(error),
        _ => AnswerError::Lost(error),
    })
}

/// The same error of a statement whose effect stays.
fn lasting(error: &Error) -> Error {
    let message = format!(
        "{}; the statement has run and could not be undone in full: it commits by itself, or changes tables without transactions",
        error.message()
    );
    let made = Error::new(error.kind(), message).with_detail(error.detail().map(str::to_owned));
    let made = error.sqlstate().into_iter().fold(made, Error::with_sqlstate);
    error.hint().into_iter().fold(made, Error::with_hint)
}
