//! A source inside this process: whatever hands over Arrow's C stream.
//! <https://arrow.apache.org/docs/format/CStreamInterface.html>

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_schema::{ArrowError, Fields, Schema, SchemaRef};

use crate::chunks::Chunks;
use crate::feed;
use crate::produced::{self, Produced};
use crate::stats::Meter;
use crate::{Cancel, ChunkLimits, Error, ErrorKind};

/// The metadata key of a column that is text in place of a type that Arrow lacks. TYPES.md.
pub(crate) const TYPE_KEY: &str = "colonnade.type";

/// Tells when the producer has been let go, so that it can produce something else.
pub struct Release(Mutex<Receiver<Infallible>>);

impl Release {
    /// Waits until then; `false` if that takes longer than `limit`.
    pub fn wait(&self, limit: Duration) -> bool {
        let receiver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(receiver.recv_timeout(limit), Err(RecvTimeoutError::Disconnected))
    }
}

/// Ends the transaction in which a stream's statement runs: `true` keeps what the statement did, `false` undoes it.
pub type Finish = Box<dyn FnOnce(bool) -> Result<(), Error> + Send>;

/// What errors of a stream mean, by how their text begins: a SQLSTATE, and the message in place of the text.
pub type Meanings = HashMap<String, (String, String)>;

/// Takes a stream over, in chunks within `limits`. A thread of its own pulls it, so that a wait can be interrupted; `canceller` then stops
/// the producer. `texts` gives the database's type of columns, by number, that were cast to text (TYPES.md). `finish` is called once
/// the producer has been let go, with `true` if the stream was read to its end; a stream without columns is refused then. `meanings` are
/// those of the stream's errors.
///
/// # Errors
/// The stream has no schema of columns, or no thread can be started.
pub fn take(
    stream: FFI_ArrowArrayStream,
    limits: ChunkLimits,
    name: &str,
    canceller: Arc<dyn Cancel>,
    texts: &HashMap<usize, String>,
    finish: Option<Finish>,
    meanings: Meanings,
) -> Result<(Produced, Release), Error> {
    let meter = Meter::start();
    let failed = move |cause: ArrowError| failed(&cause, &meanings);
    let mut reader = RecordBatchStreamReader::try_new(stream).map_err(|cause| failed(cause).with_origin(name))?;
    let schema = annotated(&reader.schema(), texts);
    let finish = match finish {
        Some(finish) if schema.fields().is_empty() => {
            drop(reader);
            finish(false).map_err(|error| error.with_origin(name))?;
            return Err(Error::no_rows().with_origin(name));
        }
        finish => finish,
    };
    let (sender, receiver) = produced::queue();
    let (holder, release) = sync_channel::<Infallible>(0);
    let (shown, mut chunks) = (schema.clone(), Chunks::new(limits));
    feed::spawn("colonnade-pull", move || {
        let mut is_complete = false;
        let mut end = produced::pump(&sender, || {
            let batch = chunks.next(|| reader.next().transpose()).map_err(&failed)?;
            is_complete = batch.is_none();
            batch.map(|batch| batch.with_schema(shown.clone()).map_err(&failed)).transpose()
        });
        // In this order: the producer tidies up before the reader learns of the end, and may start another query.
        drop(reader);
        if let Some(finish) = finish {
            let finished = finish(is_complete);
            end = end.and_then(|batch| finished.map(|()| batch));
        }
        drop(holder);
        let _ = sender.send(end);
    })?;
    Ok((Produced::new(schema, receiver, canceller, meter, name), Release(Mutex::new(release))))
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

fn failed(cause: &ArrowError, meanings: &Meanings) -> Error {
    let text = cause.to_string();
    // arrow-rs puts the producer's number and its own words behind its own; pyarrow, those of an exception in front of its traceback.
    let (own, message) = text.split_once("Producer error: ").unwrap_or((&text, &text));
    let message = message.split(". Detail: Python exception: ").next().unwrap_or(message);
    let message = message.strip_prefix("Unknown error: ").unwrap_or(message);
    if let Some((_, (sqlstate, message))) = meanings.iter().find(|(begins, _)| message.starts_with(*begins)) {
        return Error::new(ErrorKind::Database, message).with_sqlstate(sqlstate);
    }
    let error = Error::new(ErrorKind::Database, message);
    match number(own) {
        // What ADBC wants of a driver whose statement was cancelled (`AdbcStatementCancel`).
        Some(libc::ECANCELED) => error.with_sqlstate("57014"),
        _ => error,
    }
}

/// The number that a producer failed with, in what arrow-rs says of it.
fn number(said: &str) -> Option<i32> {
    let (_, number) = said.split_once("Error code: ")?;
    number.trim_end_matches([' ', '.']).parse().ok()
}
