//! The part of a stream that the stream and a consumer of its capsule share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use std::{mem, thread};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use client::{ContinueCheck, Error, ErrorKind, ResultStream, Stats};
use colonnade_client as client;
use pyo3::prelude::*;

use crate::of_process::{OfProcess, forked};

/// The time between two attempts to get a stream that another thread reads.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The state that the stream and a consumer of its capsule share.
pub(super) struct Shared {
    reading: OfProcess<Mutex<Reading>>,
    /// The error that a consumer of the capsule got as text.
    failure: Mutex<Option<ToldFailure>>,
    /// Whether a consumer of the capsule is to get an error instead of the next batch.
    interrupted: AtomicBool,
}

/// An error whose text a consumer of the capsule got.
pub(super) enum ToldFailure {
    Error(Error),
    /// Also an exception of a signal handler.
    Exception(PyErr),
}

enum Reading {
    Open(Box<dyn ResultStream>),
    /// Read to the end, or closed.
    Over(Stats),
}

impl Shared {
    pub(super) fn new(source: Box<dyn ResultStream>) -> Self {
        Self {
            reading: OfProcess::new(Mutex::new(Reading::Open(source))),
            failure: Mutex::new(None),
            interrupted: AtomicBool::new(false),
        }
    }

    /// `None` in a forked process.
    fn reading(&self) -> Option<MutexGuard<'_, Reading>> {
        // Every change is one assignment, so a panic elsewhere leaves nothing half-done.
        Some(self.reading.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn next(&self, keep: ContinueCheck<'_>) -> Result<Option<client::Batch>, Error> {
        let mut reading = self.reading().ok_or_else(|| forked("result"))?;
        let Reading::Open(source) = &mut *reading else {
            return Err(Error::new(ErrorKind::Unavailable, "the result is closed: run the query again"));
        };
        let next = source.next(keep);
        if !matches!(next, Ok(Some(_))) {
            *reading = Reading::Over(source.stats());
        }
        next
    }

    /// Decodes a batch. A column that cannot be decoded or converted ends the stream.
    pub(super) fn decoded(&self, batch: client::Batch) -> Result<RecordBatch, Error> {
        batch.decode().inspect_err(|_| self.close())
    }

    pub(super) fn next_decoded(&self, keep: ContinueCheck<'_>) -> Result<Option<RecordBatch>, Error> {
        self.next(keep)?.map(|batch| self.decoded(batch)).transpose()
    }

    /// The text of an error for a consumer of the capsule. The error itself is kept for [`Stream::failure`].
    pub(super) fn told(&self, failure: ToldFailure) -> String {
        let text = match &failure {
            ToldFailure::Error(error) => error.to_string(),
            ToldFailure::Exception(exception) => exception.to_string(),
        };
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        text
    }

    pub(super) fn take_failure(&self) -> Option<ToldFailure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A consumer of the capsule gets an error instead of the next batch.
    pub(super) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    pub(super) fn is_open(&self) -> bool {
        let Some(reading) = self.reading.get() else { return false };
        match reading.try_lock() {
            Ok(reading) => matches!(*reading, Reading::Open(_)),
            Err(TryLockError::Poisoned(reading)) => matches!(*reading.into_inner(), Reading::Open(_)),
            // Whoever holds the lock may wait for the next batch.
            Err(TryLockError::WouldBlock) => true,
        }
    }

    pub(super) fn stats(&self) -> Stats {
        self.reading().map_or_else(Stats::default, |reading| match &*reading {
            Reading::Open(source) => source.stats(),
            Reading::Over(stats) => stats.clone(),
        })
    }

    pub(super) fn close(&self) {
        if let Some(reading) = self.reading() {
            end(reading);
        }
    }

    /// Closes the stream, unless another thread waits for its next batch for longer than `limit`; whether it is closed.
    pub(super) fn close_within(&self, limit: Duration) -> bool {
        let Some(reading) = self.reading.get() else { return true };
        let deadline = Instant::now() + limit;
        loop {
            match reading.try_lock() {
                Ok(reading) => end(reading),
                Err(TryLockError::Poisoned(reading)) => end(reading.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(POLL_INTERVAL);
                    continue;
                }
                Err(TryLockError::WouldBlock) => return false,
            }
            return true;
        }
    }
}

fn end(mut reading: MutexGuard<'_, Reading>) {
    let Reading::Open(source) = &*reading else { return };
    let over = Reading::Over(source.stats());
    let source = mem::replace(&mut *reading, over);
    // Its end may need the interpreter's lock, which a thread may hold that waits for this one.
    drop(reading);
    drop(source);
}

/// Closes the stream when a consumer of its capsule releases it.
pub(super) struct Consumer(pub(super) Arc<Shared>);

impl Drop for Consumer {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The unread rest of a stream, as the source of another stream.
pub(super) struct Rest {
    pub(super) consumer: Consumer,
    pub(super) schema: SchemaRef,
}

impl ResultStream for Rest {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<client::Batch>, Error> {
        self.consumer.0.next(keep)
    }

    fn stats(&self) -> Stats {
        self.consumer.0.stats()
    }
}
