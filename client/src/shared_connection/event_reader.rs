//! Reads the events of a query.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::{DRAIN_LIMIT, Event, Peer, SharedConnection, died, interrupted};
use crate::feed::{self, NoItem};
use crate::stats::Meter;
use crate::{Error, Keep};

/// Reads the events of one query. Dropping it early cancels the query.
pub(crate) struct EventReader<P: Peer, T> {
    pub(super) session: Arc<SharedConnection<P>>,
    pub(super) number: u64,
    /// Set when the reader stops. The receiving thread then cancels the query and discards the rest.
    pub(super) stop: Arc<AtomicBool>,
    pub(super) events: Option<Receiver<Result<Event<T>, Error>>>,
    pub(crate) meter: Meter,
}

impl<P: Peer, T> EventReader<P, T> {
    /// The next event; `None` after the last or an error.
    ///
    /// # Errors
    /// The query failed, the connection was lost, or the caller interrupted.
    pub(crate) fn next(&mut self, keep: Keep<'_>) -> Result<Option<Event<T>>, Error> {
        let Some(events) = &self.events else { return Ok(None) };
        match feed::receive(events, keep) {
            Ok(Ok(Event::Part(part))) => Ok(Some(Event::Part(part))),
            Ok(end) => {
                self.events = None;
                self.meter.end();
                if let Ok(Event::Finished(finished)) = &end {
                    self.meter.received_in_all(finished.received);
                }
                end.map(Some)
            }
            Err(NoItem::Gone) => Err(self.refuse(died())),
            Err(NoItem::Interrupted) => {
                let error = self.interrupt();
                Err(self.refuse(error))
            }
        }
    }

    /// Skips all parts. Returns the rows that the server counted.
    ///
    /// # Errors
    /// As for [`EventReader::next`].
    pub(crate) fn finish(mut self, keep: Keep<'_>) -> Result<Option<u64>, Error> {
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
        if let Some(events) = self.events.take() {
            // After the limit, the receiving thread closes the connection.
            let _ = feed::drain(&events, DRAIN_LIMIT, |event| !matches!(event, Ok(Event::Part(_))));
            self.meter.end();
        }
    }

    /// Stops reading: the receiving thread cancels the query and discards the rest.
    pub(crate) fn refuse(&mut self, error: Error) -> Error {
        self.stop.store(true, Ordering::Release);
        self.events = None;
        self.meter.end();
        error.with_origin(&self.session.name)
    }

    /// Cancels the query on the server, and waits for a short time until the connection is free.
    fn interrupt(&self) -> Error {
        let cancelled = self.session.cancel_query(Some(self.number));
        self.stop.store(true, Ordering::Release);
        if let Some(events) = &self.events {
            let ended = feed::drain(events, DRAIN_LIMIT, |event| !matches!(event, Ok(Event::Part(_))));
            if ended.is_err() {
                self.session.close();
            }
        }
        let error = interrupted();
        match cancelled {
            Ok(()) => error,
            Err(cause) => error.with_detail(Some("the server could not be told to stop".to_owned())).with_cause(cause),
        }
    }
}

impl<P: Peer, T> Drop for EventReader<P, T> {
    fn drop(&mut self) {
        if self.events.is_some() {
            self.stop.store(true, Ordering::Release);
        }
    }
}
