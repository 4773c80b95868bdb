//! What an execution gave: a schema and batches, read once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use adbc_core::error::{Error, Result, Status};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use colonnade_client::ResultStream;

use crate::error::{converted, refused};

/// The rows, for whoever reads them.
pub(crate) struct Rows(Arc<Shared>);

/// The rows, for the statement and the session that they are of. It does not keep them alive.
#[derive(Clone, Default)]
pub(crate) struct WeakRows(Weak<Shared>);

struct Shared {
    schema: SchemaRef,
    rows_affected: Option<u64>,
    reading: Mutex<Reading>,
}

struct Reading {
    /// Batches that were read before they were asked for.
    ahead: VecDeque<RecordBatch>,
    source: Source,
    /// Whether the reader has had a batch.
    is_begun: bool,
}

enum Source {
    Open(Box<dyn ResultStream>),
    /// Read to the end, or given up for a reason.
    Over(Option<Error>),
}

thread_local! {
    /// The rows of the last execution on this thread. `adbc_ffi` hides the objects behind its handles, so that its
    /// callers get the rows that they export from here.
    static LATEST: RefCell<WeakRows> = const { RefCell::new(WeakRows(Weak::new())) };
}

impl Rows {
    /// The rows of a running query.
    ///
    /// # Errors
    /// A column has a name that Arrow's C interface cannot carry.
    pub(crate) fn streamed(stream: Box<dyn ResultStream>) -> Result<Self> {
        let schema = stream.schema().clone();
        Self::new(schema, None, VecDeque::new(), Source::Open(stream))
    }

    /// Rows that are here already.
    ///
    /// # Errors
    /// As for [`Rows::streamed`].
    pub(crate) fn collected(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Self> {
        Self::new(schema, None, batches.into(), Source::Over(None))
    }

    /// Of a statement that gives none.
    ///
    /// # Errors
    /// None: there is no column.
    pub(crate) fn none(rows_affected: Option<u64>) -> Result<Self> {
        Self::new(Schema::empty().into(), rows_affected, VecDeque::new(), Source::Over(None))
    }

    fn new(
        schema: SchemaRef,
        rows_affected: Option<u64>,
        ahead: VecDeque<RecordBatch>,
        source: Source,
    ) -> Result<Self> {
        colonnade_client::export::check_schema(&schema).map_err(|error| converted(&error))?;
        let rows = Self(Arc::new(Shared {
            schema,
            rows_affected,
            reading: Mutex::new(Reading { ahead, source, is_begun: false }),
        }));
        LATEST.set(rows.downgrade());
        Ok(rows)
    }

    /// The rows that were made last on this thread, if somebody still holds them. They are handed out once.
    pub(crate) fn take_latest() -> Option<Self> {
        LATEST.take().upgrade()
    }

    pub(crate) fn downgrade(&self) -> WeakRows {
        WeakRows(Arc::downgrade(&self.0))
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    /// How many rows the statement changed, if it gave none and the database says so.
    pub(crate) fn rows_affected(&self) -> Option<u64> {
        self.0.rows_affected
    }

    /// The next batch, or `None` after the last.
    ///
    /// # Errors
    /// Those of the query; the result is over then, and every later call gives the same error.
    pub(crate) fn next_batch(&self) -> Result<Option<RecordBatch>> {
        self.0.reading().next_batch()
    }
}

impl WeakRows {
    fn upgrade(&self) -> Option<Rows> {
        self.0.upgrade().map(Rows)
    }

    /// Ends the result. Whoever still reads it gets the reason.
    pub(crate) fn give_up(&self, reason: &str) {
        if let Some(rows) = self.upgrade() {
            let mut reading = rows.0.reading();
            if matches!(reading.source, Source::Open(_)) {
                reading.ahead.clear();
                reading.source = Source::Over(Some(refused(Status::InvalidState, reason)));
            }
        }
    }

    /// Whether rows are still to come from the database. A reader may have had the last batch and not asked whether it
    /// was the last: so after its first batch the next one is read here, and kept for the reader.
    pub(crate) fn is_open(&self) -> bool {
        let Some(rows) = self.upgrade() else { return false };
        // Whoever holds the lock waits for a batch.
        let Ok(mut reading) = rows.0.reading.try_lock() else { return true };
        if matches!(reading.source, Source::Open(_)) && reading.ahead.is_empty() && reading.is_begun {
            // The reader gets an error when it asks.
            if let Ok(Some(batch)) = reading.pull() {
                reading.ahead.push_back(batch);
            }
        }
        matches!(reading.source, Source::Open(_))
    }
}

impl Shared {
    fn reading(&self) -> MutexGuard<'_, Reading> {
        // Every change is one assignment, so a panic elsewhere leaves nothing half-done.
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.is_begun = true;
        match self.ahead.pop_front() {
            Some(batch) => Ok(Some(batch)),
            None => self.pull(),
        }
    }

    fn pull(&mut self) -> Result<Option<RecordBatch>> {
        let stream = match &mut self.source {
            Source::Open(stream) => stream,
            Source::Over(None) => return Ok(None),
            Source::Over(Some(reason)) => return Err(reason.clone()),
        };
        let batch = stream.next(&mut || true).and_then(|batch| batch.map(|batch| batch.decode()).transpose());
        let batch = batch.map_err(|error| converted(&error));
        match &batch {
            Ok(Some(_)) => {}
            Ok(None) => self.source = Source::Over(None),
            Err(error) => self.source = Source::Over(Some(error.clone())),
        }
        batch
    }
}

impl Iterator for Rows {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }
}
