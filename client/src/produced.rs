//! A result that a thread of this process produces: batches through a bounded queue, and a way to stop the thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::feed::{self, NoItem};
use crate::stats::Meter;
use crate::{Batch, Cancel, ContinueCheck, Error, ErrorKind, ResultStream, Stats};

/// The batches in the queue for the reader: one, while the next one is made.
const QUEUE_DEPTH: usize = 1;
/// The time within which an interrupted producer must stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// The time between two interrupts.
const CANCEL_RETRY: Duration = Duration::from_millis(50);

/// `Ok(None)` is the end. If the queue ends without it, the producer has died.
pub(crate) type Pulled = Result<Option<RecordBatch>, Error>;

/// The queue to the reader.
pub(crate) fn queue() -> (SyncSender<Pulled>, Receiver<Pulled>) {
    sync_channel(QUEUE_DEPTH)
}

/// Puts batches into the queue until there are no more, or the reader has gone. Returns the last event for the reader,
/// which is sent after the producer has released its resources: the reader may then start another query.
pub(crate) fn pump(sender: &SyncSender<Pulled>, mut next: impl FnMut() -> Pulled) -> Pulled {
    loop {
        let Some(batch) = next()? else { return Ok(None) };
        if sender.send(Ok(Some(batch))).is_err() {
            return Ok(None);
        }
    }
}

/// Stops a producer until its queue `ends`. It repeats the interrupt, because the first one may have no effect.
pub(crate) fn stop<T>(queue: &Receiver<T>, canceller: &dyn Cancel, ends: impl Fn(T) -> bool) -> Result<(), Error> {
    let deadline = Instant::now() + STOP_LIMIT;
    while Instant::now() < deadline {
        canceller.cancel()?;
        if feed::drain(queue, CANCEL_RETRY, &ends) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    Ok(())
}

/// The reader's side.
pub struct Produced {
    schema: SchemaRef,
    batches: Option<Receiver<Pulled>>,
    canceller: Arc<dyn Cancel>,
    meter: Meter,
    name: String,
}

impl Produced {
    pub(crate) fn new(
        schema: SchemaRef,
        batches: Receiver<Pulled>,
        canceller: Arc<dyn Cancel>,
        mut meter: Meter,
        name: &str,
    ) -> Self {
        meter.schema(schema.fields().len());
        Self { schema, batches: Some(batches), canceller, meter, name: name.to_owned() }
    }

    fn end(&mut self) {
        self.batches = None;
        self.meter.end();
    }
}

impl ResultStream for Produced {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        let Some(batches) = &self.batches else { return Ok(None) };
        let error = match feed::receive(batches, keep) {
            Ok(Ok(Some(batch))) => {
                self.meter.batch(batch.num_rows());
                return Ok(Some(batch.into()));
            }
            Ok(Ok(None)) => {
                self.end();
                return Ok(None);
            }
            Ok(Err(error)) => error,
            Err(NoItem::Gone) => Error::new(ErrorKind::ConnectionLost, "the producer of the result died"),
            Err(NoItem::Interrupted) => {
                match stop(batches, self.canceller.as_ref(), |item| !matches!(item, Ok(Some(_)))) {
                    Ok(()) => Error::new(ErrorKind::Interrupted, "interrupted"),
                    Err(error) => error,
                }
            }
        };
        self.end();
        Err(error.with_origin(&self.name))
    }

    fn stats(&self) -> Stats {
        self.meter.stats()
    }
}

impl Drop for Produced {
    fn drop(&mut self) {
        if self.batches.take().is_some() {
            // Best effort: otherwise the producer stops at its next batch.
            let _ = self.canceller.cancel();
        }
    }
}
