//! Undoes a statement that can only be refused after it has run.
//! <https://dev.mysql.com/doc/refman/8.4/en/implicit-commit.html>

use super::packet::status;
use super::server_connection::ServerConnection;
use super::text_answer::TextAnswer;
use crate::shared_connection::{AnswerError, Tick};
use crate::{Error, ErrorKind};

/// The name of this client's savepoint.
const SAVEPOINT: &str = "colonnade_undo";

/// The state before a statement, to which the session can return.
pub(super) struct Undo {
    /// Whether the transaction belongs to the statement and not to the user.
    own: bool,
}

impl Undo {
    /// Called before the statement.
    ///
    /// # Errors
    /// The connection is lost, or the server refuses a savepoint.
    pub(super) fn begin(connection: &mut ServerConnection, tick: Tick<'_>) -> Result<Self, AnswerError> {
        // Without autocommit, the statement belongs to a transaction of the user, even if that has not begun.
        let own = connection.status & status::AUTOCOMMIT != 0 && connection.status & status::IN_TRANSACTION == 0;
        if own {
            told(connection, "START TRANSACTION", tick)?;
        }
        told(connection, &format!("SAVEPOINT {SAVEPOINT}"), tick)?;
        Ok(Self { own })
    }

    /// Called after the statement: keeps its effect, or undoes it if the statement was refused. If it cannot be
    /// undone, the error says so: the statement has committed, or changed tables without transactions.
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
                // A statement that commits ends the savepoint.
                Ok(()) | Err(AnswerError::Refused(_)) => Ok(rows),
                Err(lost) => Err(lost),
            },
            Err(AnswerError::Refused(error)) => {
                let undone = match asked(connection, &format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}"), tick) {
                    // The warning of this error: some changed tables have no transactions.
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

/// The same error for a statement whose effect remains.
fn lasting(error: &Error) -> Error {
    let message = format!(
        "{}; the statement has run and could not be undone in full: it commits by itself, or changes tables without transactions",
        error.message()
    );
    let made = Error::new(error.kind(), message).with_detail(error.detail().map(str::to_owned));
    let made = error.sqlstate().into_iter().fold(made, Error::with_sqlstate);
    error.hint().into_iter().fold(made, Error::with_hint)
}
