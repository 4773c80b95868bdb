//! Writes into a table of an SQLite file, within one transaction, over a connection of its own.
//! <https://www.sqlite.org/lang_insert.html>
//!
//! The thread that owns the connection converts and inserts. A short queue of batches limits the caller. The caller
//! keeps each batch until the thread has dropped its own reference: another library's memory must not be released there
//! (`descriptor_table`).

mod moment;
mod rows;
mod stored;
mod stored_type;
mod table;
mod upsert;

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::rows::RowInserter;
use self::stored::BatchColumn;
use super::connection::{SqliteConnection, WriterInterrupt};
use super::descriptor_table;
use super::library::Database;
use super::location::Location;
use crate::feed::{self, NoItem};
use crate::file_uri::MEMORY;
use crate::write::kind::ColumnMeaning;
use crate::write::{TableWriter, WAITING, WriteTarget, Writing, other_count};
use crate::{Access, ContinueCheck, Error, ErrorKind};

/// The rows whose columns are converted at once. They stay in the processor's cache.
const PART: usize = 4096;
/// The time within which an abandoned transaction must be rolled back.
const STOP_LIMIT: Duration = Duration::from_secs(10);

impl Writing for SqliteConnection {
    fn begin(
        &self,
        target: &WriteTarget,
        schema: &SchemaRef,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn TableWriter>, Error> {
        check(self.location())?;
        let columns = schema.fields().iter().map(|field| Ok((field.name().clone(), ColumnMeaning::of(field)?)));
        let columns: Vec<_> = columns.collect::<Result<_, Error>>()?;
        let abandoned = Arc::<AtomicBool>::default();
        let (steps, taken) = sync_channel(WAITING);
        let (sender, events) = sync_channel(WAITING + 1);
        let interrupt = self.writer().clone();
        let work = Work { target: target.clone(), columns, abandoned: abandoned.clone(), interrupt: interrupt.clone() };
        let location = self.location().clone();
        descriptor_table::spawn(move || {
            let end = work.run(&location, taken, &sender);
            // Nobody needs the event if the writer is gone.
            let _ = sender.send(end.map(Progress::Committed));
        })?;
        let mut writer = SqliteWriter { steps: Some(steps), events, abandoned, interrupt, lent: VecDeque::new() };
        // The table is ready.
        writer.next(keep)?;
        Ok(Box::new(writer))
    }
}

/// # Errors
/// Nothing can be written there.
fn check(location: &Location) -> Result<(), Error> {
    let refused = |message: &str| Err(Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000"));
    match location {
        location if location.path == MEMORY => {
            refused("an SQLite database in memory ends with its connection: name a file")
        }
        location if location.immutable => {
            refused("the URI says immutable=1, that nobody writes to the file: leave it out")
        }
        location if location.access == Access::Gateway => refused("a gateway's clients cannot write to SQLite files"),
        _ => Ok(()),
    }
}

/// What the writer has for the thread. If the writer is gone, the thread rolls back.
enum Step {
    Rows(RecordBatch),
    Finish,
}

/// What the thread has for the writer.
enum Progress {
    /// The table is ready, or the oldest batch was inserted and is not referred to any more.
    Done,
    /// The rows that were committed.
    Committed(u64),
}

struct Work {
    target: WriteTarget,
    columns: Vec<(String, ColumnMeaning)>,
    abandoned: Arc<AtomicBool>,
    interrupt: WriterInterrupt,
}

impl Work {
    /// Opens the file and runs the transaction.
    fn run(
        &self,
        location: &Location,
        steps: Receiver<Step>,
        events: &SyncSender<Result<Progress, Error>>,
    ) -> Result<u64, Error> {
        let (name, is_uri) = location.file()?;
        let database = Database::open_to_write(&name, is_uri, location.patience)?;
        *self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = Some(database.interrupt());
        // The writer sets this before it looks for the handle.
        self.check(&database)?;
        database.run("BEGIN IMMEDIATE").map_err(|error| not_writable(error, location))?;
        let written = self.write(&database, &steps, events);
        if written.is_err() {
            database.arm();
            // After some errors SQLite has rolled back already. Closing the database also does.
            let _ = database.run("ROLLBACK");
            // After a failed write to the file, such as on a full disk, ROLLBACK leaves the journal to whoever reads
            // next, and readers that cannot write would refuse the file.
            let _ = database.texts("SELECT 1 FROM main.sqlite_schema LIMIT 1");
        }
        written
    }

    /// # Errors
    /// The writer was interrupted, is gone, or was cancelled.
    fn check(&self, database: &Database) -> Result<(), Error> {
        if self.abandoned.load(Ordering::Acquire) {
            return Err(interrupted());
        }
        if database.is_stopped() {
            return Err(Error::new(ErrorKind::Database, "the write was cancelled").with_sqlstate("57014"));
        }
        Ok(())
    }

    fn write(
        &self,
        database: &Database,
        steps: &Receiver<Step>,
        events: &SyncSender<Result<Progress, Error>>,
    ) -> Result<u64, Error> {
        let tell = |progress| events.send(Ok(progress)).map_err(|_| interrupted());
        let table = table::prepare(database, &self.target, &self.columns)?;
        tell(Progress::Done)?;
        let (rows, stored) = {
            let mut inserter = RowInserter::begin(database, &table)?;
            while let Step::Rows(batch) = steps.recv().map_err(|_| interrupted())? {
                for start in (0..batch.num_rows()).step_by(PART) {
                    let part = batch.slice(start, PART.min(batch.num_rows() - start));
                    let values = part.columns().iter().zip(&self.columns);
                    let values = values.map(|(array, (_, meaning))| BatchColumn::of(array, meaning));
                    let values = values.collect::<Result<Vec<_>, _>>()?;
                    inserter.insert(&values, part.num_rows(), || self.check(database))?;
                }
                drop(batch);
                tell(Progress::Done)?;
            }
            (inserter.rows, inserter.stored)
        };
        if stored != rows {
            return Err(other_count(rows, stored));
        }
        self.check(database)?;
        database.run("COMMIT")?;
        Ok(rows)
    }
}

/// A file that cannot be written to is opened to be read, and fails only now.
fn not_writable(error: Error, location: &Location) -> Error {
    if error.sqlstate() != Some("25006") {
        return error;
    }
    let message = format!("the file {:?} cannot be written to: {}", location.path, error.message());
    Error::new(ErrorKind::Database, message)
        .with_sqlstate("25006")
        .with_hint("check the rights of the file and of its directory, in which SQLite makes a journal")
}

/// The caller's side. Dropping it rolls back.
struct SqliteWriter {
    steps: Option<SyncSender<Step>>,
    events: Receiver<Result<Progress, Error>>,
    /// Set before the thread could commit an interrupted write.
    abandoned: Arc<AtomicBool>,
    interrupt: WriterInterrupt,
    /// The batches that the thread has, the oldest first.
    lent: VecDeque<RecordBatch>,
}

impl SqliteWriter {
    /// The thread's next event.
    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Progress, Error> {
        match feed::receive(&self.events, keep) {
            Ok(event) => event,
            Err(NoItem::Interrupted) => Err(interrupted()),
            Err(NoItem::Gone) => Err(Error::new(ErrorKind::ConnectionLost, "the thread that writes died")),
        }
    }

    fn send(&mut self, step: Step, keep: ContinueCheck<'_>) -> Result<(), Error> {
        if self.steps.as_ref().is_some_and(|steps| steps.send(step).is_ok()) {
            return Ok(());
        }
        // The thread has ended, and its last event says why.
        loop {
            self.next(keep)?;
        }
    }
}

impl TableWriter for SqliteWriter {
    fn write(&mut self, batch: &RecordBatch, keep: ContinueCheck<'_>) -> Result<(), Error> {
        while self.lent.len() >= WAITING {
            self.next(keep)?;
            self.lent.pop_front();
        }
        self.lent.push_back(batch.clone());
        self.send(Step::Rows(batch.clone()), keep)
    }

    fn finish(mut self: Box<Self>, keep: ContinueCheck<'_>) -> Result<u64, Error> {
        self.send(Step::Finish, keep)?;
        loop {
            if let Progress::Committed(rows) = self.next(keep)? {
                return Ok(rows);
            }
        }
    }
}

impl Drop for SqliteWriter {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Release);
        self.steps = None;
        let running = || self.interrupt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(interrupt) = &*running() {
            interrupt.stop();
        }
        // Afterwards the journal is gone, and the file can be written to again.
        let ended = feed::drain(&self.events, STOP_LIMIT, |_| false);
        if ended == Err(RecvTimeoutError::Timeout) {
            // The thread still has them.
            mem::forget(mem::take(&mut self.lent));
        }
        // The handle keeps the database open.
        *running() = None;
    }
}

fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "interrupted")
}
