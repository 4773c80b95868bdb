//! Table functions in Python: `colonnade_serve._duckdb.table_functions.TableFunctions` calls them.

use std::collections::HashSet;
use std::sync::Arc;

use colonnade_duckdb::{BlockInput, FunctionUse, TableFunctions, TableInput, Translated};
use colonnade_server::{EngineError, Parameter, SqlState};
use pyo3::prelude::*;

use super::{PyConnection, named_values};

/// An argument for Python: its text, whether it is a query, and the names of its parameters.
type Input<'a> = (&'a str, bool, Vec<String>);

fn given(inputs: &[TableInput]) -> Vec<Input<'_>> {
    let names = |input: &TableInput| input.parameters.iter().map(usize::to_string).collect();
    inputs.iter().map(|input| (input.text.as_str(), input.is_query, names(input))).collect()
}

impl PyConnection {
    fn with_tables<T>(
        &self,
        statement: &Translated,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, EngineError> {
        self.with_session(statement, |session| work(&session.getattr("tables")?))
    }
}

impl TableFunctions for PyConnection {
    fn table_names(&self) -> Option<Arc<HashSet<String>>> {
        self.tables.all()
    }

    fn function_use(&mut self, schema: Option<&str>, name: &str) -> Result<FunctionUse, EngineError> {
        let kind: Option<String> =
            self.with_tables(&Translated::default(), |tables| tables.call_method1("use", (schema, name))?.extract())?;
        Ok(match kind.as_deref() {
            Some("table") => FunctionUse::Table,
            Some(_) => FunctionUse::Column,
            None => FunctionUse::Other,
        })
    }

    fn stand_in(
        &mut self,
        schema: Option<&str>,
        name: &str,
        inputs: &[TableInput],
        statement: &Translated,
    ) -> Result<Option<String>, EngineError> {
        self.with_tables(statement, |tables| tables.call_method1("stand_in", (schema, name, given(inputs)))?.extract())
    }

    fn begin_calls(&mut self, statement: &Translated) -> Result<(), EngineError> {
        if !self.is_owner {
            // The connection is between the calls of a statement and the statement itself.
            let text = "a query of a table function calls a table function";
            let hint = "Call it in the outer statement: FROM f((SELECT … FROM g((SELECT …)))).";
            let error = EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, text);
            return Err(EngineError { hint: Some(hint.to_owned()), ..error });
        }
        self.ends_transaction = true;
        self.with_session(statement, |session| session.call_method0("begin_calls").map(drop))
    }

    fn call_table(
        &mut self,
        schema: Option<&str>,
        name: &str,
        inputs: &[TableInput],
        statement: &Translated,
        values: &[&Parameter],
    ) -> Result<String, EngineError> {
        self.with_tables(statement, |tables| {
            tables.call_method1("call", (schema, name, given(inputs), named_values(values)))?.extract()
        })
    }

    fn call_block(
        &mut self,
        block: &BlockInput,
        statement: &Translated,
        values: &[&Parameter],
    ) -> Result<String, EngineError> {
        let query = given(std::slice::from_ref(&block.query));
        let BlockInput { calls, marks, is_outermost, sorted_by, .. } = block;
        let arguments = (query, calls, marks, *is_outermost, sorted_by, named_values(values));
        self.with_tables(statement, |tables| tables.call_method1("call_block", arguments)?.extract())
    }

    fn abandon_calls(&mut self) {
        self.ends_transaction = false;
        self.session.tell("abandon_calls");
    }
}
