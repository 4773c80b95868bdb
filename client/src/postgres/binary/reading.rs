//! Reads the rows of a statement: in two round trips, or in one if this connection has described the statement before.

use bytes::Bytes;

use super::answer::{Talk, USERS, unexpected};
use super::catalog::Catalog;
use super::kind::{self, ColumnDescription};
use super::known::{self, KnownStatement};
use crate::feed::POLL;
use crate::postgres::delivery::{self, Delivery};
use crate::postgres::extended::{MessageBatch, ResultColumn, ValueFormat};
use crate::postgres::message::{self, MessageReader, protocol};
use crate::postgres::parameters::BoundStatement;
use crate::postgres::server_connection::ServerConnection;
use crate::rows::Part;
use crate::shared_connection::{AnswerError, Begun, Tick};
use crate::{Error, ErrorKind, Pool, QueryOptions};

/// The command tags with a number of rows.
const COUNTED: [&str; 6] = ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "FETCH"];

/// What a statement must return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Wanted {
    /// Rows; any other statement does not run.
    Rows,
    /// Rows or none.
    Any,
}

/// A statement of the user whose rows are read.
pub(in crate::postgres) struct Reading {
    pub(in crate::postgres) statement: BoundStatement,
    pub(in crate::postgres) options: QueryOptions,
    pub(in crate::postgres) wanted: Wanted,
    pub(in crate::postgres) pool: Pool,
}

impl Reading {
    /// Runs the statement and passes on its columns. Receives a short answer to its end.
    ///
    /// # Errors
    /// The connection is lost.
    pub(in crate::postgres) fn begin(
        self,
        connection: &mut ServerConnection,
        tick: Tick<'_>,
        tell: &mut dyn FnMut(RowPart),
    ) -> Result<Begun<ServerConnection, RowPart>, Error> {
        connection.incoming.set_patience(Some(POLL))?;
        let mut talk = Talk { connection, tick, synced: false };
        let (styled, described) = match talk.columns(&self, tell) {
            Ok(Running::Rows { styled, described }) => (styled, described),
            Ok(Running::Ended(rows)) => return Ok(Begun::Ended(Ok(rows))),
            Err(error) => return talk.outcome(Err(error)).map(Begun::Ended),
        };
        let is_short = talk.connection.incoming.has_rest(talk.tick);
        talk.connection.known.note(&self.statement, described, is_short);
        if is_short {
            let result = talk.rows(&self, styled, tell);
            return talk.outcome(result).map(Begun::Ended);
        }
        Ok(Begun::Open(Box::new(move |connection, tick, tell| {
            let mut talk = Talk { connection, tick, synced: true };
            let result = talk.rows(&self, styled, tell);
            talk.outcome(result)
        })))
    }

    /// As [`Reading::begin`], for the first statement of a connection: the question for the extension is sent together
    /// with a description. If the server has the extension, the statement does not run, and `load` is set to the
    /// statement that loads it.
    ///
    /// # Errors
    /// The connection is lost.
    pub(in crate::postgres) fn begin_first(
        self,
        connection: &mut ServerConnection,
        tick: Tick<'_>,
        load: &mut Option<String>,
        tell: &mut dyn FnMut(RowPart),
    ) -> Result<Begun<ServerConnection, RowPart>, Error> {
        connection.incoming.set_patience(Some(POLL))?;
        let mut talk = Talk { connection, tick, synced: false };
        let described = match talk.described_first(&self.statement, load) {
            Ok(described) => described,
            Err(error) => return talk.outcome(Err(error)).map(Begun::Ended),
        };
        if load.is_some() {
            return Ok(Begun::Ended(Ok(None)));
        }
        connection.server.delivery = Some(Delivery::Stock);
        if let Some(described) = described {
            // The statement is described again when it runs, because its transaction must hold the locks from then on.
            connection.known.note(&self.statement, described, false);
        }
        self.begin(connection, tick, tell)
    }
}

type RowPart = Part<ColumnDescription, Bytes>;

/// A statement that was sent.
enum Running {
    /// Its rows are the next messages, after the answers to statements of this client if `styled`.
    Rows { styled: bool, described: Vec<ResultColumn> },
    /// It had no columns and has ended, with this number of affected rows.
    Ended(Option<u64>),
}

impl Talk<'_> {
    /// Finds the columns, passes them on, and sends the statement.
    fn columns(&mut self, reading: &Reading, tell: &mut dyn FnMut(RowPart)) -> Result<Running, AnswerError> {
        let Reading { statement, options, wanted, .. } = reading;
        self.agree_on_encoding()?;
        if let Some((known, columns)) = self.connection.known.take(statement, options) {
            return self.at_once(reading, known, columns, tell);
        }
        let (_, Some(described)) = self.describe(&statement.sql, &statement.types())? else {
            if *wanted == Wanted::Any {
                return self.effect(&statement.values).map(Running::Ended);
            }
            return Err(AnswerError::Refused(Error::no_rows()));
        };
        let catalog = if kind::needs_catalog(&described, options) { self.ask(&described)? } else { Catalog::default() };
        let columns = kind::columns(&described, &catalog, options).map_err(AnswerError::Refused)?;
        let formats: Vec<_> = columns.iter().map(|column| column.format).collect();
        tell(Part::Columns(columns));
        let styled = self.run(&statement.values, &formats, &catalog)?;
        Ok(Running::Rows { styled, described })
    }

    /// Asks for the extension and describes a statement in one round trip. If `load` is set, the description is void.
    ///
    /// Both requests end with a message that ReadyForQuery answers. PgBouncer counts these answers; after a Flush it would
    /// take the backend away with the first one.
    fn described_first(
        &mut self,
        statement: &BoundStatement,
        load: &mut Option<String>,
    ) -> Result<Option<Vec<ResultColumn>>, AnswerError> {
        let parsed = MessageBatch::default().parse(USERS, &statement.sql, &statement.types());
        let batch = parsed.map_err(AnswerError::Refused)?.describe(USERS).sync();
        self.synced = true;
        self.connection.send(&[delivery::question()?, batch].concat())?;
        *load = delivery::found(self.connection, self.tick)?.map_err(AnswerError::Refused)?;
        let described = match self.described() {
            Ok((_, described)) => described,
            Err(AnswerError::Refused(_)) if load.is_some() => None,
            Err(error) => return Err(error),
        };
        self.settle()?;
        Ok(described)
    }

    /// Describes and runs a statement in one round trip, because its columns are expected to be those of last time.
    fn at_once(
        &mut self,
        reading: &Reading,
        known: KnownStatement,
        columns: Vec<ColumnDescription>,
        tell: &mut dyn FnMut(RowPart),
    ) -> Result<Running, AnswerError> {
        let BoundStatement { sql, values } = &reading.statement;
        let parsed = MessageBatch::default().parse(USERS, sql, &reading.statement.types());
        let mut batch = parsed.map_err(AnswerError::Refused)?.describe(USERS);
        if !known.is_short {
            // The description then arrives before the rows.
            batch = batch.and_flush();
        }
        self.synced = true;
        // One form for all columns, whatever their number.
        self.connection.send(&batch.run(USERS, values, &[ValueFormat::Binary]).sync())?;
        let (_, described) = self.described()?;
        let described = described.ok_or_else(|| AnswerError::Refused(changed()))?;
        let columns = if described == known.columns {
            columns
        } else {
            known::in_binary(&described, &reading.options).ok_or_else(|| AnswerError::Refused(changed()))?
        };
        tell(Part::Columns(columns));
        Ok(Running::Rows { styled: false, described })
    }

    /// Receives the rows of a statement that was sent. Returns their number.
    fn rows(
        &mut self,
        reading: &Reading,
        styled: bool,
        tell: &mut dyn FnMut(RowPart),
    ) -> Result<Option<u64>, AnswerError> {
        if styled {
            self.own_rows()?;
        }
        match self.message()? {
            (b'2', _) => {}
            (kind, _) => return Err(unexpected(kind)),
        }
        loop {
            if self.connection.incoming.peek(self.tick)? == b'D' {
                let sink = &mut |bytes| tell(Part::Rows(bytes));
                self.connection.incoming.rows(&reading.pool, reading.options.max_message_bytes, self.tick, sink)?;
                continue;
            }
            let (kind, body) = self.message()?;
            if kind != b'C' {
                return Err(unexpected(kind));
            }
            let tag = MessageReader(&body).text()?.into_owned();
            let rows = message::rows_of_tag(&tag);
            if rows.is_none() && COUNTED.iter().any(|word| tag.starts_with(word)) {
                return Err(AnswerError::Lost(protocol(format!("a tag {tag:?}"))));
            }
            self.settle()?;
            return Ok(rows);
        }
    }
}

/// The error of a statement whose new columns cannot be read in the form in which they were requested.
fn changed() -> Error {
    let message = "the columns of this statement have changed since it ran before, so this result cannot be read";
    Error::new(ErrorKind::Database, message)
        .with_sqlstate("0A000")
        .with_hint("the statement has run; if it has no effects, run it again")
}
