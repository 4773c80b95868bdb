//! EXPLAIN (INPUTS …): the inputs of a function in Python.

use colonnade_server::error::Failure;
use colonnade_server::functions::DefinitionError;
use colonnade_server::{BatchSize, Columns, Description, EngineAnswer, EngineError, Origins, Parameter, SqlState};
use colonnade_sql::statement::{ExplainInputs, SyntaxError};
use colonnade_sql::{Dialect, Statement, StatementKind};

use crate::aggregates::Purpose;
use crate::{LibraryConnection, TranslatingSession};

/// The request of a statement; `None` for other statements.
pub(crate) fn requested<'a>(statement: &'a Statement<'_>) -> Option<&'a Result<ExplainInputs, SyntaxError>> {
    match &statement.kind {
        StatementKind::ExplainInputs(inputs) => Some(inputs),
        _ => None,
    }
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Runs the query with a capture in the place of a call. The result is what the call would get.
    pub(crate) fn inputs(
        &mut self,
        statement: &Statement<'_>,
        inputs: &Result<ExplainInputs, SyntaxError>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        let inputs = self.checked_inputs(statement, inputs)?;
        let run = |session: &mut Self| {
            // Functions that get whole columns are called while the query is prepared.
            session.connection.library().begin_inputs(inputs)?;
            // The calls are counted as DuckDB binds them: so arguments stand only once.
            let purpose = Purpose::Describe;
            match session.with_values(&statement.text[inputs.query.clone()], parameters, purpose) {
                Ok((query, values)) => session.connection.inputs(inputs, &query, &values, size),
                Err(error) => {
                    session.connection.library().abandon_inputs();
                    Err(error)
                }
            }
        };
        run(self).map_err(|error| placed(error, statement, inputs))
    }

    /// Describes such a statement.
    pub(crate) fn describe_inputs(
        &mut self,
        statement: &Statement<'_>,
        inputs: &Result<ExplainInputs, SyntaxError>,
        types: &[u32],
    ) -> Result<Description, EngineError> {
        let inputs = self.checked_inputs(statement, inputs)?;
        let query = Statement::of(&statement.text[inputs.query.clone()], Dialect::DuckDb);
        let described = self.description(&query, types).map_err(|error| placed(error, statement, inputs))?;
        let columns = self.connection.library().input_columns(inputs)?.map_or(Columns::Deferred, Columns::Known);
        Ok(Description { columns, origins: Origins::default(), ..described })
    }

    fn checked_inputs<'a>(
        &mut self,
        statement: &Statement<'_>,
        inputs: &'a Result<ExplainInputs, SyntaxError>,
    ) -> Result<&'a ExplainInputs, EngineError> {
        let inputs = inputs.as_ref().map_err(|error| EngineError {
            position: Some(error.position),
            ..EngineError::new(SqlState::SYNTAX_ERROR, error.to_string())
        })?;
        if self.connection.library().functions().is_none() {
            return Err(Failure::from(DefinitionError::Off).into());
        }
        let query = Statement::of(&statement.text[inputs.query.clone()], Dialect::DuckDb);
        if !matches!(query.kind, StatementKind::Query { .. }) {
            let error =
                EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, "EXPLAIN (INPUTS) takes a query; nothing has run");
            return Err(placed(EngineError { position: Some(0), ..error }, statement, inputs));
        }
        Ok(inputs)
    }
}

/// The error of the query, with its position in the statement.
fn placed(error: EngineError, statement: &Statement<'_>, inputs: &ExplainInputs) -> EngineError {
    let before = statement.text[..inputs.query.start].chars().count();
    EngineError { position: error.position.map(|position| position + before), ..error }
}
