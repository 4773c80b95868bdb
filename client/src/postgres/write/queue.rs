//! The writer's side of the queue to the connection's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use super::transfer::{Progress, Step};
use crate::postgres::connection::Postgres;
use crate::shared_connection::{Event, EventReader, died};
use crate::write::WAITING;
use crate::{Error, Keep};

/// Passes steps to the connection's thread. Dropping it stops the thread, which rolls back.
pub(super) struct StepQueue {
    pub(super) events: EventReader<Postgres, Progress>,
    pub(super) steps: SyncSender<Step>,
    /// Set before the thread could commit an interrupted write.
    pub(super) abandoned: Arc<AtomicBool>,
    /// The steps that the connection's thread has not taken yet.
    pub(super) waiting: usize,
}

impl StepQueue {
    pub(super) fn send(&mut self, step: Step, keep: Keep<'_>) -> Result<(), Error> {
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

    /// Ends the rows. Returns the server's count of them, after the commit.
    pub(super) fn finish(&mut self, rows: u64, keep: Keep<'_>) -> Result<u64, Error> {
        self.send(Step::Finish(rows), keep)?;
        loop {
            if let Event::Finished(finished) = self.event(keep)? {
                return Ok(finished.rows.unwrap_or(rows));
            }
        }
    }

    /// Waits until the thread takes a step.
    fn next(&mut self, keep: Keep<'_>) -> Result<(), Error> {
        match self.event(keep)? {
            Event::Part(_) => {
                self.waiting = self.waiting.saturating_sub(1);
                Ok(())
            }
            Event::Finished(_) => Err(died()),
        }
    }

    pub(super) fn event(&mut self, keep: Keep<'_>) -> Result<Event<Progress>, Error> {
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

impl Drop for StepQueue {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Release);
    }
}
