//! Receives an answer: its beginning on the caller's thread, and the rest, if it is long or slow, on a separate thread.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::event_reader::{EventReader, interruption};
use super::{AnswerOutcome, DRAIN_LIMIT, Event, Finished, Peer, SharedConnection, Tick, interrupted};
use crate::feed::QUEUE_DEPTH;
use crate::stats::Meter;
use crate::{ContinueCheck, Error, ErrorKind};

/// The time between two cancel requests: a request that comes while the server waits for the rest of a question has no
/// effect.
const CANCEL_RETRY: Duration = Duration::from_millis(500);

/// Receives the rest of an answer.
pub(crate) type Rest<C, T> = Box<dyn FnOnce(&mut C, Tick<'_>, &mut dyn FnMut(T)) -> AnswerOutcome + Send>;

/// How far the caller's thread has received an answer.
pub(crate) enum Started<C, T> {
    /// To its end.
    Ended(Result<Option<u64>, Error>),
    /// Not to its end.
    Open(Rest<C, T>),
}

impl<P: Peer> SharedConnection<P> {
    /// Runs `work` with the connection on a separate thread. `work` passes on the parts of the answer.
    ///
    /// # Errors
    /// The connection is closed or busy, or the wait for it was interrupted.
    pub(crate) fn start<T: Send + 'static>(
        self: &Arc<Self>,
        keep: ContinueCheck<'_>,
        work: impl FnOnce(&mut P::ServerConnection, Tick<'_>, &mut dyn FnMut(T)) -> AnswerOutcome + Send + 'static,
    ) -> Result<EventReader<P, T>, Error> {
        self.begin(keep, |_, _, _| Ok(Started::Open(Box::new(work))))
    }

    /// Runs `begin` with the connection on this thread, and what it leaves on a separate one: a short answer then takes
    /// no switch between threads. What `begin` passes on is kept in memory, so it must be limited.
    ///
    /// # Errors
    /// The connection is closed or busy, or `keep` has interrupted.
    pub(crate) fn begin<T: Send + 'static>(
        self: &Arc<Self>,
        keep: ContinueCheck<'_>,
        begin: impl FnOnce(
            &mut P::ServerConnection,
            Tick<'_>,
            &mut dyn FnMut(T),
        ) -> Result<Started<P::ServerConnection, T>, Error>,
    ) -> Result<EventReader<P, T>, Error> {
        let (mut connection, number, stop) = self.take(keep)?;
        let mut reader = EventReader {
            session: self.clone(),
            number,
            stop: stop.clone(),
            early: VecDeque::new(),
            events: None,
            meter: Meter::start(),
        };
        let before = P::received(&connection);
        // The result of the cancel request, after an interruption.
        let mut interrupted = None;
        let begun = {
            let paused = Cell::default();
            let mut stopping = Stopping::new(&paused);
            let mut tick = || {
                if interrupted.is_none() && !keep() {
                    interrupted = Some(self.cancel_query(Some(number)));
                    stop.store(true, Ordering::Release);
                }
                stopping.tick(self, number, &stop)
            };
            begin(&mut connection, &mut tick, &mut |part| reader.early.push_back(Ok(Event::Part(part))))
        };
        match begun {
            Ok(Started::Ended(outcome)) => {
                reader.early.push_back(self.ended(Some(connection), number, before, outcome));
            }
            Ok(Started::Open(rest)) => {
                let (sender, events) = sync_channel(QUEUE_DEPTH);
                let session = self.clone();
                self.thread
                    .run(move || session.receive(connection, number, &stop, before, &sender, rest))
                    .inspect_err(|_| self.abandon())?;
                reader.events = Some(events);
            }
            Err(error) => reader.early.push_back(self.ended(None, number, before, Err(error))),
        }
        match interrupted {
            None => Ok(reader),
            Some(cancelled) => {
                reader.wait_for_end();
                Err(reader.refuse(interruption(cancelled)))
            }
        }
    }

    fn receive<T>(
        &self,
        mut connection: P::ServerConnection,
        number: u64,
        stop: &AtomicBool,
        before: u64,
        events: &SyncSender<Result<Event<T>, Error>>,
        rest: Rest<P::ServerConnection, T>,
    ) {
        let paused = Cell::new(Duration::ZERO);
        let mut stopping = Stopping::new(&paused);
        let mut is_whole = true;
        let outcome = rest(&mut connection, &mut || stopping.tick(self, number, stop), &mut |part| {
            is_whole &= !stop.load(Ordering::Acquire);
            if !is_whole {
                return;
            }
            let handing = Instant::now();
            self.is_handing_over.store(true, Ordering::Release);
            if events.send(Ok(Event::Part(part))).is_err() {
                stop.store(true, Ordering::Release);
            }
            self.is_handing_over.store(false, Ordering::Release);
            paused.set(paused.get() + handing.elapsed());
        });
        // The connection may have been closed while its reader waits. What was discarded is missing.
        let outcome = outcome.map(|ended| if is_whole { ended } else { ended.and(Err(interrupted())) });
        let last = match outcome {
            Ok(outcome) => self.ended(Some(connection), number, before, outcome),
            Err(error) => self.ended(None, number, before, Err(error)),
        };
        // Nobody needs the event if the reader is gone.
        let _ = events.send(last);
    }

    /// Gives the connection back, if it can be used again. Returns the last event.
    fn ended<T>(
        &self,
        connection: Option<P::ServerConnection>,
        number: u64,
        before: u64,
        outcome: Result<Option<u64>, Error>,
    ) -> Result<Event<T>, Error> {
        let received = connection.as_ref().map_or(0, |connection| P::received(connection) - before);
        let rows_from = connection.as_ref().map_or("", |connection| P::rows_from(connection));
        let outcome = match outcome {
            // The server's errors are those of the cancel request, or of the socket.
            Err(_) if self.closing.load(Ordering::Acquire) => {
                let message = "the connection was closed before its result was read: read it first";
                Err(Error::new(ErrorKind::ConnectionLost, message))
            }
            outcome => outcome,
        };
        self.give_back(connection, number);
        let finished = outcome.map(|rows| Event::Finished(Finished { rows, received, rows_from }));
        finished.map_err(|error| error.with_origin(&self.name))
    }
}

/// Ends a query that was cancelled, or whose reader has stopped.
struct Stopping<'a> {
    /// The time for which the reader has delayed the answer, for which the server is not responsible.
    paused: &'a Cell<Duration>,
    /// The time when the query must have ended, without pauses, and the time of the next cancel request.
    times: Option<(Instant, Instant)>,
}

impl<'a> Stopping<'a> {
    fn new(paused: &'a Cell<Duration>) -> Self {
        Self { paused, times: None }
    }

    /// Does nothing, unless the query must end.
    fn tick<P: Peer>(&mut self, session: &SharedConnection<P>, number: u64, stop: &AtomicBool) -> Result<(), Error> {
        let told = session.stopping.load(Ordering::Acquire) == number;
        if !told && !stop.load(Ordering::Acquire) {
            return Ok(());
        }
        let (now, paused) = (Instant::now(), self.paused.get());
        let (deadline, next) =
            self.times.get_or_insert_with(|| (now + DRAIN_LIMIT - paused, if told { now + CANCEL_RETRY } else { now }));
        if now >= *deadline + paused {
            return Err(Error::new(ErrorKind::ConnectionLost, "the server did not stop a cancelled query"));
        }
        if now >= *next {
            *next = now + CANCEL_RETRY;
            // If the request fails, reading continues until the deadline.
            let _ = session.cancel_query(Some(number));
        }
        Ok(())
    }
}
