//! Reads the events of a query.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::{DRAIN_LIMIT, Event, Peer, SharedConnection, died, interrupted};
use crate::feed::{self, NoItem};
use crate::stats::Meter;
use crate::{ContinueCheck, Error};

/// Reads the events of one query. Dropping it early cancels the query, if it has not ended.
pub(crate) struct EventReader<P: Peer, T> {
    pub(super) session: Arc<SharedConnection<P>>,
    pub(super) number: u64,
    /// Set when the reader stops. The receiving thread then cancels the query and discards the rest.
    pub(super) stop: Arc<AtomicBool>,
    /// Events of the caller's thread, which come before those of the receiving thread.
    pub(super) early: VecDeque<Result<Event<T>, Error>>,
    /// Events of the receiving thread; `None` if there is none, or after the last.
    pub(super) events: Option<Receiver<Result<Event<T>, Error>>>,
    pub(crate) meter: Meter,
}

impl<P: Peer, T> EventReader<P, T> {
    /// The next event; `None` after the last or an error.
    ///
    /// # Errors
    /// The query failed, the connection was lost, or the caller interrupted.
    pub(crate) fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Event<T>>, Error> {
        if let Some(event) = self.early.pop_front() {
            return self.pass_on(event);
        }
        let Some(events) = &self.events else { return Ok(None) };
        match feed::receive(events, keep) {
            Ok(event) => self.pass_on(event),
            Err(NoItem::Gone) => Err(self.refuse(died())),
            Err(NoItem::Interrupted) => {
                let error = self.interrupt();
                Err(self.refuse(error))
            }
        }
    }

    fn pass_on(&mut self, event: Result<Event<T>, Error>) -> Result<Option<Event<T>>, Error> {
        if !matches!(event, Ok(Event::Part(_))) {
            self.events = None;
            self.meter.end();
        }
        if let Ok(Event::Finished(finished)) = &event {
            self.meter.received_in_all(finished.received);
            self.meter.rows_from(finished.rows_from);
        }
        event.map(Some)
    }

    /// Skips all parts. Returns the rows that the server counted.
    ///
    /// # Errors
    /// As for [`EventReader::next`].
    pub(crate) fn finish(mut self, keep: ContinueCheck<'_>) -> Result<Option<u64>, Error> {
        loop {
            match self.next(keep)? {
                Some(Event::Part(_)) => {}
                Some(Event::Finished(finished)) => return Ok(finished.rows),
                None => return Err(died()),
            }
        }
    }

    /// Stops reading, and waits until the connection is free again, which includes what `work` does at its end.
    pub(crate) fn stop_and_wait(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.early.clear();
        if let Some(events) = self.events.take() {
            // After the limit, the receiving thread closes the connection.
            let _ = feed::drain(&events, DRAIN_LIMIT, |event| !matches!(event, Ok(Event::Part(_))));
            self.meter.end();
        }
    }

    /// Stops reading: the receiving thread cancels the query and discards the rest.
    pub(crate) fn refuse(&mut self, error: Error) -> Error {
        self.stop.store(true, Ordering::Release);
        self.early.clear();
        self.events = None;
        self.meter.end();
        error.with_origin(&self.session.name)
    }

    /// Cancels the query on the server, and waits for a short time until the connection is free.
    fn interrupt(&mut self) -> Error {
        let cancelled = self.session.cancel_query(Some(self.number));
        self.stop.store(true, Ordering::Release);
        self.wait_for_end();
        interruption(cancelled)
    }

    /// Waits until a query that was cancelled has ended. After the limit, the connection is closed.
    pub(super) fn wait_for_end(&self) {
        if let Some(events) = &self.events {
            let ended = feed::drain(events, DRAIN_LIMIT, |event| !matches!(event, Ok(Event::Part(_))));
            if ended.is_err() {
                self.session.abandon();
            }
        }
    }
}

/// The error of an interrupted query, with the result of its cancel request.
pub(super) fn interruption(cancelled: Result<(), Error>) -> Error {
    let error = interrupted();
    match cancelled {
        Ok(()) => error,
        Err(cause) => error.with_detail(Some("the server could not be told to stop".to_owned())).with_cause(cause),
    }
}

impl<P: Peer, T> Drop for EventReader<P, T> {
    fn drop(&mut self) {
        if self.events.is_some() {
            self.stop.store(true, Ordering::Release);
        }
    }
}
