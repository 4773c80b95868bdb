//! The receiving thread's side of a simple query.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY>

use bytes::Bytes;
use colonnade_wire::{Asked, HEADER_LEN};

use super::ask::Part;
use super::delivery::is_unknown_format;
use super::extended::{row_description, text_row};
use super::incoming::{check_size, too_large};
use super::link::Link;
use super::message::{self, Body, protocol, shown};
use crate::feed::POLL;
use crate::inbox::{Kept, no_memory};
use crate::session::{Outcome, Tick};
use crate::{Error, Pool};

/// What is done with an answer.
pub(crate) enum Job<'a> {
    /// Passes a stream's messages on.
    Copy {
        pool: &'a Pool,
        /// How large chunks were asked for.
        asked: Asked,
        /// Bytes of a message at most.
        limit: u64,
        tell: &'a mut dyn FnMut(Bytes),
    },
    /// Passes over all rows.
    Execute,
    /// Passes rows on as texts.
    Ask(&'a mut dyn FnMut(Part)),
}

/// Sends a Query message and receives its answer up to ReadyForQuery.
///
/// `again` is the one to send if the backend turns out not to know the format: another statement comes first in it.
pub(crate) fn answer(link: &mut Link, tick: Tick<'_>, job: Job<'_>, query: &[u8], again: Option<&[u8]>) -> Outcome {
    let mut answer = Answer { link, tick, job, preceded: false, copied: false };
    match (answer.read(query), again) {
        // In a transaction block nothing can be tried again.
        (Ok(Err(error)), Some(again)) if !answer.copied && answer.link.is_idle() && is_unknown_format(&error) => {
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
    link: &'a mut Link,
    tick: Tick<'a>,
    job: Job<'j>,
    /// Whether another statement's rows come before the COPY.
    preceded: bool,
    /// Whether the server has begun to copy.
    copied: bool,
}

impl Answer<'_, '_> {
    fn read(&mut self, query: &[u8]) -> Outcome {
        let mut failed = None;
        let read = self.link.incoming.set_patience(Some(POLL)).and_then(|()| self.link.send(query));
        match read.and_then(|()| self.messages(&mut failed)) {
            Ok(rows) => Ok(failed.map_or(Ok(rows), Err)),
            // A fatal error is the last message; why the connection then ended is the error's business.
            Err(error) => Err(failed.unwrap_or(error)),
        }
    }

    fn messages(&mut self, failed: &mut Option<Error>) -> Result<Option<u64>, Error> {
        let Self { link, tick, job, preceded, copied } = self;
        let (mut rows, mut copying, mut kept) = (None, false, Kept::default());
        loop {
            let (kind, len) = link.incoming.header(tick)?;
            match (kind, &mut *job) {
                (b'd', Job::Copy { pool, asked, limit, tell }) if copying => {
                    check_size(len, *limit)?;
                    if len >= HEADER_LEN && !asked.allows(&link.incoming.ahead(tick)?, len as u64) {
                        return Err(too_large(len, asked.bytes));
                    }
                    let mut buffer = pool.take(len).ok_or_else(|| no_memory(len))?;
                    link.incoming.body_into(&mut buffer, tick)?;
                    tell(buffer.freeze());
                }
                (b'd', Job::Execute) if copying => link.incoming.skip(len, tick)?,
                (b'D' | b'T' | b'I', Job::Execute) => link.incoming.skip(len, tick)?,
                (b'T', Job::Ask(tell)) => {
                    let body = link.incoming.body(kind, len, tick)?;
                    tell(Part::Columns(row_description(&body)?));
                }
                (b'D', Job::Ask(tell)) => {
                    let body = link.incoming.body(kind, len, tick)?;
                    kept.add(body.len())?;
                    tell(Part::Row(text_row(&body)?));
                }
                (b'D' | b'T', Job::Copy { .. }) if *preceded && !*copied => link.incoming.skip(len, tick)?,
                (b'H', _) if !copying => {
                    // PostgreSQL's own COPY announces the extension's stream, as text. PROTOCOL §3.
                    link.incoming.skip(len, tick)?;
                    copying = true;
                    *copied = true;
                }
                (b'c', _) if copying => {
                    link.incoming.skip(len, tick)?;
                    copying = false;
                }
                (b'G', Job::Execute) if !copying => {
                    link.incoming.skip(len, tick)?;
                    link.send(&message::copy_fail("this client cannot copy into a table"))?;
                }
                (b'C', _) if !copying => {
                    let body = link.incoming.body(kind, len, tick)?;
                    rows = message::rows_of_tag(&Body(&body).text()?);
                }
                (b'E', _) => {
                    let body = link.incoming.body(kind, len, tick)?;
                    // The first of several errors is the one that matters.
                    failed.get_or_insert(message::error_response(&body));
                    copying = false;
                }
                (b'S', _) => {
                    let body = link.incoming.body(kind, len, tick)?;
                    link.server.note(&body)?;
                }
                // Notices and notifications.
                (b'N' | b'A', _) => link.incoming.skip(len, tick)?,
                (b'Z', _) if !copying => {
                    let body = link.incoming.body(kind, len, tick)?;
                    link.note_status(Body(&body).byte()?);
                    return Ok(rows);
                }
                _ => return Err(protocol(format!("a message {}", shown(kind)))),
            }
        }
    }
}
