//! Questions of this client, whose answers arrive as text.

use super::extended::ResultColumn;
use super::message;
use super::session::PostgresConnection;
use super::simple::{self, AnswerMode, TextPart};
use crate::shared_connection::{Event, Started, died};
use crate::{ContinueCheck, Error};

/// The answer to a question.
#[derive(Debug, Default)]
pub(super) struct TextAnswer {
    pub(super) columns: Vec<ResultColumn>,
    /// `None` is NULL.
    pub(super) rows: Vec<Vec<Option<String>>>,
}

impl TextAnswer {
    /// The value in a row and a column.
    pub(super) fn text(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.get(row)?.get(column)?.as_deref()
    }
}

impl PostgresConnection {
    /// Runs a statement of any kind that returns few rows, by the simple query protocol.
    ///
    /// # Errors
    /// As for [`Connection::query`](crate::Connection::query).
    pub(super) fn ask(&self, sql: &str, keep: ContinueCheck<'_>) -> Result<TextAnswer, Error> {
        self.delivery(keep)?;
        let query = message::query(sql)?;
        let mut reader = self.session.begin(keep, |connection, tick, tell| {
            simple::answer(connection, tick, AnswerMode::Ask(tell), &query).map(Started::Ended)
        })?;
        let mut answer = TextAnswer::default();
        loop {
            match reader.next(keep)? {
                Some(Event::Part(TextPart::Columns(columns))) => answer.columns = columns,
                Some(Event::Part(TextPart::Row(row))) => answer.rows.push(row),
                Some(Event::Finished(_)) => return Ok(answer),
                None => return Err(died()),
            }
        }
    }
}
