//! EXPLAIN (INPUTS …): passes requests to `colonnade_serve._duckdb.session.Session`.

use std::collections::HashMap;

use colonnade_duckdb::{AllowedStatement, Translated, types};
use colonnade_server::value::types::Type;
use colonnade_server::{BatchSize, EngineAnswer, EngineError};
use colonnade_sql::statement::ExplainInputs;
use pyo3::prelude::*;

use super::functions::written;
use super::values::PyValue;
use super::{Allowed, PyConnection};

impl PyConnection {
    /// Has the calls of the next statement's functions with whole columns captured.
    pub(super) fn begin_capture(&self, inputs: &ExplainInputs) -> Result<(), EngineError> {
        let sample = inputs.sample.map(|sample| (sample.count, sample.by_groups));
        let begun = self.with_session(&Translated::default(), |session| {
            let arguments = (written(&inputs.function), inputs.call, sample, inputs.seed);
            session.call_method1("begin_inputs", arguments).map(drop)
        });
        self.finish();
        begun
    }

    /// Runs a query with a capture in the place of a function's call.
    pub(super) fn captured(
        &mut self,
        inputs: &ExplainInputs,
        query: &AllowedStatement<'_>,
        values: Option<HashMap<String, PyValue<'_>>>,
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        let sample = inputs.sample.map(|sample| (sample.count, sample.by_groups));
        let arguments = (
            written(&inputs.function),
            inputs.call,
            sample,
            inputs.seed,
            Allowed(query),
            (size.rows, size.bytes, size.columns),
            values,
        );
        let answer = self.call("inputs", arguments, query.statement());
        self.ends_transaction = false;
        if !matches!(answer, Ok(EngineAnswer::Rows(_))) {
            self.finish();
        }
        answer
    }

    /// The columns of its result; `None` if they depend on the call.
    pub(super) fn captured_columns(&self, inputs: &ExplainInputs) -> Result<Option<Vec<(String, Type)>>, EngineError> {
        let columns: Result<Option<Vec<(String, String)>>, _> = self.with_session(&Translated::default(), |session| {
            session.call_method1("input_columns", (written(&inputs.function),))?.extract()
        });
        self.finish();
        let typed = |(name, type_name): (String, String)| (name, types::named(&type_name));
        Ok(columns?.map(|columns| columns.into_iter().map(typed).collect()))
    }
}
