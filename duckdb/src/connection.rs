//! What a session needs of DuckDB's library.

use std::sync::Arc;

use arrow_array::RecordBatch;
use colonnade_server::value::types::Type;
use colonnade_server::{BatchSize, ColumnCheck, Columns, EngineAnswer, EngineError, Interrupt, Parameter};

use crate::Translated;

/// One connection of DuckDB's library to its database. It checks each statement with the [`fence`](crate::fence) before it runs, and
/// reads the library's errors by [`Translated::error`].
pub trait LibraryConnection: Send {
    /// Runs a statement with values for its placeholders. If it `must_give_rows` and does not, it does not run.
    ///
    /// # Errors
    /// What DuckDB says.
    fn execute(
        &mut self,
        statement: &Translated,
        values: &[&Parameter],
        size: BatchSize,
        must_give_rows: bool,
    ) -> Result<EngineAnswer, EngineError>;

    /// Runs a statement that must give rows. If it changes the database, it runs only if `check` accepts its columns.
    ///
    /// # Errors
    /// What DuckDB says, and the errors of `check`.
    fn query_checked(
        &mut self,
        statement: &Translated,
        size: BatchSize,
        check: ColumnCheck,
    ) -> Result<EngineAnswer, EngineError>;

    /// What a statement takes and, with these values, what it gives. It does not run.
    ///
    /// # Errors
    /// What DuckDB says.
    fn describe(&mut self, statement: &Translated, values: &[&Parameter]) -> Result<StatementTypes, EngineError>;

    /// Runs an INSERT that reads the rows of `batch` under `name`; gives their number.
    ///
    /// # Errors
    /// What DuckDB says.
    fn insert(&mut self, statement: &Translated, name: &str, batch: RecordBatch) -> Result<u64, EngineError>;

    /// What stops a running statement from another thread.
    fn interrupt_handle(&self) -> Arc<dyn Interrupt>;
}

/// What DuckDB says of a statement that does not run.
pub struct StatementTypes {
    /// The types of its placeholders, by number from 1, where DuckDB can tell them.
    pub parameters: Vec<(usize, Type)>,
    /// Its columns.
    pub columns: Columns,
}
