//! A source inside this process: whatever hands over Arrow's C stream.
//! <https://arrow.apache.org/docs/format/CStreamInterface.html>

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Fields, Schema, SchemaRef};

use crate::feed::{self, Nothing};
use crate::stats::Meter;
use crate::{Batch, Cancel, Error, ErrorKind, Keep, ResultStream, Stats};

/// Batches wait in the queue for the reader: one, while the next is made.
const AHEAD: usize = 1;

/// The metadata key of a column that is text in place of a type that Arrow lacks. TYPES.md.
pub(crate) const TYPE_KEY: &str = "colonnade.type";
/// How long an interrupted producer may take to stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// How often it is told.
const INSIST: Duration = Duration::from_millis(50);

/// `Ok(None)` is the end; a queue that ends without it lost its producer.
type Pulled = Result<Option<RecordBatch>, ArrowError>;

/// A result that another library of this process produces.
pub struct ArrowStream {
    schema: SchemaRef,
    batches: Option<Receiver<Pulled>>,
    canceller: Option<Arc<dyn Cancel>>,
    meter: Meter,
    name: String,
}

/// Tells when the producer has been let go, so that it can produce something else.
pub struct Release(Mutex<Receiver<Infallible>>);

impl Release {
    /// Waits until then; `false` if that takes longer than `limit`.
    pub fn wait(&self, limit: Duration) -> bool {
        let receiver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(receiver.recv_timeout(limit), Err(RecvTimeoutError::Disconnected))
    }
}

impl ArrowStream {
    /// Takes the stream over. A thread of its own pulls it, so that a wait can be interrupted; `canceller` then stops
    /// the producer. `texts` gives the database's type of columns, by number, that were cast to text (TYPES.md).
    ///
    /// # Errors
    /// The stream has no schema of columns, or no thread can be started.
    pub fn new(
        stream: FFI_ArrowArrayStream,
        name: &str,
        canceller: Option<Arc<dyn Cancel>>,
        texts: &HashMap<usize, String>,
    ) -> Result<(Self, Release), Error> {
        let mut meter = Meter::start();
        let mut reader = RecordBatchStreamReader::try_new(stream).map_err(|cause| failed(&cause, name))?;
        let schema = annotated(&reader.schema(), texts);
        meter.schema(schema.fields().len());
        let (sender, receiver) = sync_channel(AHEAD);
        let (holder, release) = sync_channel::<Infallible>(0);
        thread::Builder::new()
            .name("colonnade-pull".to_owned())
            .spawn(move || {
                let end = loop {
                    match reader.next().transpose() {
                        Ok(Some(batch)) => {
                            if sender.send(Ok(Some(batch))).is_err() {
                                break Ok(None);
                            }
                        }
                        Ok(None) => break Ok(None),
                        Err(error) => break Err(error),
                    }
                };
                // In this order: the producer tidies up before the reader learns of the end, and may start another query.
                drop(reader);
                drop(holder);
                let _ = sender.send(end);
            })
            .map_err(|cause| Error::new(ErrorKind::Connect, "no thread could be started").with_cause(cause))?;
        let stream = Self { schema, batches: Some(receiver), canceller, meter, name: name.to_owned() };
        Ok((stream, Release(Mutex::new(release))))
    }

    /// Cancels until the producer has stopped: a cancellation between two of its batches may have no effect.
    fn stop(&self, batches: &Receiver<Pulled>) -> Result<(), Error> {
        let deadline = Instant::now() + STOP_LIMIT;
        while Instant::now() < deadline {
            self.canceller.as_ref().map_or(Ok(()), |canceller| canceller.cancel())?;
            if feed::drain(batches, INSIST, |item| !matches!(item, Ok(Some(_)))) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        self.batches = None;
        self.meter.end();
    }
}

impl ResultStream for ArrowStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: Keep<'_>) -> Result<Option<Batch>, Error> {
        let Some(batches) = &self.batches else { return Ok(None) };
        match feed::receive(batches, keep) {
            Ok(Ok(Some(batch))) => {
                self.meter.batch(batch.num_rows());
                let batch = batch.with_schema(self.schema.clone()).map_err(|cause| failed(&cause, &self.name))?;
                Ok(Some(batch.into()))
            }
            Ok(Ok(None)) => {
                self.end();
                Ok(None)
            }
            Ok(Err(cause)) => {
                self.end();
                Err(failed(&cause, &self.name))
            }
            Err(Nothing::Gone) => {
                self.end();
                Err(Error::new(ErrorKind::ConnectionLost, "the producer of the result died").with_origin(&self.name))
            }
            Err(Nothing::Interrupted) => {
                let cancelled = self.stop(batches);
                self.end();
                cancelled?;
                Err(Error::new(ErrorKind::Interrupted, "interrupted").with_origin(&self.name))
            }
        }
    }

    fn stats(&self) -> Stats {
        self.meter.stats()
    }
}

impl Drop for ArrowStream {
    fn drop(&mut self) {
        if self.batches.take().is_some() {
            // Best effort: a producer that goes on stops at its next batch.
            let _ = self.canceller.as_ref().map(|canceller| canceller.cancel());
        }
    }
}

fn annotated(schema: &Schema, texts: &HashMap<usize, String>) -> SchemaRef {
    let fields = schema.fields().iter().enumerate().map(|(index, field)| match texts.get(&index) {
        Some(name) => {
            let mut metadata = field.metadata().clone();
            metadata.insert(TYPE_KEY.to_owned(), name.clone());
            Arc::new(field.as_ref().clone().with_metadata(metadata))
        }
        None => field.clone(),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone()))
}

fn failed(cause: &ArrowError, name: &str) -> Error {
    let text = cause.to_string();
    // arrow-rs puts the producer's own words behind this.
    let message = text.split_once("Producer error: ").map_or(text.as_str(), |(_, message)| message);
    Error::new(ErrorKind::Database, message).with_origin(name)
}
