//! The interface of DuckDB's library.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use colonnade_server::functions::Functions;
use colonnade_server::value::types::Type;
use colonnade_server::{
    BatchSize, CatalogVersion, ColumnCheck, Columns, EngineAnswer, EngineError, Interrupt, Origins, Parameter, SqlState,
};
use colonnade_sql::statement::ExplainInputs;

use crate::{AggregateDispatch, AllowedStatement, TableConstraint, TableFunctions};

/// One connection of DuckDB's library to its database. The [`fence`](crate::fence) has let each statement through; the
/// connection refuses those of which DuckDB's kind is another one than the fence has found. It reads the library's
/// errors by [`Translated::error`](crate::Translated::error).
pub trait LibraryConnection: Send {
    /// Runs a statement with values for its placeholders. With `must_give_rows`, a statement without rows fails and
    /// does not run.
    ///
    /// # Errors
    /// DuckDB's error.
    fn execute(
        &mut self,
        statement: &AllowedStatement<'_>,
        values: &[&Parameter],
        size: BatchSize,
        must_give_rows: bool,
    ) -> Result<EngineAnswer, EngineError>;

    /// Removes a part of what the session has for its client: DISCARD TEMP, RESET ALL or DEALLOCATE ALL, in this form.
    ///
    /// # Errors
    /// DuckDB's error.
    fn discard(&mut self, what: &str) -> Result<(), EngineError>;

    /// Runs a query of a function in Python. A statement that is no query, or changes anything, is refused (25006) and
    /// does not run. Within a transaction of the client it is part of it, and otherwise has one of its own.
    ///
    /// # Errors
    /// DuckDB's error.
    fn read(&mut self, statement: &AllowedStatement<'_>, size: BatchSize) -> Result<EngineAnswer, EngineError>;

    /// Runs a statement that must give rows. If it changes the database, it runs only if `check` accepts its columns.
    ///
    /// # Errors
    /// DuckDB's error, or the error of `check`.
    fn query_checked(
        &mut self,
        statement: &AllowedStatement<'_>,
        size: BatchSize,
        check: ColumnCheck,
    ) -> Result<EngineAnswer, EngineError>;

    /// The parameters of a statement and, with these values, its columns. The statement does not run.
    ///
    /// # Errors
    /// DuckDB's error.
    fn describe(
        &mut self,
        statement: &AllowedStatement<'_>,
        values: &[&Parameter],
    ) -> Result<StatementTypes, EngineError>;

    /// [`EngineSession::catalog_version`](colonnade_server::EngineSession::catalog_version).
    fn catalog_version(&mut self) -> Option<CatalogVersion> {
        None
    }

    /// The types of literals without a cast that DuckDB reads in another form than PostgreSQL. Each has its first byte,
    /// in order.
    ///
    /// # Errors
    /// DuckDB's error, if it does not depend on the statement.
    fn open_literals(&mut self, statement: &AllowedStatement<'_>) -> Result<Vec<(usize, Type)>, EngineError> {
        let _ = statement;
        Ok(Vec::new())
    }

    /// Runs an INSERT that reads the rows of `batches` as table `name`. Gives their number.
    ///
    /// # Errors
    /// DuckDB's error.
    fn insert(
        &mut self,
        statement: &AllowedStatement<'_>,
        name: &str,
        batches: Vec<RecordBatch>,
    ) -> Result<u64, EngineError>;

    /// Constraints of the tables with this name, of all schemas, and foreign keys that refer to such a table. A transaction
    /// may have been aborted; then those that are committed.
    ///
    /// # Errors
    /// DuckDB's error.
    fn constraints(&mut self, table: &str) -> Result<Vec<TableConstraint>, EngineError> {
        let _ = table;
        Ok(Vec::new())
    }

    /// The functions in Python, if the database has any.
    fn functions(&mut self) -> Option<&mut dyn Functions> {
        None
    }

    /// The names that may be those of aggregates in Python, in lower case; `None` if there are none.
    fn aggregates(&self) -> Option<Arc<HashSet<String>>> {
        None
    }

    /// How an aggregate in Python with this name and number of arguments is called; `None` if there is none.
    ///
    /// # Errors
    /// If several functions are possible.
    fn aggregate(
        &mut self,
        schema: Option<&str>,
        name: &str,
        arguments: usize,
    ) -> Result<Option<AggregateDispatch>, EngineError> {
        let _ = (schema, name, arguments);
        Ok(None)
    }

    /// The table functions in Python, if the database has any.
    fn tables(&mut self) -> Option<&mut dyn TableFunctions> {
        None
    }

    /// Has the next statement's calls of functions that get whole columns captured. `inputs` or `abandon_inputs` ends
    /// this.
    ///
    /// # Errors
    /// If there is no such function.
    fn begin_inputs(&mut self, inputs: &ExplainInputs) -> Result<(), EngineError> {
        let _ = inputs;
        Err(EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, "this connection has no functions in Python"))
    }

    /// Ends the capture of a statement that does not run.
    fn abandon_inputs(&mut self) {}

    /// Runs a query with a capture in the place of a function's call. Gives what the call would get.
    ///
    /// # Errors
    /// DuckDB's error, or why there is no such call.
    fn inputs(
        &mut self,
        inputs: &ExplainInputs,
        query: &AllowedStatement<'_>,
        values: &[&Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        let _ = (inputs, query, values, size);
        Err(EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, "this connection has no functions in Python"))
    }

    /// The columns that `inputs` gives; `None` if they depend on the call.
    ///
    /// # Errors
    /// If there is no such function.
    fn input_columns(&mut self, inputs: &ExplainInputs) -> Result<Option<Vec<(String, Type)>>, EngineError> {
        let _ = inputs;
        Err(EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, "this connection has no functions in Python"))
    }

    /// The lines that functions have printed since the last call.
    fn take_notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// A handle that stops a running statement from another thread.
    fn interrupt_handle(&self) -> Arc<dyn Interrupt>;
}

/// The types of a statement that has not run.
#[derive(Default)]
pub struct StatementTypes {
    /// The types of the placeholders, by number from 1; unknown if PostgreSQL would leave one open.
    pub parameters: Vec<(usize, Type)>,
    /// The columns.
    pub columns: Columns,
    /// Their origins.
    pub origins: Origins,
}
