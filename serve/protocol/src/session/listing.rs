//! The result of a statement that the session answers itself: rows of texts.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::engine::{EngineError, Rows};
use crate::sqlstate::SqlState;

pub struct Listing {
    pub names: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

struct ListedRows {
    schema: SchemaRef,
    batch: Option<RecordBatch>,
}

impl Listing {
    /// One value with this name.
    pub fn of(name: &'static str, value: String) -> Self {
        Self { names: vec![name], rows: vec![vec![value]] }
    }

    /// The listing as a result of one batch.
    ///
    /// # Errors
    /// If Arrow refuses the columns.
    pub fn into_rows(self) -> Result<Box<dyn Rows>, EngineError> {
        let fields: Vec<_> = self.names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let column = |at: usize| Arc::new(self.rows.iter().map(|row| row.get(at)).collect::<StringArray>()) as ArrayRef;
        let batch = RecordBatch::try_new(Arc::clone(&schema), (0..self.names.len()).map(column).collect())
            .map_err(|error| EngineError::new(SqlState::INTERNAL_ERROR, error.to_string()))?;
        Ok(Box::new(ListedRows { schema, batch: Some(batch) }))
    }
}

impl Rows for ListedRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        Ok(self.batch.take())
    }
}
