//! The interface of all sources.

use arrow_schema::SchemaRef;
use std::sync::Arc;

use crate::partition::{PartSupport, Spooling};
use crate::write::Writing;
use crate::{
    Batch, Dialect, Error, ErrorKind, ExtensionVersions, QueryOptions, Statement, Stats, StreamFormat, Transport,
};

/// Called before each chunk, and about ten times a second while waiting. `false` cancels the query on the server, and
/// the waiting call returns an error of kind [`Interrupted`](crate::ErrorKind::Interrupted).
pub type ContinueCheck<'a> = &'a mut dyn FnMut() -> bool;

/// Refuses columns that the caller cannot use. It is called once, on a thread of the source.
pub type SchemaCheck = Box<dyn FnOnce(&SchemaRef) -> Result<(), Error> + Send>;

/// A connection to a source. It reads one result at a time.
pub trait Connection: Send + Sync {
    /// Starts a query. Returns when its schema is known.
    ///
    /// # Errors
    /// An error of the database, a lost, closed or busy connection, or an interruption.
    fn query(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error>;

    /// Starts a query if `check` accepts its columns. A refused statement does not run, or is undone. If a source can
    /// do neither, its effect remains.
    ///
    /// # Errors
    /// As for [`Connection::query`], and those of `check`.
    fn query_checked(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        check: SchemaCheck,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        let rows = self.query(statement, options, keep)?;
        check(rows.schema())?;
        Ok(rows)
    }

    /// Runs a statement and skips its rows. Returns the number of affected rows, if the database reports it.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn execute(&self, statement: Statement<'_>, keep: ContinueCheck<'_>) -> Result<Option<u64>, Error>;

    /// Runs a statement once, if it is unknown whether it returns rows.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn run(&self, statement: Statement<'_>, options: &QueryOptions, keep: ContinueCheck<'_>) -> Result<Answer, Error>;

    /// Describes the parameters of a statement, and the columns that it has with these options. `types` are
    /// PostgreSQL's numbers of the types of its placeholders; 0 leaves a type open. The statement does not run. `None`
    /// if it cannot be described before it runs.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn describe(
        &self,
        _sql: &str,
        _types: &[u32],
        _options: &QueryOptions,
        _keep: ContinueCheck<'_>,
    ) -> Result<Option<StatementDescription>, Error> {
        Ok(None)
    }

    /// Whether a transaction is open, as the source reports it; `None` if it does not report it, or is busy.
    fn transaction(&self) -> Option<Transaction> {
        None
    }

    /// The session's time zone in the form of PostgreSQL's parameter `TimeZone`, if the source reports it and no query
    /// runs.
    fn time_zone(&self) -> Option<String> {
        None
    }

    /// The socket and its encryption; `None` if the source is in this process, is busy or is closed.
    fn transport(&self) -> Option<Transport> {
        None
    }

    /// The stream format that the server sends; `None` if results arrive in the database's own protocol.
    fn stream_format(&self) -> Option<StreamFormat> {
        None
    }

    /// The versions of the extension `colonnade`; `None` if the database has no extensions.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn extension(&self, _keep: ContinueCheck<'_>) -> Result<Option<ExtensionVersions>, Error> {
        Ok(None)
    }

    /// What the source offers for reading one result in parts.
    fn partitioning(&self) -> PartSupport<'_> {
        PartSupport::Nothing
    }

    /// The way to keep a result on the server and to read it in parts; `None` if the server has none.
    fn spooling(&self) -> Option<&dyn Spooling> {
        None
    }

    /// The way to write into tables.
    ///
    /// # Errors
    /// `Unsupported` if this version cannot write to the source.
    fn writing(&self) -> Result<&dyn Writing, Error> {
        let message = "this version cannot write to this source";
        let hint = "write to PostgreSQL, colonnade serve, MySQL, MariaDB, or a file of SQLite or DuckDB; for this database use its own loader";
        Err(Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000").with_hint(hint))
    }

    /// A handle that cancels the running query from another thread.
    fn canceller(&self) -> Arc<dyn Cancel>;

    /// The dialect of the source's literals.
    fn dialect(&self) -> Dialect;

    /// The source's name, without secrets.
    fn name(&self) -> &str;

    /// A connection string for the same server, user and options, without a password. `None` if the source has none.
    fn address(&self) -> Option<&str> {
        None
    }

    /// The name and version of the server's software. Before [`Connection::identify`] or a query it may lack an
    /// extension.
    fn server(&self) -> &str;

    /// Finds out what [`Connection::server`] and [`Connection::stream_format`] return, if it is not known yet.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn identify(&self, _keep: ContinueCheck<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether it accepts another query, now or after the running one has ended.
    fn is_open(&self) -> bool;

    /// Closes the connection. A running query ends with an error.
    fn close(&self);
}

/// The answer to a query, read once from start to end. Dropping it early cancels the query.
pub trait ResultStream: Send {
    /// The columns.
    fn schema(&self) -> &SchemaRef;

    /// The next batch, or `None` after the last. Only `None` means that the result is complete.
    ///
    /// # Errors
    /// A failed query, a lost connection, a damaged stream, or an interruption. The stream has then ended, and the
    /// batches before it are not a complete result.
    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error>;

    /// Counts of what was read so far.
    fn stats(&self) -> Stats;
}

/// The answer to a statement.
pub enum Answer {
    /// Rows.
    Rows(Box<dyn ResultStream>),
    /// No rows; the number of affected rows, if the database reports it.
    Done(Option<u64>),
}

/// The parameters and columns of a statement.
#[derive(Clone, Debug)]
pub struct StatementDescription {
    /// PostgreSQL's numbers of the types of `$1`, `$2`, ….
    pub parameters: Vec<u32>,
    /// The columns, if it returns rows. They have the names of their types ([`TYPE_NAME_KEY`](crate::TYPE_NAME_KEY)) if
    /// that was requested.
    pub schema: Option<SchemaRef>,
}

/// The state of the transaction between statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// Not in a transaction.
    None,
    /// In a transaction.
    Open,
    /// In a transaction that can only be rolled back.
    Failed,
}

/// Cancels a query from another thread.
pub trait Cancel: Send + Sync {
    /// Requests the source to cancel the running query. Without one, this has no effect. The reader of the query gets
    /// the error.
    ///
    /// # Errors
    /// The request could not be delivered.
    fn cancel(&self) -> Result<(), Error>;
}
