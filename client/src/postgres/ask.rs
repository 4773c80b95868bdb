//! Questions of this client's own, whose answers come as texts.

use super::connection::PostgresConnection;
use super::copy_out::{Event, Job, Statement};
use super::extended::ResultColumn;
use super::message;
use super::reader::stop;
use crate::feed::{self, Nothing};
use crate::session::died;
use crate::{Error, Keep};

/// The answer to a question.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) columns: Vec<ResultColumn>,
    /// `None` is NULL.
    pub(super) rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    /// The value in a row and a column.
    pub(super) fn text(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.get(row)?.get(column)?.as_deref()
    }
}

impl PostgresConnection {
    /// Runs a statement with few rows, of whatever kind, by the simple query protocol.
    ///
    /// # Errors
    /// As for [`Connection::query`](crate::Connection::query).
    pub(super) fn ask(&self, sql: &str, keep: Keep<'_>) -> Result<Answer, Error> {
        let statement = Statement::Simple { job: Job::Ask, query: message::query(sql)?, again: None };
        let (events, control) = self.start(statement, keep)?;
        let mut answer = Answer::default();
        loop {
            match feed::receive(&events, keep) {
                Ok(Event::Described(columns)) => answer.columns = columns,
                Ok(Event::Texts(row)) => answer.rows.push(row),
                Ok(Event::Finished(finished)) => return finished.map(|_| answer),
                Ok(_) | Err(Nothing::Gone) => return Err(died().with_origin(&self.0.name)),
                Err(Nothing::Interrupted) => return Err(stop(&self.0, &control, &events)),
            }
        }
    }
}
