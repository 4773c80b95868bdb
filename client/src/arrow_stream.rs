//! A source in this process: any producer of Arrow's C stream.
//! <https://arrow.apache.org/docs/format/CStreamInterface.html>

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};

use crate::chunks::Chunks;
use crate::feed;
use crate::produced::{self, Produced};
use crate::stats::Meter;
use crate::system::CANCELED;
use crate::{Cancel, ChunkLimits, Error, ErrorKind, arrow_form, arrow_moments, arrow_text};

pub use crate::arrow_form::FieldNotes;

/// The metadata key of a column that has text instead of a type that Arrow lacks. TYPES.md.
pub const TYPE_KEY: &str = "colonnade.type";

/// Reports when the producer is released, so that it can produce another stream.
pub struct Release(Mutex<Receiver<Infallible>>);

impl Release {
    /// Waits for the release; `false` if that takes longer than `limit`.
    pub fn wait(&self, limit: Duration) -> bool {
        let receiver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(receiver.recv_timeout(limit), Err(RecvTimeoutError::Disconnected))
    }
}

/// Ends the transaction of a stream's statement: `true` commits, `false` rolls back.
pub type Finish = Box<dyn FnOnce(bool) -> Result<(), Error> + Send>;

/// The meanings of a stream's errors, by the beginning of their text: a SQLSTATE, and the message that replaces the
/// text.
pub type Meanings = HashMap<String, (String, String)>;

/// How a stream is read.
pub struct PullOptions {
    /// The size of chunks.
    pub limits: ChunkLimits,
    /// The source's name.
    pub name: String,
    /// Stops the producer.
    pub canceller: Arc<dyn Cancel>,
    /// What is added to the metadata of fields, such as the database's type of a column that was cast to text
    /// (TYPES.md).
    pub notes: FieldNotes,
    /// It is called once after the producer is released, with `true` if the stream was read to its end. With it, a
    /// stream without columns is refused.
    pub finish: Option<Finish>,
    /// Those of the stream's errors.
    pub meanings: Meanings,
}

/// Reads a stream in chunks. A separate thread reads from the producer, so that a wait can be interrupted. A text that
/// is not UTF-8, or an infinite date that a driver has changed, ends the stream with an error. Some types become others
/// with the same values (`arrow_form`).
///
/// # Errors
/// The stream has no schema of columns, or no thread can be started.
pub fn take(mut stream: FFI_ArrowArrayStream, options: PullOptions) -> Result<(Produced, Release), Error> {
    let meter = Meter::start();
    let described = described(&mut stream);
    let opened = RecordBatchStreamReader::try_new(stream);
    let reader = opened.map_err(|cause| failed(&cause, &options.meanings).with_origin(&options.name))?;
    let schema = arrow_form::taken(arrow_form::noted(reader.schema(), &options.notes), described.as_ref());
    pull(schema, reader, options, meter)
}

/// The same of batches of these columns, in which texts and bytes may be codes: dictionaries with indices of the type
/// `UInt32`.
///
/// # Errors
/// As for [`take`].
pub fn take_batches(
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    options: PullOptions,
) -> Result<(Produced, Release), Error> {
    let schema = arrow_form::noted(schema, &options.notes);
    let mut meter = Meter::start();
    meter.rows_from("vectors");
    pull(schema, batches, options, meter)
}

fn pull(
    schema: SchemaRef,
    mut reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
    options: PullOptions,
    meter: Meter,
) -> Result<(Produced, Release), Error> {
    let PullOptions { limits, name, canceller, finish, meanings, .. } = options;
    let failed = move |cause: ArrowError| failed(&cause, &meanings);
    let finish = match finish {
        Some(finish) if schema.fields().is_empty() => {
            drop(reader);
            finish(false).map_err(|error| error.with_origin(&name))?;
            return Err(Error::no_rows().with_origin(&name));
        }
        finish => finish,
    };
    let (sender, receiver) = produced::queue();
    let (holder, release) = sync_channel::<Infallible>(0);
    let (shown, mut chunks) = (schema.clone(), Chunks::new(limits));
    feed::spawn("colonnade-pull", move || {
        let (mut is_complete, mut rows) = (false, 0);
        let mut end = produced::pump(&sender, || {
            let batch = chunks.next(|| reader.next().transpose()).map_err(&failed)?;
            is_complete = batch.is_none();
            if let Some(batch) = &batch {
                arrow_text::check(batch, rows)?;
                arrow_moments::check(batch, rows)?;
                rows += batch.num_rows() as u64;
            }
            batch.map(|batch| arrow_form::take(batch, &shown).map_err(&failed)).transpose()
        });
        // The producer is released before the reader learns of the end and may start another query.
        drop(reader);
        if let Some(finish) = finish {
            let finished = finish(is_complete);
            end = end.and_then(|batch| finished.map(|()| batch));
        }
        drop(holder);
        let _ = sender.send(end);
    })?;
    Ok((Produced::new(schema, receiver, canceller, meter, &name), Release(Mutex::new(release))))
}

/// The producer's description of the schema; `None` if it fails, which it will do again.
fn described(stream: &mut FFI_ArrowArrayStream) -> Option<FFI_ArrowSchema> {
    let describe = stream.get_schema()?;
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: a stream that is not released has this callback, which gives a valid schema if it succeeds.
    (unsafe { describe(stream, &raw mut schema) } == 0).then_some(schema)
}

fn failed(cause: &ArrowError, meanings: &Meanings) -> Error {
    let text = cause.to_string();
    // arrow-rs puts a prefix with the error's number before the producer's message, and pyarrow appends an exception's
    // traceback.
    let (own, message) = text.split_once("Producer error: ").unwrap_or((&text, &text));
    let message = message.split(". Detail: Python exception: ").next().unwrap_or(message);
    let message = message.strip_prefix("Unknown error: ").unwrap_or(message);
    if let Some((_, (sqlstate, message))) = meanings.iter().find(|(begins, _)| message.starts_with(*begins)) {
        return Error::new(ErrorKind::Database, message).with_sqlstate(sqlstate);
    }
    let error = Error::new(ErrorKind::Database, message);
    match number(own) {
        // ADBC requires this number after a cancelled statement (`AdbcStatementCancel`).
        Some(CANCELED) => error.with_sqlstate("57014"),
        _ => error,
    }
}

/// The number of a producer's error in arrow-rs's text.
fn number(said: &str) -> Option<i32> {
    let (_, number) = said.split_once("Error code: ")?;
    number.trim_end_matches([' ', '.']).parse().ok()
}
