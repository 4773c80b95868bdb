//! Reads the rows of a statement: in two round trips, or in one if this connection has described the statement before.

use bytes::Bytes;

use super::answer::{Talk, USERS, unexpected};
use super::column::BYTES;
use super::kind::{self, ColumnDescription};
use super::known::{self, KnownStatement};
use crate::feed::POLL;
use crate::postgres::delivery::{self, Delivery};
use crate::postgres::extended::{MessageBatch, ResultColumn, ValueFormat, bound_description};
use crate::postgres::message::{self, MessageReader};
use crate::postgres::parameters::BoundStatement;
use crate::postgres::request::ResultMode;
use crate::postgres::server_connection::ServerConnection;
use crate::rows::Part;
use crate::shared_connection::{AnswerError, Started, Tick};
use crate::{Error, ErrorKind, Pool, QueryOptions};

/// A statement of the user whose rows are read.
pub(in crate::postgres) struct Reading {
    pub(in crate::postgres) statement: BoundStatement,
    pub(in crate::postgres) options: QueryOptions,
    pub(in crate::postgres) wanted: ResultMode,
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
    ) -> Result<Started<ServerConnection, RowPart>, Error> {
        connection.incoming.set_patience(Some(POLL));
        let mut talk = Talk { connection, tick, synced: false };
        let (described, expected) = match talk.columns(&self, tell) {
            Ok(Running::Rows { described, expected }) => (described, expected),
            Ok(Running::Ended(rows)) => return Ok(Started::Ended(Ok(rows))),
            Err(error) => return talk.outcome(Err(error)).map(|outcome| self.refused(outcome)),
        };
        let is_short = talk.connection.incoming.has_rest(talk.tick);
        talk.connection.known.note(&self.statement, described, is_short);
        if is_short {
            let result = talk.rows(&self, expected, tell);
            return talk.outcome(result).map(|outcome| Started::Ended(outcome.map_err(explained)));
        }
        Ok(Started::Open(Box::new(move |connection, tick, tell| {
            let mut talk = Talk { connection, tick, synced: true };
            let result = talk.rows(&self, expected, tell);
            talk.outcome(result).map(|outcome| outcome.map_err(explained))
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
    ) -> Result<Started<ServerConnection, RowPart>, Error> {
        connection.incoming.set_patience(Some(POLL));
        let mut talk = Talk { connection, tick, synced: false };
        let described = match talk.described_first(&self.statement, load) {
            Ok(described) => described,
            Err(error) => return talk.outcome(Err(error)).map(|outcome| self.refused(outcome)),
        };
        if load.is_some() {
            return Ok(Started::Ended(Ok(None)));
        }
        connection.server.delivery = Some(Delivery::Stock);
        if let Some(described) = described {
            // The statement is described again when it runs, because its transaction must hold the locks from then on.
            connection.known.note(&self.statement, described, false);
        }
        self.begin(connection, tick, tell)
    }

    fn refused<T>(&self, outcome: Result<Option<u64>, Error>) -> Started<ServerConnection, T> {
        Started::Ended(outcome.map_err(|error| error.with_sent(&self.statement.sql)))
    }
}

/// The server's error for a value that it cannot send, with what to do.
fn explained(error: Error) -> Error {
    let is_no_text = error.sqlstate() == Some("22021") && error.hint().is_none();
    if is_no_text { error.with_hint(BYTES) } else { error }
}

type RowPart = Part<ColumnDescription, Bytes>;

/// A statement that was sent.
enum Running {
    /// Its rows come next. Before them, the server says what it sends, if that must still be compared with what is
    /// expected.
    Rows { described: Vec<ResultColumn>, expected: Option<Expected> },
    /// It had no columns and has ended, with this number of affected rows.
    Ended(Option<u64>),
}

/// What the server sends, or should.
struct Expected {
    columns: Vec<ResultColumn>,
    formats: Vec<ValueFormat>,
}

impl Expected {
    /// Checks that the server sends what was requested.
    ///
    /// # Errors
    /// It does not, and the values could not be told from others.
    fn check(&self, sent: &Self) -> Result<(), Error> {
        let types = |columns: &[ResultColumn]| columns.iter().map(|column| column.type_oid).collect::<Vec<_>>();
        if types(&self.columns) != types(&sent.columns) {
            return Err(changed());
        }
        sent.check_formats(self.formats.iter().copied())
    }

    /// Checks that the values have the formats in which they were requested.
    ///
    /// # Errors
    /// As for [`Expected::check`].
    fn check_formats(&self, wanted: impl Iterator<Item = ValueFormat>) -> Result<(), Error> {
        for ((column, sent), wanted) in self.columns.iter().zip(&self.formats).zip(wanted) {
            if wanted != *sent && !kind::has_one_form(column.type_oid) {
                let (name, [sent, wanted]) = (&column.name, [*sent, wanted].map(ValueFormat::name));
                let message = format!("column \"{name}\": the server sends {sent} although {wanted} was requested");
                return Err(Error::new(ErrorKind::Unsupported, message).with_hint(
                    "this server does not speak PostgreSQL's protocol as PostgreSQL does; cast the column to text",
                ));
            }
        }
        Ok(())
    }
}

impl Talk<'_> {
    /// Finds the columns, passes them on, and sends the statement.
    fn columns(&mut self, reading: &Reading, tell: &mut dyn FnMut(RowPart)) -> Result<Running, AnswerError> {
        let Reading { statement, options, wanted, .. } = reading;
        self.agree_on_encoding()?;
        // Not all columns are requested in binary from a server with other times.
        let known = (!self.connection.server.has_float_times).then(|| self.connection.known.take(statement, options));
        if let Some((known, columns)) = known.flatten() {
            return self.at_once(reading, known, columns, tell);
        }
        let (_, Some(described)) = self.describe(&statement.sql, &statement.types())? else {
            if *wanted == ResultMode::Any {
                return self.effect(&statement.values).map(Running::Ended);
            }
            return Err(AnswerError::Refused(Error::no_rows()));
        };
        let columns = self.in_arrow(&described, options)?;
        let formats: Vec<_> = columns.iter().map(|column| column.format).collect();
        tell(Part::Columns(columns));
        self.synced = true;
        let batch = MessageBatch::default().bind(USERS, &statement.values, &formats).describe_bound();
        self.connection.send(&batch.execute().sync())?;
        let expected = Some(Expected { columns: described.clone(), formats });
        Ok(Running::Rows { described, expected })
    }

    /// Asks for the extension and describes a statement in one round trip. If `load` is set, the description is void.
    ///
    /// Both requests end with a message that ReadyForQuery answers. PgBouncer counts these answers; after a Flush it
    /// would take the backend away with the first one.
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
        self.read_until_ready()?;
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
        // One form for all columns, whatever their number.
        let batch = parsed.map_err(AnswerError::Refused)?.bind(USERS, values, &[ValueFormat::Binary]);
        let mut batch = batch.describe_bound();
        if !known.is_short {
            // The description then arrives before the rows.
            batch = batch.and_flush();
        }
        self.synced = true;
        self.connection.send(&batch.execute().sync())?;
        let sent = self.bound()?.ok_or_else(|| AnswerError::Refused(changed()))?;
        let columns = if sent.columns == known.columns {
            columns
        } else {
            known::in_binary(&sent.columns, &reading.options).ok_or_else(|| AnswerError::Refused(changed()))?
        };
        sent.check_formats(std::iter::repeat(ValueFormat::Binary)).map_err(AnswerError::Refused)?;
        tell(Part::Columns(columns));
        Ok(Running::Rows { described: sent.columns, expected: None })
    }

    /// Receives the answers to Bind, to Parse before it, and to Describe; `None` if the statement returns no rows.
    fn bound(&mut self) -> Result<Option<Expected>, AnswerError> {
        loop {
            let (kind, body) = self.message()?;
            match kind {
                b'1' | b'2' => {}
                b'T' => {
                    let (columns, formats) = bound_description(&body)?;
                    return Ok(Some(Expected { columns, formats }));
                }
                b'n' => return Ok(None),
                _ => return Err(unexpected(kind)),
            }
        }
    }

    /// Receives the rows of a statement that was sent. Returns their number.
    fn rows(
        &mut self,
        reading: &Reading,
        expected: Option<Expected>,
        tell: &mut dyn FnMut(RowPart),
    ) -> Result<Option<u64>, AnswerError> {
        if let Some(expected) = expected {
            let sent = self.bound()?.ok_or_else(|| AnswerError::Refused(changed()))?;
            expected.check(&sent).map_err(AnswerError::Refused)?;
        }
        loop {
            if self.kind()? == b'D' {
                let sink = &mut |bytes| tell(Part::Rows(bytes));
                self.connection.incoming.rows(&reading.pool, reading.options.max_message_bytes, self.tick, sink)?;
                continue;
            }
            let (kind, body) = self.message()?;
            if kind != b'C' {
                return Err(unexpected(kind));
            }
            // Some servers that imitate PostgreSQL give no number.
            let rows = message::rows_of_tag(&MessageReader(&body).text()?);
            self.read_until_ready()?;
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
