//! What a source is.

use arrow_schema::SchemaRef;
use std::sync::Arc;

use crate::partition::Offer;
use crate::{Batch, Dialect, Error, QueryOptions, Statement, Stats};

/// Asked before each chunk and about ten times a second while waiting: whether to go on. `false` cancels the query on the server and makes
/// the waiting call return an error of kind [`Interrupted`](crate::ErrorKind::Interrupted).
pub type Keep<'a> = &'a mut dyn FnMut() -> bool;

/// Refuses the columns of a result that nobody could use. It is called once, on a thread of the source's.
pub type SchemaCheck = Box<dyn FnOnce(&SchemaRef) -> Result<(), Error> + Send>;

/// A connection to a source. One result at a time is read from it.
pub trait Connection: Send + Sync {
    /// Starts a query; returns when its schema is known.
    ///
    /// # Errors
    /// Whatever the database reports, a connection that is lost, closed or busy, or an interruption.
    fn query(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        keep: Keep<'_>,
    ) -> Result<Box<dyn ResultStream>, Error>;

    /// Starts a query if `check` accepts its columns. A statement that is refused has not run, or is undone. Sources that can do
    /// neither leave what it did.
    ///
    /// # Errors
    /// As for [`Connection::query`], and those of `check`.
    fn query_checked(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        check: SchemaCheck,
        keep: Keep<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        let rows = self.query(statement, options, keep)?;
        check(rows.schema())?;
        Ok(rows)
    }

    /// Runs a statement and passes over the rows it may return. Gives the number of rows it touched, if the database
    /// says one.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn execute(&self, statement: Statement<'_>, keep: Keep<'_>) -> Result<Option<u64>, Error>;

    /// Runs one statement, once, of which nobody knows whether it gives rows.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn run(&self, statement: Statement<'_>, options: &QueryOptions, keep: Keep<'_>) -> Result<Answer, Error>;

    /// What a statement takes and gives, if its placeholders have PostgreSQL's types of these numbers, of which 0 is open. It does not
    /// run. `None` where that cannot be known before.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn describe(&self, _sql: &str, _types: &[u32], _keep: Keep<'_>) -> Result<Option<StatementDescription>, Error> {
        Ok(None)
    }

    /// Whether a transaction is open, as the source itself says; `None` if it does not say, or is busy.
    fn transaction(&self) -> Option<Transaction> {
        None
    }

    /// The session's time zone as PostgreSQL's parameter `TimeZone` has it, if the source says and no query runs.
    fn time_zone(&self) -> Option<String> {
        None
    }

    /// What it offers to whoever wants to read one result in parts.
    fn partitioning(&self) -> Offer<'_> {
        Offer::Nothing
    }

    /// What can stop the running query from another thread.
    fn canceller(&self) -> Arc<dyn Cancel>;

    /// How the source writes literals.
    fn dialect(&self) -> Dialect;

    /// The source's name, without any secret.
    fn name(&self) -> &str;

    /// The server's software and version, as it says.
    fn server(&self) -> &str;

    /// Whether it can take another query, now or when the one that runs has ended.
    fn is_open(&self) -> bool;

    /// Ends the connection; a running query ends with an error.
    fn close(&self);
}

/// The answer to a query, read once from start to end. Dropping it early cancels the query.
pub trait ResultStream: Send {
    /// The columns.
    fn schema(&self) -> &SchemaRef;

    /// The next batch, or `None` after the last: only then is the result complete.
    ///
    /// # Errors
    /// A query that failed half-way, a connection that was lost, a damaged stream, or an interruption. The stream is
    /// over then, and what was read before it is no result.
    fn next(&mut self, keep: Keep<'_>) -> Result<Option<Batch>, Error>;

    /// What has been read so far.
    fn stats(&self) -> Stats;
}

/// What a statement came to.
pub enum Answer {
    /// Rows.
    Rows(Box<dyn ResultStream>),
    /// No rows; how many it touched, if the database says.
    Done(Option<u64>),
}

/// What a statement takes and gives.
#[derive(Clone, Debug)]
pub struct StatementDescription {
    /// PostgreSQL's numbers of the types of `$1`, `$2`, ….
    pub parameters: Vec<u32>,
    /// The columns, if it gives rows.
    pub schema: Option<SchemaRef>,
}

/// What a connection is between statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// Not in a transaction.
    None,
    /// In a transaction.
    Open,
    /// In a transaction that can only be rolled back.
    Failed,
}

/// Stops a query from outside.
pub trait Cancel: Send + Sync {
    /// Asks the source to stop the query that runs now; nothing happens if none does. The query's own reader gets the
    /// error.
    ///
    /// # Errors
    /// The request could not be delivered.
    fn cancel(&self) -> Result<(), Error>;
}
