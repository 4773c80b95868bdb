//! The rows of a result, as DuckDB streams them.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader as _, new_null_array};
use arrow_schema::{ArrowError, DataType, Fields, SchemaRef};
use colonnade_duckdb::Translated;
use colonnade_interop::rows::RowReader;
use colonnade_server::value::oid::ColumnOrigin;
use colonnade_server::{EngineError, Rows};
use pyo3::prelude::*;

use super::{PySession, engine_error, functions};
use crate::attached::attached;
use crate::producer_text::producer_text;
use crate::table::Table;

/// What stands for the line that `duckdb_types/gathering.py` puts before a query: DuckDB tells positions by lines.
const BEFORE_GATHERED: &str = "\n";

/// A result that DuckDB streams.
pub(super) struct PyRows {
    /// The session, if its transaction ends with these rows, or if it has functions.
    pub session: Option<Arc<PySession>>,
    pub ends_transaction: bool,
    pub has_functions: bool,
    /// `None` once this is dropped: the stream ends before the transaction.
    pub reader: Option<RowReader>,
    /// The rows that have been read, if the session wants to keep them all.
    pub kept: Option<KeptBatches>,
    pub schema: SchemaRef,
    pub types: Vec<String>,
    pub origins: Vec<ColumnOrigin>,
    pub statement: Translated,
}

impl Rows for PyRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn type_names(&self) -> &[String] {
        &self.types
    }

    fn origins(&self) -> &[ColumnOrigin] {
        &self.origins
    }

    fn is_gathered(&self) -> bool {
        matches!(self.reader, Some(RowReader::Vectors(_)))
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        let next = self.reader.as_mut().and_then(RowReader::next);
        match (&next, self.reader.as_ref()) {
            (Some(Ok(batch)), _) => self.kept = self.kept.take().and_then(|kept| kept.with(batch)),
            (None, Some(RowReader::Arrow(reader))) => {
                if let Some(kept) = self.kept.take() {
                    kept.pass_on(reader.schema());
                }
            }
            _ => self.kept = None,
        }
        if next.is_none() && self.ends_transaction {
            drop(self.reader.take());
            return self.commit().map(|()| None);
        }
        let batch = next.transpose().and_then(|batch| batch.map(|batch| self.with_untyped(batch)).transpose());
        batch.map_err(|error| {
            let text = producer_text(&error);
            let session = self.session.as_ref().filter(|_| self.has_functions);
            let of_function = session.and_then(|session| attached(|py| functions::failure(session.0.bind(py), text)));
            of_function.unwrap_or_else(|| match self.reader {
                Some(RowReader::Vectors(_)) => self.statement.error_after(BEFORE_GATHERED, text),
                _ => self.statement.error(text),
            })
        })
    }
}

impl PyRows {
    /// The batch with NULLs without a type where the schema has them. A stream may have another type in the first
    /// column (`batch_rows.py`).
    fn with_untyped(&self, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
        let is_untyped = |fields: &Fields| fields.first().is_some_and(|field| *field.data_type() == DataType::Null);
        if !is_untyped(self.schema.fields()) || is_untyped(batch.schema_ref().fields()) {
            return Ok(batch);
        }
        let mut columns = batch.columns().to_vec();
        columns[0] = new_null_array(&DataType::Null, batch.num_rows());
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

/// All rows of a small result.
pub(super) struct KeptBatches {
    /// A `kept_rows.Keeping`; `None` once it is dropped.
    keep: Option<Py<PyAny>>,
    batches: Vec<RecordBatch>,
}

impl KeptBatches {
    /// The most bytes, of which a session keeps several results.
    const MOST_BYTES: usize = 256 << 10;

    pub fn new(keep: Py<PyAny>) -> Self {
        Self { keep: Some(keep), batches: Vec::new() }
    }

    /// With one batch more; `None` if that is too much.
    fn with(mut self, batch: &RecordBatch) -> Option<Self> {
        self.batches.push(batch.clone());
        let bytes: usize = self.batches.iter().map(RecordBatch::get_array_memory_size).sum();
        (bytes <= Self::MOST_BYTES).then_some(self)
    }

    /// Has the session keep them, because there are no more.
    fn pass_on(mut self, schema: SchemaRef) {
        let batches = std::mem::take(&mut self.batches);
        attached(|py| {
            let kept = self.keep.take().map(|keep| keep.into_bound(py).call1((Table { schema, batches },)));
            if let Some(Err(error)) = kept {
                // The rows have been read all the same.
                error.write_unraisable(py, None);
            }
        });
    }
}

impl Drop for KeptBatches {
    fn drop(&mut self) {
        // Rows are also read within callbacks of DuckDB, where PyO3 takes the interpreter lock for held.
        if let Some(keep) = self.keep.take() {
            attached(|_| drop(keep));
        }
    }
}

impl PyRows {
    /// Ends the statement's own transaction. The client must hear of it if it fails, because then the statement is
    /// undone.
    fn commit(&mut self) -> Result<(), EngineError> {
        let Some(session) = &self.session else { return Ok(()) };
        self.ends_transaction = false;
        attached(|py| {
            let ended = session.0.bind(py).call_method0("finish");
            ended.map(drop).map_err(|error| engine_error(py, &error, &self.statement))
        })
    }
}

impl Drop for PyRows {
    fn drop(&mut self) {
        drop(self.reader.take());
        if let Some(session) = self.session.as_ref().filter(|_| self.ends_transaction) {
            session.tell("finish");
        }
    }
}
