//! Sends a simple query and receives its answer.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY>

use bytes::Bytes;
use colonnade_wire::{HEADER_LEN, RequestedSize};

use super::delivery::{Delivery, is_unknown_format, value};
use super::extended::{ResultColumn, ValueFormat, bound_description, text_row};
use super::incoming::{check_size, too_large};
use super::message::{self, MessageReader, protocol, shown};
use super::server_connection::ServerConnection;
use crate::feed::POLL;
use crate::inbox::{AnswerSize, no_memory};
use crate::shared_connection::{AnswerOutcome, Started, Tick};
use crate::{Error, Pool};

/// A part of an answer in text.
pub(crate) enum TextPart {
    Columns(Vec<ResultColumn>),
    /// `None` is NULL.
    Row(Vec<Option<String>>),
}

/// What happens to an answer.
pub(crate) enum AnswerMode<'a> {
    /// Passes on the messages of a stream.
    Copy {
        pool: &'a Pool,
        /// The requested size of chunks.
        asked: RequestedSize,
        /// The most bytes of a message.
        limit: u64,
        tell: &'a mut dyn FnMut(Bytes),
    },
    /// Skips all rows.
    Execute,
    /// Passes on rows as text.
    Ask(&'a mut dyn FnMut(TextPart)),
}

fn send(connection: &mut ServerConnection, query: &[u8]) -> Result<(), Error> {
    connection.incoming.set_patience(Some(POLL));
    connection.send(query)
}

/// Sends a Query message and receives its answer up to ReadyForQuery.
pub(crate) fn answer(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    job: AnswerMode<'_>,
    query: &[u8],
) -> AnswerOutcome {
    send(connection, query)?;
    Answer { connection, tick, job, preceded: false, copied: false }.read()
}

/// A COPY that sends streams.
pub(crate) struct Copying {
    pub(crate) query: Vec<u8>,
    /// The same after a statement that loads the extension. It is sent if the backend does not know the format: a
    /// pooler gives each transaction a backend, in which the extension may not be loaded.
    pub(crate) again: Option<Vec<u8>>,
    pub(crate) pool: Pool,
    /// The requested size of chunks.
    pub(crate) asked: RequestedSize,
    /// The most bytes of a message.
    pub(crate) limit: u64,
}

impl Copying {
    /// Sends the COPY and waits for the beginning of its answer. Receives a short answer to its end.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn begin(
        self,
        connection: &mut ServerConnection,
        tick: Tick<'_>,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Started<ServerConnection, Bytes>, Error> {
        // Within a transaction, nothing could be sent again after an error. So its first COPY loads the extension.
        let loading = self.again.as_ref().filter(|_| !connection.is_idle() && !connection.is_extended);
        send(connection, loading.unwrap_or(&self.query))?;
        let preceded = loading.is_some();
        self.begin_answer(connection, preceded, tick, tell)
    }

    /// As [`Copying::begin`], for the first statement of a connection whose server probably has the extension: `load`,
    /// which loads it, is sent together with the COPY. `delivery` is set if it has loaded the extension. Otherwise the
    /// COPY has not run.
    ///
    /// # Errors
    /// The connection is lost, or the extension is too old.
    pub(crate) fn begin_first(
        self,
        connection: &mut ServerConnection,
        tick: Tick<'_>,
        load: String,
        delivery: &mut Option<Delivery>,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Started<ServerConnection, Bytes>, Error> {
        send(connection, &[message::query(&load)?.as_slice(), &self.query].concat())?;
        let Ok(version) = value(connection, tick)? else {
            // Without the extension the COPY fails too.
            let _ = Answer { connection, tick, job: AnswerMode::Execute, preceded: false, copied: false }.read()?;
            return Ok(Started::Ended(Ok(None)));
        };
        let loaded = Delivery::loaded(load, version).check()?;
        connection.server.delivery = Some(loaded.clone());
        *delivery = Some(loaded);
        self.begin_answer(connection, false, tick, tell)
    }

    /// `preceded` says whether rows of another statement come before the COPY.
    fn begin_answer(
        self,
        connection: &mut ServerConnection,
        preceded: bool,
        tick: Tick<'_>,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Started<ServerConnection, Bytes>, Error> {
        connection.incoming.peek(tick)?;
        if !connection.incoming.has_rest(tick) {
            return Ok(Started::Open(Box::new(move |connection, tick, tell| {
                match self.receive(connection, preceded, tick, tell) {
                    None => self.repeat(connection, tick, tell),
                    Some(outcome) => outcome,
                }
            })));
        }
        match self.receive(connection, preceded, tick, tell) {
            None => Ok(Started::Open(Box::new(move |connection, tick, tell| self.repeat(connection, tick, tell)))),
            Some(outcome) => outcome.map(Started::Ended),
        }
    }

    /// Receives the answer up to ReadyForQuery. `None` means that the backend does not know the format, and that the
    /// COPY can be sent again: no data has come, and no transaction has failed.
    fn receive(
        &self,
        connection: &mut ServerConnection,
        preceded: bool,
        tick: Tick<'_>,
        tell: &mut dyn FnMut(Bytes),
    ) -> Option<AnswerOutcome> {
        let mut answer = Answer { connection, tick, job: self.job(tell), preceded, copied: false };
        let outcome = answer.read();
        answer.connection.is_extended |= answer.copied && !answer.connection.is_idle();
        let can_repeat = self.again.is_some() && !preceded && !answer.copied && answer.connection.is_idle();
        match outcome {
            Ok(Err(error)) if can_repeat && is_unknown_format(&error) => None,
            outcome => Some(outcome),
        }
    }

    fn repeat(&self, connection: &mut ServerConnection, tick: Tick<'_>, tell: &mut dyn FnMut(Bytes)) -> AnswerOutcome {
        send(connection, self.again.as_deref().unwrap_or(&self.query))?;
        Answer { connection, tick, job: self.job(tell), preceded: true, copied: false }.read()
    }

    fn job<'a>(&'a self, tell: &'a mut dyn FnMut(Bytes)) -> AnswerMode<'a> {
        AnswerMode::Copy { pool: &self.pool, asked: self.asked, limit: self.limit, tell }
    }
}

struct Answer<'a, 'j> {
    connection: &'a mut ServerConnection,
    tick: Tick<'a>,
    job: AnswerMode<'j>,
    /// Whether rows of another statement come before the COPY.
    preceded: bool,
    /// Whether the server has begun to copy.
    copied: bool,
}

impl Answer<'_, '_> {
    fn read(&mut self) -> AnswerOutcome {
        let mut failed = None;
        match self.messages(&mut failed) {
            Ok(rows) => Ok(failed.map_or(Ok(rows), Err)),
            // A fatal error is the last message: then the connection has ended, and the error gives the reason.
            Err(error) => Err(failed.unwrap_or(error)),
        }
    }

    fn messages(&mut self, failed: &mut Option<Error>) -> Result<Option<u64>, Error> {
        let Self { connection, tick, job, preceded, copied } = self;
        let (mut rows, mut copying, mut kept) = (None, false, AnswerSize::default());
        loop {
            let (kind, len) = connection.incoming.header(tick)?;
            match (kind, &mut *job) {
                (b'd', AnswerMode::Copy { pool, asked, limit, tell }) if copying => {
                    check_size(len, *limit)?;
                    if len >= HEADER_LEN && !asked.allows(&connection.incoming.ahead(tick)?, len as u64) {
                        return Err(too_large(len, asked.bytes));
                    }
                    let mut buffer = pool.take(len).ok_or_else(|| no_memory(len))?;
                    connection.incoming.body_into(&mut buffer, tick)?;
                    tell(buffer.freeze());
                }
                (b'd', AnswerMode::Execute) if copying => connection.incoming.skip(len, tick)?,
                (b'D' | b'T' | b'I', AnswerMode::Execute) => connection.incoming.skip(len, tick)?,
                (b'T', AnswerMode::Ask(tell)) => {
                    let body = connection.incoming.body(kind, len, tick)?;
                    let (columns, formats) = bound_description(&body)?;
                    if formats.contains(&ValueFormat::Binary) {
                        return Err(protocol("a column in binary, where all are in text"));
                    }
                    tell(TextPart::Columns(columns));
                }
                (b'D', AnswerMode::Ask(tell)) => {
                    let body = connection.incoming.body(kind, len, tick)?;
                    kept.add(body.len())?;
                    tell(TextPart::Row(text_row(&body)?));
                }
                (b'D' | b'T', AnswerMode::Copy { .. }) if *preceded && !*copied => {
                    connection.incoming.skip(len, tick)?
                }
                (b'H', _) if !copying => {
                    // PostgreSQL announces the extension's stream as text. PROTOCOL §3.
                    connection.incoming.skip(len, tick)?;
                    copying = true;
                    *copied = true;
                }
                (b'c', _) if copying => {
                    connection.incoming.skip(len, tick)?;
                    copying = false;
                }
                (b'G', AnswerMode::Execute) if !copying => {
                    connection.incoming.skip(len, tick)?;
                    connection.send(&message::copy_fail("this client cannot copy into a table"))?;
                }
                (b'C', _) if !copying => {
                    let body = connection.incoming.body(kind, len, tick)?;
                    rows = message::rows_of_tag(&MessageReader(&body).text()?);
                }
                (b'E', _) => {
                    let body = connection.incoming.body(kind, len, tick)?;
                    // The first of several errors is reported.
                    failed.get_or_insert(message::error_response(&body));
                    copying = false;
                }
                (b'S', _) => {
                    let body = connection.incoming.body(kind, len, tick)?;
                    connection.server.note(&body)?;
                }
                // Notices and notifications.
                (b'N' | b'A', _) => connection.incoming.skip(len, tick)?,
                (b'Z', _) if !copying => {
                    let body = connection.incoming.body(kind, len, tick)?;
                    connection.note_status(MessageReader(&body).byte()?);
                    return Ok(rows);
                }
                _ => return Err(protocol(format!("a message {}", shown(kind)))),
            }
        }
    }
}
