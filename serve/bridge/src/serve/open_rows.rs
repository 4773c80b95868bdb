//! The rows of a function's query on their way to its process.

use arrow_array::RecordBatch;
use colonnade_duckdb::types;
use colonnade_server::{BatchSize, EngineAnswer, EngineError, Rows};
use colonnade_udf::{FunctionColumn, LoopbackError, LoopbackReply, LoopbackRows};

use crate::duckdb_api::{WriteError, column, write_column};

/// The rows are sent to the function process in batches of this size.
pub(super) const BATCH: BatchSize =
    BatchSize { rows: 122_880, bytes: 4 << 20, columns: usize::MAX, may_be_encoded: false, has_origins: false };

/// A query that runs.
pub(super) struct OpenRows {
    rows: Box<dyn Rows>,
    columns: Vec<FunctionColumn>,
    /// The next batch.
    next: Option<RecordBatch>,
}

impl OpenRows {
    /// The rows of an answer.
    pub fn new(answer: Result<EngineAnswer, EngineError>) -> Result<Self, LoopbackError> {
        let mut rows = match answer.map_err(loopback_error)? {
            EngineAnswer::Rows(rows) => rows,
            EngineAnswer::Done { .. } => return Err(LoopbackError::new("25006", "this statement gives no rows")),
        };
        let columns = columns(rows.as_ref())?;
        let next = rows.next().map_err(loopback_error)?;
        Ok(Self { rows, columns, next })
    }

    /// Writes the next rows, and ends the query after the last ones.
    pub fn write_next(running: &mut Option<Self>, reply: LoopbackReply<'_>) -> Result<LoopbackRows, LoopbackError> {
        let rows = running.as_mut().ok_or_else(|| LoopbackError::new("55000", "the query has no more rows"))?;
        let written = rows.write(reply);
        if !written.as_ref().is_ok_and(|written| written.has_more) {
            *running = None;
        }
        written
    }

    fn write(&mut self, reply: LoopbackReply<'_>) -> Result<LoopbackRows, LoopbackError> {
        let batch = self.next.take().unwrap_or_else(|| RecordBatch::new_empty(self.rows.schema()));
        self.next = self.rows.next().map_err(loopback_error)?;
        let mut reply = reply.begin(&self.columns, batch.num_rows())?;
        for (column, array) in self.columns.iter().zip(batch.columns()) {
            write_column(&mut reply, &column.column_type, array).map_err(|error| match error {
                WriteError::Ring(error) => error.into(),
                WriteError::Value(error) => LoopbackError::new("XX000", error.to_string()),
            })?;
        }
        Ok(reply.finish(self.next.is_some())?)
    }
}

/// The columns of a query. Each has a name of its own, because the function gets them by name.
fn columns(rows: &dyn Rows) -> Result<Vec<FunctionColumn>, LoopbackError> {
    let schema = rows.schema();
    let mut names = std::collections::HashSet::new();
    if let Some(twice) = schema.fields().iter().find(|field| !names.insert(field.name().as_str())) {
        let text = format!("two columns of the query have the name \"{}\"", twice.name());
        let hint = "Give one of them another name with AS.".to_owned();
        return Err(LoopbackError { hint, ..LoopbackError::new("42701", text) });
    }
    let type_names = rows.type_names().iter().map(String::as_str).chain(std::iter::repeat(""));
    // Functions get the type without its number.
    let columns = schema.fields().iter().zip(type_names).map(|(field, name)| column(field, &types::named(name).name));
    columns.collect::<Result<_, _>>().map_err(|error| LoopbackError::new("0A000", error.to_string()))
}

/// An error of the engine as the function gets it.
pub(super) fn loopback_error(error: EngineError) -> LoopbackError {
    let context = error.function.map(|place| place.context).unwrap_or_default();
    let (detail, hint) = (error.detail.unwrap_or_default(), error.hint.unwrap_or_default());
    LoopbackError { code: error.code.as_str().to_owned(), message: error.message, detail, hint, context }
}
