//! The reader's side of a running query: what the receiving thread tells, and how to stop it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use super::connection::{Control, Shared};
use super::copy_out::Event;
use crate::feed::{self, Nothing};
use crate::session::{DRAIN_LIMIT, died, interrupted};
use crate::stats::Meter;
use crate::{Error, Keep};

/// Reads the events of one query. Dropping it early cancels the query.
pub(crate) struct Reader {
    shared: Arc<Shared>,
    control: Control,
    events: Option<Receiver<Event>>,
    pub(crate) meter: Meter,
}

impl Reader {
    pub(crate) fn new(shared: Arc<Shared>, control: Control, events: Receiver<Event>) -> Self {
        Self { shared, control, events: Some(events), meter: Meter::start() }
    }

    /// The next event; `None` after the last or an error.
    ///
    /// # Errors
    /// The query failed, the connection was lost, or the caller wants no more.
    pub(crate) fn next(&mut self, keep: Keep<'_>) -> Result<Option<Event>, Error> {
        let Some(events) = &self.events else { return Ok(None) };
        match feed::receive(events, keep) {
            Ok(Event::Finished(finished)) => {
                self.events = None;
                self.meter.end();
                let finished = finished?;
                self.meter.received_in_all(finished.received);
                Ok(Some(Event::Finished(Ok(finished))))
            }
            Ok(event) => Ok(Some(event)),
            Err(Nothing::Gone) => Err(self.refuse(died())),
            Err(Nothing::Interrupted) => {
                let error = stop(&self.shared, &self.control, events);
                Err(self.refuse(error))
            }
        }
    }

    /// Reads no more: the receiving thread cancels what runs and discards the rest.
    pub(crate) fn refuse(&mut self, error: Error) -> Error {
        self.control.stop.store(true, Ordering::Release);
        self.events = None;
        self.meter.end();
        error.with_origin(&self.shared.name)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.events.is_some() {
            self.control.stop.store(true, Ordering::Release);
        }
    }
}

/// Cancels on the server and waits, not for long, until the connection is free again.
pub(crate) fn stop(shared: &Shared, control: &Control, events: &Receiver<Event>) -> Error {
    let cancelled = shared.cancel_running(Some(control.number));
    control.stop.store(true, Ordering::Release);
    let ended = feed::drain(events, DRAIN_LIMIT, |event| matches!(event, Event::Finished(_)));
    if ended.is_err() {
        shared.close();
    }
    let mut error = interrupted().with_origin(&shared.name);
    if let Err(cause) = cancelled {
        error = error.with_detail(Some("the server could not be told to stop".to_owned())).with_cause(cause);
    }
    error
}
