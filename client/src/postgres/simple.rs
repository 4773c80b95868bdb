//! The receiving thread's side of a simple query.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY>

use bytes::Bytes;
use colonnade_wire::{HEADER_LEN, RequestedSize};

use super::ask::TextPart;
use super::delivery::is_unknown_format;
use super::extended::{row_description, text_row};
use super::incoming::{check_size, too_large};
use super::message::{self, MessageReader, protocol, shown};
use super::server_connection::ServerConnection;
use crate::feed::POLL;
use crate::inbox::{AnswerSize, no_memory};
use crate::shared_connection::{AnswerOutcome, Tick};
use crate::{Error, Pool};

/// What happens to an answer.
pub(crate) enum Job<'a> {
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

/// Sends a Query message and receives its answer up to ReadyForQuery.
///
/// If the backend does not know the format, `again` is sent instead. It begins with another statement.
pub(crate) fn answer(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    job: Job<'_>,
    query: &[u8],
    again: Option<&[u8]>,
) -> AnswerOutcome {
    let mut answer = Answer { connection, tick, job, preceded: false, copied: false };
    match (answer.read(query), again) {
        // In a transaction block nothing can be repeated after an error.
        (Ok(Err(error)), Some(again)) if !answer.copied && answer.connection.is_idle() && is_unknown_format(&error) => {
            answer.preceded = true;
            answer.read(again)
        }
        (Ok(Err(error)), Some(_)) if is_unknown_format(&error) => Ok(Err(error.with_hint(
            "a pooler has brought a backend in which the extension is not loaded, and within a transaction it \
             cannot be: let every backend load it (session_preload_libraries = 'colonnade')",
        ))),
        (first, _) => first,
    }
}

struct Answer<'a, 'j> {
    connection: &'a mut ServerConnection,
    tick: Tick<'a>,
    job: Job<'j>,
    /// Whether rows of another statement come before the COPY.
    preceded: bool,
    /// Whether the server has begun to copy.
    copied: bool,
}

impl Answer<'_, '_> {
    fn read(&mut self, query: &[u8]) -> AnswerOutcome {
        let mut failed = None;
        let read = self.connection.incoming.set_patience(Some(POLL)).and_then(|()| self.connection.send(query));
        match read.and_then(|()| self.messages(&mut failed)) {
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
                (b'd', Job::Copy { pool, asked, limit, tell }) if copying => {
                    check_size(len, *limit)?;
                    if len >= HEADER_LEN && !asked.allows(&connection.incoming.ahead(tick)?, len as u64) {
                        return Err(too_large(len, asked.bytes));
                    }
                    let mut buffer = pool.take(len).ok_or_else(|| no_memory(len))?;
                    connection.incoming.body_into(&mut buffer, tick)?;
                    tell(buffer.freeze());
                }
                (b'd', Job::Execute) if copying => connection.incoming.skip(len, tick)?,
                (b'D' | b'T' | b'I', Job::Execute) => connection.incoming.skip(len, tick)?,
                (b'T', Job::Ask(tell)) => {
                    let body = connection.incoming.body(kind, len, tick)?;
                    tell(TextPart::Columns(row_description(&body)?));
                }
                (b'D', Job::Ask(tell)) => {
                    let body = connection.incoming.body(kind, len, tick)?;
                    kept.add(body.len())?;
                    tell(TextPart::Row(text_row(&body)?));
                }
                (b'D' | b'T', Job::Copy { .. }) if *preceded && !*copied => connection.incoming.skip(len, tick)?,
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
                (b'G', Job::Execute) if !copying => {
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
