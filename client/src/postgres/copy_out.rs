//! Receiving the answer to a COPY on one thread, decoding it on another.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY>

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Instant;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use colonnade_wire::{Decoder, Limits, Message};

use super::binary;
use super::connection::{Control, Shared};
use super::delivery::is_unknown_format;
use super::extended::{ResultColumn, row_description, text_row};
use super::link::Link;
use super::message::{self, Body, HEADER, protocol, shown};
use super::reader::{Reader, stop};
use crate::batch::damaged;
use crate::feed::{self, Nothing, POLL};
use crate::session::{DRAIN_LIMIT, Tick, died};
use crate::{Batch, Error, ErrorKind, Keep, QueryOptions, ResultStream, Stats};

/// What the receiving thread does with an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    /// Passes a stream's messages on.
    Copy {
        /// Bytes of a message at most, if not the format's own limit.
        limit: Option<u64>,
    },
    /// Passes over all rows.
    Execute,
    /// Passes rows on as texts.
    Ask,
}

/// What the receiving thread sends.
pub(crate) enum Statement {
    /// A Query message.
    Simple {
        job: Job,
        query: Vec<u8>,
        /// The one to send if the backend turns out not to know the format: another statement comes first in it.
        again: Option<Vec<u8>>,
    },
    /// A statement whose rows come in PostgreSQL's own form.
    Rows { sql: String, options: QueryOptions },
}

/// What the receiving thread tells.
pub(crate) enum Event {
    /// One message of the stream, or some rows in PostgreSQL's own form.
    Message(Bytes),
    /// The columns of such rows, which come first.
    Columns(Vec<binary::Column>),
    /// The columns of rows that come as texts.
    Described(Vec<ResultColumn>),
    /// Such a row.
    Texts(Vec<Option<String>>),
    /// The connection is free again, or gone.
    Finished(Result<Finished, Error>),
}

/// How an answer without an error ended.
pub(crate) struct Finished {
    pub(crate) rows: Option<u64>,
    pub(crate) received: u64,
}

/// What an answer came to: the rows that its tag counts. The outer error ends the connection; the inner one leaves it
/// usable.
pub(crate) type Outcome = Result<Result<Option<u64>, Error>, Error>;

/// Sends the query and receives its answer up to ReadyForQuery. The thread's whole life.
pub(crate) fn receive(
    shared: &Shared,
    mut link: Link,
    number: u64,
    stop: &AtomicBool,
    statement: &Statement,
    events: &SyncSender<Event>,
) {
    let mut deadline = None;
    let mut tick = || {
        if !stop.load(Ordering::Acquire) {
            return Ok(());
        }
        match deadline {
            None => {
                deadline = Some(Instant::now() + DRAIN_LIMIT);
                // If the request cannot be delivered, reading on is all that is left, up to the deadline.
                let _ = shared.cancel_running(Some(number));
                Ok(())
            }
            Some(deadline) if Instant::now() < deadline => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::ConnectionLost, "the server did not stop a cancelled query")),
        }
    };
    let before = link.incoming.received();
    let answer = match statement {
        Statement::Simple { job, query, again } => {
            let answer = Answer { shared, job: *job, stop, preceded: false, copied: false, events };
            answer.simple(&mut link, query, again.as_deref(), &mut tick)
        }
        Statement::Rows { sql, options } => {
            binary::answer(&mut link, &shared.pool, &mut tick, sql, options, &mut |event| tell(events, stop, event))
        }
    };
    let received = link.incoming.received() - before;
    let (link, outcome) = match answer {
        Ok(outcome) => (Some(link), outcome),
        Err(error) => (None, Err(error)),
    };
    shared.give_back(link);
    let finished = outcome.map(|rows| Finished { rows, received }).map_err(|error| error.with_origin(&shared.name));
    // A reader that is gone needs no news.
    let _ = events.send(Event::Finished(finished));
}

/// Tells the reader, unless it has lost interest.
fn tell(events: &SyncSender<Event>, stop: &AtomicBool, event: Event) {
    if !stop.load(Ordering::Acquire) && events.send(event).is_err() {
        stop.store(true, Ordering::Release);
    }
}

struct Answer<'a> {
    shared: &'a Shared,
    job: Job,
    stop: &'a AtomicBool,
    /// Whether another statement's rows come before the COPY.
    preceded: bool,
    /// Whether the server has begun to copy.
    copied: bool,
    events: &'a SyncSender<Event>,
}

impl Answer<'_> {
    fn simple(mut self, link: &mut Link, query: &[u8], again: Option<&[u8]>, tick: Tick<'_>) -> Outcome {
        match (self.read(link, query, tick), again) {
            // In a transaction block nothing can be tried again.
            (Ok(Err(error)), Some(again)) if !self.copied && link.idle && is_unknown_format(&error) => {
                self.preceded = true;
                self.read(link, again, tick)
            }
            (Ok(Err(error)), Some(_)) if is_unknown_format(&error) => Ok(Err(error.with_hint(
                "a pooler has brought a backend in which the extension is not loaded, and within a transaction it \
                 cannot be: let every backend load it (session_preload_libraries = 'colonnade')",
            ))),
            (first, _) => first,
        }
    }

    fn read(&mut self, link: &mut Link, query: &[u8], tick: Tick<'_>) -> Outcome {
        let mut failed = None;
        let read = link.incoming.set_patience(Some(POLL)).and_then(|()| link.send(query));
        match read.and_then(|()| self.messages(link, &mut failed, tick)) {
            Ok(rows) => Ok(failed.map_or(Ok(rows), Err)),
            // A fatal error is the last message; why the connection then ended is the error's business.
            Err(error) => Err(failed.unwrap_or(error)),
        }
    }

    fn messages(&mut self, link: &mut Link, failed: &mut Option<Error>, tick: Tick<'_>) -> Result<Option<u64>, Error> {
        let (mut rows, mut copying) = (None, false);
        loop {
            let (kind, len) = link.incoming.header(tick)?;
            match (kind, self.job) {
                (b'd', Job::Copy { limit }) if copying => self.chunk(link, len, limit, tick)?,
                (b'd', Job::Execute) if copying => link.incoming.skip(len, tick)?,
                (b'D' | b'T' | b'I', Job::Execute) => link.incoming.skip(len, tick)?,
                (b'T', Job::Ask) => {
                    let body = link.incoming.body(kind, len, tick)?;
                    tell(self.events, self.stop, Event::Described(row_description(&body)?));
                }
                (b'D', Job::Ask) => {
                    let body = link.incoming.body(kind, len, tick)?;
                    tell(self.events, self.stop, Event::Texts(text_row(&body)?));
                }
                (b'D' | b'T', Job::Copy { .. }) if self.preceded && !self.copied => link.incoming.skip(len, tick)?,
                (b'H', _) if !copying => {
                    // PostgreSQL's own COPY announces the extension's stream, as text. PROTOCOL §3.
                    link.incoming.skip(len, tick)?;
                    copying = true;
                    self.copied = true;
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
                    link.idle = Body(&body).byte()? == b'I';
                    return Ok(rows);
                }
                _ => return Err(protocol(format!("a message {}", shown(kind)))),
            }
        }
    }

    fn chunk(&mut self, link: &mut Link, len: usize, limit: Option<u64>, tick: Tick<'_>) -> Result<(), Error> {
        if self.stop.load(Ordering::Acquire) {
            return link.incoming.skip(len, tick);
        }
        check_size(len, limit)?;
        let mut buffer = self.shared.pool.take(len).ok_or_else(|| no_memory(len))?;
        link.incoming.body_into(&mut buffer, tick)?;
        tell(self.events, self.stop, Event::Message(buffer.freeze()));
        Ok(())
    }
}

/// # Errors
/// A message of this length is more than the limit, or the format's own limit, allows.
pub(crate) fn check_size(len: usize, limit: Option<u64>) -> Result<(), Error> {
    let limit = limit.unwrap_or(Limits::default().message_bytes);
    if len as u64 <= limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Protocol, format!("a message of {len} bytes is above the limit of {limit}"))
        .with_hint("raise max_message_bytes, or ask for smaller chunks"))
}

pub(crate) fn no_memory(len: usize) -> Error {
    Error::new(ErrorKind::Unavailable, format!("no memory for a message of {len} bytes"))
}

/// The reader's side of a COPY.
pub(crate) struct CopyOut {
    reader: Reader,
    decoder: Decoder,
    schema: SchemaRef,
}

impl CopyOut {
    /// Waits for the schema message.
    pub(crate) fn open(reader: Reader, limit: Option<u64>, keep: Keep<'_>) -> Result<Self, Error> {
        let mut limits = Limits::default();
        limits.message_bytes = limit.unwrap_or(limits.message_bytes);
        let schema = SchemaRef::new(arrow_schema::Schema::empty());
        let mut copy = Self { reader, decoder: Decoder::new(limits), schema };
        match copy.message(keep)? {
            Some((Message::Schema(schema), _)) => {
                copy.reader.meter.schema(schema.fields.len());
                copy.schema = Arc::new(colonnade_wire::arrow::schema_to_arrow(&schema));
                Ok(copy)
            }
            _ => Err(copy.reader.refuse(damaged(colonnade_wire::Damage::Truncated.into()))),
        }
    }

    /// Waits for the end of a statement whose rows do not matter.
    pub(crate) fn run(
        shared: &Shared,
        control: &Control,
        events: &Receiver<Event>,
        keep: Keep<'_>,
    ) -> Result<Option<u64>, Error> {
        match feed::receive(events, keep) {
            Ok(Event::Finished(finished)) => finished.map(|finished| finished.rows),
            Ok(_) | Err(Nothing::Gone) => Err(died().with_origin(&shared.name)),
            Err(Nothing::Interrupted) => Err(stop(shared, control, events)),
        }
    }

    /// The next message and the addresses of its bytes; `None` at the checked end.
    fn message(&mut self, keep: Keep<'_>) -> Result<Option<(Message, Range<usize>)>, Error> {
        match self.reader.next(keep)? {
            Some(Event::Message(bytes)) => {
                self.reader.meter.received((HEADER + bytes.len()) as u64);
                let start = bytes.as_ptr().addr();
                let addresses = start..start + bytes.len();
                match self.decoder.message(bytes) {
                    Ok(message) => Ok(Some((message, addresses))),
                    Err(error) => Err(self.reader.refuse(damaged(error))),
                }
            }
            Some(Event::Finished(finished)) => {
                let totals = self.decoder.finish().map_err(|error| self.reader.refuse(damaged(error)))?;
                let rows = finished?.rows;
                if rows == Some(totals.rows) {
                    Ok(None)
                } else {
                    Err(self.reader.refuse(miscounted(totals.rows, rows)))
                }
            }
            Some(_) => Err(self.reader.refuse(died())),
            None => Ok(None),
        }
    }
}

/// CommandComplete and the rows must tell the same story.
pub(crate) fn miscounted(read: u64, tag: Option<u64>) -> Error {
    protocol(format!("{read} rows with a tag of {}", tag.map_or("none".to_owned(), |rows| rows.to_string())))
}

impl ResultStream for CopyOut {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: Keep<'_>) -> Result<Option<Batch>, Error> {
        loop {
            match self.message(keep)? {
                None => return Ok(None),
                Some((Message::Chunk(chunk), addresses)) => {
                    self.reader.meter.chunk(&chunk);
                    return Ok(Some(Batch::encoded(self.schema.clone(), chunk, addresses)));
                }
                // The end message; CommandComplete and ReadyForQuery follow.
                Some(_) => {}
            }
        }
    }

    fn stats(&self) -> Stats {
        self.reader.meter.stats()
    }
}
