//! Questions of this client on a connection that is in use.

use std::sync::atomic::Ordering;

use super::connection::MysqlConnection;
use super::text_answer::TextAnswer;
use crate::shared_connection::{Event, died};
use crate::{ContinueCheck, Error, ErrorKind};

impl MysqlConnection {
    /// Runs a statement that returns few rows, as text.
    ///
    /// # Errors
    /// As for [`Connection::query`](crate::Connection::query).
    pub(super) fn ask(&self, sql: &str, keep: ContinueCheck<'_>) -> Result<TextAnswer, Error> {
        let (statement, status) = (sql.to_owned(), self.status.clone());
        let mut reader = self.session.start(keep, move |connection, tick, tell| {
            let answer = connection.ask(&statement, tick);
            status.store(connection.status, Ordering::Release);
            match answer {
                Ok(answer) => tell(answer),
                // If the server refuses the statement, the connection is unchanged.
                Err(error) if error.kind() == ErrorKind::Database => return Ok(Err(error)),
                Err(error) => return Err(error),
            }
            Ok(Ok(None))
        })?;
        let mut answer = None;
        loop {
            match reader.next(keep)? {
                Some(Event::Part(part)) => answer = Some(part),
                Some(Event::Finished(_)) => return answer.ok_or_else(died),
                None => return Err(died()),
            }
        }
    }
}
