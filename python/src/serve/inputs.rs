//! EXPLAIN (INPUTS …): passes requests to `colonnade._duckdb.session.Session`.

use std::collections::HashMap;

use colonnade_duckdb::{Translated, types};
use colonnade_server::value::types::Type;
use colonnade_server::{BatchSize, EngineAnswer, EngineError};
use colonnade_sql::statement::ExplainInputs;
use pyo3::prelude::*;

use super::PyConnection;
use super::functions::written;
use super::values::PyValue;

impl PyConnection {
    /// Runs a query with a capture in the place of a function's call.
    pub(super) fn captured(
        &self,
        inputs: &ExplainInputs,
        query: &Translated,
        values: Option<HashMap<String, PyValue<'_>>>,
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        let sample = inputs.sample.map(|sample| (sample.count, sample.by_groups));
        let arguments =
            (written(&inputs.function), inputs.call, sample, inputs.seed, &query.text, (size.rows, size.bytes), values);
        let answer = self.call("inputs", arguments, query);
        if !matches!(answer, Ok(EngineAnswer::Rows(_))) {
            self.finish();
        }
        answer
    }

    /// The columns of its result.
    pub(super) fn captured_columns(&self, inputs: &ExplainInputs) -> Result<Vec<(String, Type)>, EngineError> {
        let columns: Result<Vec<(String, String)>, _> = self.with_session(&Translated::default(), |session| {
            session.call_method1("input_columns", (written(&inputs.function),))?.extract()
        });
        self.finish();
        Ok(columns?.into_iter().map(|(name, type_name)| (name, types::named(&type_name))).collect())
    }
}
