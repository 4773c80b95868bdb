//! The writer's side of the queue to the connection's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use super::WAITING;
use crate::shared_connection::{Event, EventReader, Peer, died};
use crate::{ContinueCheck, Error};

/// Passes steps of type `S` to the connection's thread. Dropping it stops the thread, which rolls back.
pub(crate) struct StepQueue<P: Peer, T, S> {
    events: EventReader<P, T>,
    steps: SyncSender<S>,
    /// Set before the thread could commit an interrupted write.
    abandoned: Arc<AtomicBool>,
    /// The steps that the connection's thread has not taken yet.
    waiting: usize,
}

impl<P: Peer, T, S> StepQueue<P, T, S> {
    /// The queue of a thread whose table is ready. It tells with one event that it has taken a step.
    pub(crate) fn new(events: EventReader<P, T>, steps: SyncSender<S>, abandoned: Arc<AtomicBool>) -> Self {
        Self { events, steps, abandoned, waiting: 0 }
    }

    pub(crate) fn send(&mut self, step: S, keep: ContinueCheck<'_>) -> Result<(), Error> {
        while self.waiting >= WAITING {
            self.next(keep)?;
        }
        match self.steps.send(step) {
            Ok(()) => {
                self.waiting += 1;
                Ok(())
            }
            // The thread has ended, and its last event says why.
            Err(_) => loop {
                self.next(keep)?;
            },
        }
    }

    /// Ends the rows with the last step. Returns the server's count of them, after the commit.
    pub(crate) fn finish(&mut self, last: S, keep: ContinueCheck<'_>) -> Result<Option<u64>, Error> {
        self.send(last, keep)?;
        loop {
            if let Event::Finished(finished) = self.event(keep)? {
                return Ok(finished.rows);
            }
        }
    }

    /// Stops the thread, and waits until it has undone everything.
    pub(crate) fn stop_and_wait(&mut self) {
        self.abandoned.store(true, Ordering::Release);
        self.events.stop_and_wait();
    }

    /// Waits until the thread takes a step.
    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<(), Error> {
        match self.event(keep)? {
            Event::Part(_) => {
                self.waiting = self.waiting.saturating_sub(1);
                Ok(())
            }
            Event::Finished(_) => Err(died()),
        }
    }

    fn event(&mut self, keep: ContinueCheck<'_>) -> Result<Event<T>, Error> {
        let abandoned = &self.abandoned;
        let mut keep = || {
            let goes_on = keep();
            if !goes_on {
                abandoned.store(true, Ordering::Release);
            }
            goes_on
        };
        self.events.next(&mut keep)?.ok_or_else(died)
    }
}

impl<P: Peer, T, S> Drop for StepQueue<P, T, S> {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Release);
    }
}
