//! An executor of a plan: it gathers the rows that it computes. One thread at a time has it.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Field, Fields, Schema};
use colonnade_duckdb_api::vectors::VectorValues;

use crate::column::Column;
use crate::types::{BATCH_ROWS, ColumnType, VectorForm};

/// The bytes after which a batch ends.
const BATCH_BYTES: usize = 16 << 20;

/// The rows that an executor has gathered and that have not been taken.
pub(crate) struct Executor {
    columns: Vec<Column>,
    /// The schema of the last batch: a column of texts may have another type in the next one.
    schema: Arc<Schema>,
    /// The rows of the batch that is open.
    open: usize,
    complete: VecDeque<RecordBatch>,
    /// All rows so far.
    rows: u64,
}

impl Executor {
    pub fn new(schema: &Arc<Schema>, types: &[ColumnType], form: VectorForm) -> Self {
        let columns = types.iter().map(|type_| Column::new(type_.clone(), form)).collect();
        Self { columns, schema: Arc::clone(schema), open: 0, complete: VecDeque::new(), rows: 0 }
    }

    /// All rows that have been gathered.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends the rows of vectors.
    ///
    /// # Safety
    /// The vectors have the columns' types, and so many rows.
    pub unsafe fn append(&mut self, vectors: &[VectorValues], rows: usize) -> Result<(), ArrowError> {
        for (column, vector) in self.columns.iter_mut().zip(vectors) {
            // SAFETY: the caller promises it.
            unsafe { column.append(vector, rows) }?;
        }
        self.open += rows;
        self.rows += rows as u64;
        let bytes = || self.columns.iter().map(Column::bytes).sum::<usize>();
        if self.open >= BATCH_ROWS || bytes() >= BATCH_BYTES {
            self.complete()?;
        }
        Ok(())
    }

    /// Ends the open batch, if it has rows.
    pub fn complete(&mut self) -> Result<(), ArrowError> {
        if self.open == 0 {
            return Ok(());
        }
        let columns: Vec<_> = self.columns.iter_mut().map(Column::take).collect();
        let is_same =
            self.schema.fields().iter().zip(&columns).all(|(field, array)| field.data_type() == array.data_type());
        if !is_same {
            let typed = |(field, array): (&Arc<Field>, &ArrayRef)| {
                field.as_ref().clone().with_data_type(array.data_type().clone())
            };
            let fields: Fields = self.schema.fields().iter().zip(&columns).map(typed).collect();
            self.schema = Arc::new(Schema::new(fields));
        }
        self.complete.push_back(RecordBatch::try_new(Arc::clone(&self.schema), columns)?);
        self.open = 0;
        Ok(())
    }

    /// Adds a batch that has ended.
    #[cfg(test)]
    pub fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows() as u64;
        self.complete.push_back(batch);
    }

    /// The first batch that has ended.
    pub fn first(&self) -> Option<&RecordBatch> {
        self.complete.front()
    }

    /// Removes the first batch.
    pub fn remove_first(&mut self) {
        self.complete.pop_front();
    }
}
