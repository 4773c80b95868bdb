//! Receiving the answer to a COPY on one thread, decoding it on another.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY>

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use arrow_schema::SchemaRef;
use bytes::Bytes;
use colonnade_wire::{Decoder, Limits, Message, Totals};

use super::connection::{Control, Shared, died, interrupted};
use super::delivery::is_unknown_format;
use super::incoming::Tick;
use super::link::Link;
use super::message::{self, Body, HEADER, protocol, shown};
use crate::batch::damaged;
use crate::feed::{self, Nothing, POLL};
use crate::stats::Meter;
use crate::{Batch, Error, ErrorKind, Keep, ResultStream, Stats};

/// How long a cancelled query may take to end before its connection is given up.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);

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
}

/// What the receiving thread sends.
pub(crate) struct Statement {
    pub(crate) job: Job,
    /// The Query message.
    pub(crate) query: Vec<u8>,
    /// The Query message to send if the backend turns out not to know the format: another statement comes first in it.
    pub(crate) again: Option<Vec<u8>>,
}

/// What the receiving thread tells.
pub(crate) enum Event {
    /// One message of the stream.
    Message(Bytes),
    /// The connection is free again, or gone.
    Finished(Result<Finished, Error>),
}

/// How an answer without an error ended.
pub(crate) struct Finished {
    rows: Option<u64>,
    received: u64,
}

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
    let mut sink = |bytes| {
        if events.send(Event::Message(bytes)).is_err() {
            stop.store(true, Ordering::Release);
        }
    };
    let before = link.incoming.received();
    let mut answer = Answer { shared, job: statement.job, stop, preceded: false, copied: false, sink: &mut sink };
    let answer = match (answer.read(&mut link, &statement.query, &mut tick), &statement.again) {
        // In a transaction block nothing can be tried again.
        (Ok(Err(error)), Some(again)) if !answer.copied && link.idle && is_unknown_format(&error) => {
            answer.preceded = true;
            answer.read(&mut link, again, &mut tick)
        }
        (Ok(Err(error)), Some(_)) if is_unknown_format(&error) => Ok(Err(error.with_hint(
            "a pooler has brought a backend in which the extension is not loaded, and within a transaction it cannot \
             be: let every backend load it (session_preload_libraries = 'colonnade')",
        ))),
        (first, _) => first,
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

struct Answer<'a> {
    shared: &'a Shared,
    job: Job,
    stop: &'a AtomicBool,
    /// Whether another statement's rows come before the COPY.
    preceded: bool,
    /// Whether the server has begun to copy.
    copied: bool,
    sink: &'a mut dyn FnMut(Bytes),
}

impl Answer<'_> {
    /// The outer error ends the connection; the inner one is the database's and leaves it usable.
    fn read(&mut self, link: &mut Link, query: &[u8], tick: Tick<'_>) -> Result<Result<Option<u64>, Error>, Error> {
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
                // Notices, parameters that change, notifications.
                (b'N' | b'S' | b'A', _) => link.incoming.skip(len, tick)?,
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
        let limit = limit.unwrap_or(Limits::default().message_bytes);
        if len as u64 > limit {
            return Err(Error::new(
                ErrorKind::Protocol,
                format!("a message of {len} bytes is above the limit of {limit}"),
            )
            .with_hint("raise max_message_bytes, or ask for smaller chunks"));
        }
        let no_memory = || Error::new(ErrorKind::Unavailable, format!("no memory for a message of {len} bytes"));
        let mut buffer = self.shared.pool.take(len).ok_or_else(no_memory)?;
        link.incoming.body_into(&mut buffer, tick)?;
        (self.sink)(buffer.freeze());
        Ok(())
    }
}

/// The reader's side of a COPY.
pub(crate) struct CopyOut {
    shared: Arc<Shared>,
    control: Control,
    events: Option<Receiver<Event>>,
    decoder: Decoder,
    schema: SchemaRef,
    meter: Meter,
}

impl CopyOut {
    /// Waits for the schema message.
    pub(crate) fn open(
        shared: Arc<Shared>,
        control: Control,
        events: Receiver<Event>,
        limit: Option<u64>,
        keep: Keep<'_>,
    ) -> Result<Self, Error> {
        let mut limits = Limits::default();
        limits.message_bytes = limit.unwrap_or(limits.message_bytes);
        let schema = SchemaRef::new(arrow_schema::Schema::empty());
        let decoder = Decoder::new(limits);
        let mut copy = Self { shared, control, events: Some(events), decoder, schema, meter: Meter::start() };
        match copy.message(keep)? {
            Some((Message::Schema(schema), _)) => {
                copy.meter.schema(schema.fields.len());
                copy.schema = Arc::new(colonnade_wire::arrow::schema_to_arrow(&schema));
                Ok(copy)
            }
            _ => Err(copy.refuse(damaged(colonnade_wire::Damage::Truncated.into()))),
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
            Ok(Event::Message(_)) | Err(Nothing::Gone) => Err(died().with_origin(&shared.name)),
            Err(Nothing::Interrupted) => Err(stop(shared, control, events)),
        }
    }

    /// The next message and the addresses of its bytes; `None` at the checked end.
    fn message(&mut self, keep: Keep<'_>) -> Result<Option<(Message, Range<usize>)>, Error> {
        let Some(events) = &self.events else { return Ok(None) };
        match feed::receive(events, keep) {
            Ok(Event::Message(bytes)) => {
                self.meter.received((HEADER + bytes.len()) as u64);
                let start = bytes.as_ptr().addr();
                let addresses = start..start + bytes.len();
                match self.decoder.message(bytes) {
                    Ok(message) => Ok(Some((message, addresses))),
                    Err(error) => Err(self.refuse(damaged(error))),
                }
            }
            Ok(Event::Finished(finished)) => {
                self.events = None;
                self.meter.end();
                let finished = finished?;
                self.meter.received_in_all(finished.received);
                let totals = self.decoder.finish().map_err(|error| self.refuse(damaged(error)))?;
                self.check(totals, finished.rows).map(|()| None)
            }
            Err(Nothing::Gone) => Err(self.refuse(died())),
            Err(Nothing::Interrupted) => {
                let error = stop(&self.shared, &self.control, events);
                Err(self.refuse(error))
            }
        }
    }

    /// CommandComplete and the end message must tell the same story.
    fn check(&self, totals: Totals, rows: Option<u64>) -> Result<(), Error> {
        match rows {
            Some(rows) if rows == totals.rows => Ok(()),
            _ => Err(protocol(format!(
                "{} rows with a tag of {}",
                totals.rows,
                rows.map_or("none".to_owned(), |r| r.to_string())
            ))
            .with_origin(&self.shared.name)),
        }
    }

    /// Reads no more: the receiving thread cancels what runs and discards the rest.
    fn refuse(&mut self, error: Error) -> Error {
        self.control.stop.store(true, Ordering::Release);
        self.events = None;
        self.meter.end();
        error.with_origin(&self.shared.name)
    }
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
                    self.meter.chunk(&chunk);
                    return Ok(Some(Batch::encoded(self.schema.clone(), chunk, addresses)));
                }
                // The end message; CommandComplete and ReadyForQuery follow.
                Some(_) => {}
            }
        }
    }

    fn stats(&self) -> Stats {
        self.meter.stats()
    }
}

impl Drop for CopyOut {
    fn drop(&mut self) {
        if self.events.is_some() {
            self.control.stop.store(true, Ordering::Release);
        }
    }
}

/// Cancels on the server and waits, not for long, until the connection is free again.
fn stop(shared: &Shared, control: &Control, events: &Receiver<Event>) -> Error {
    let cancelled = shared.cancel_running(Some(control.number));
    control.stop.store(true, Ordering::Release);
    let ended = feed::drain(events, DRAIN_LIMIT, |event| matches!(event, Event::Finished(_)).then_some(()));
    if ended.is_none() {
        shared.close();
    }
    let mut error = interrupted().with_origin(&shared.name);
    if let Err(cause) = cancelled {
        error = error.with_detail(Some("the server could not be told to stop".to_owned())).with_cause(cause);
    }
    error
}
