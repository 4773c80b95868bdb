//! Calls the function with collected rows.

use std::collections::HashSet;
use std::sync::Arc;

use colonnade_udf::{CallError, CollectedRows, ColumnSource, Function, FunctionKind, FunctionWorker, OutputColumn};

use super::{Argument, Batch, Call, Output, Source, VALUES, taken};
use crate::duckdb_api::handles::CallbackError;
use crate::duckdb_api::session::Failure;
use crate::duckdb_api::sql_type::SqlType;

/// Why a call has no result.
pub(super) enum RunError {
    Call(CallError),
    /// The session has no workers.
    Engine(CallbackError),
    /// The parameter with this name is one value, and its argument has several.
    SeveralValues(String),
}

impl From<CallError> for RunError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// Calls the function once, with the rows of each group. Columns that the function passes on are moved from these rows, if nothing else
/// has them.
pub(super) fn call(
    worker: &mut FunctionWorker,
    function: &Arc<Function>,
    arguments: &[Argument],
    groups: &mut [Arc<CollectedRows>],
) -> Result<Batch, RunError> {
    let rows = groups.get(VALUES + 1).map_or(1, |rows| rows.len());
    let mut inputs = worker.prepare(function, rows)?;
    for (argument, parameter) in arguments.iter().zip(&function.parameters) {
        let rows = &groups[argument.group];
        if !parameter.is_scalar {
            rows.write(&mut inputs, argument.column)?;
        } else if !rows.write_one(&mut inputs, argument.column, &argument.type_.column_type)? {
            return Err(RunError::SeveralValues(parameter.name.clone()));
        }
    }
    let output = inputs.call()?;
    let mut columns: Vec<_> = output.columns.into_iter().map(OutputColumn::into_owned).collect();
    let mut names = Vec::new();
    for (at, (name, source)) in output.names.iter().enumerate() {
        let type_ = match source {
            ColumnSource::Values(type_) => type_.clone(),
            ColumnSource::Argument(number) => {
                let is_last = output.names[at + 1..].iter().all(|(_, other)| other != source);
                let argument = arguments.get(*number);
                let found = argument.and_then(|argument| passed_on(argument, groups, output.rows, is_last));
                let broken = |fault| CallError::Broken { function: function.name.clone(), fault };
                columns.insert(at, found.ok_or_else(|| broken("an argument has not as many rows as the result"))?);
                function.parameters[*number].type_name.clone()
            }
        };
        names.push((name.clone(), type_));
    }
    Ok(Batch { rows: output.rows, names, columns })
}

/// The column of an argument as that of a result with so many rows.
fn passed_on(
    argument: &Argument,
    groups: &mut [Arc<CollectedRows>],
    rows: usize,
    is_last: bool,
) -> Option<OutputColumn<'static>> {
    let found = groups.get_mut(argument.group).filter(|found| found.len() == rows)?;
    let type_ = &argument.type_.column_type;
    match Arc::get_mut(found).filter(|_| is_last) {
        Some(found) => found.take_column(argument.column, type_),
        None => found.column(argument.column, type_),
    }
}

impl Call {
    /// Calls the function for all rows that are collected, and keeps its result.
    pub(super) fn run(self: &Arc<Self>) -> Result<(), CallbackError> {
        if let Some(batches) = self.batches.as_ref().filter(|batches| !batches.is_unused()) {
            batches.keep_values(self);
        }
        let mut groups = taken(&self.groups);
        let output = match &self.batches {
            None if self.block.is_some() => vec![self.run_block(&mut groups)?],
            None => {
                let mut worker = self.session.worker_between_statements()?;
                let called = call(&mut worker, &self.function, &self.arguments, &mut groups);
                vec![called.map_err(|error| self.run_failed(error))?]
            }
            // All rows are here, so this thread makes the only call.
            Some(batches) if batches.is_unused() => {
                // Only a call can tell the columns of TABLE(*), so there is one also if there are no rows.
                let is_needed = self.function.kind == FunctionKind::AnyTable;
                if is_needed || groups.get(VALUES + 1).is_some_and(|rows| !rows.is_empty()) {
                    let mut worker = batches.worker(&self.session)?;
                    let called = call(&mut worker, &self.function, &self.arguments, &mut groups);
                    vec![called.map_err(|error| self.run_failed(error))?]
                } else {
                    Vec::new()
                }
            }
            Some(batches) => {
                if let Some(rest) = groups.into_iter().nth(VALUES + 1).filter(|rest| !rest.is_empty()) {
                    batches.call(self, rest)?;
                }
                batches.finish(self)?
            }
        };
        let bytes: usize = output.iter().flat_map(|batch| &batch.columns).map(|column| column.bytes()).sum();
        if bytes > self.session.memory() {
            let limit = self.session.memory() as u64;
            let function = self.function.name.clone();
            return Err(self.failed(&CallError::Memory { function, limit, record: None }));
        }
        let columns = if self.function.kind == FunctionKind::AnyTable {
            self.any_columns(&output)?
        } else {
            self.results.clone()
        };
        // A call runs once.
        let _ = self.output.set(Output { columns, batches: output });
        Ok(())
    }

    /// Calls each function of a block once, and puts its results beside the other columns.
    fn run_block(&self, groups: &mut [Arc<CollectedRows>]) -> Result<Batch, CallbackError> {
        let (Some(block), Some(rows)) = (&self.block, groups.get(VALUES + 1).cloned()) else {
            return Err("a block of functions has no query".into());
        };
        let mut worker = self.session.worker_between_statements()?;
        let mut results = Vec::new();
        for (function, arguments) in &block.calls {
            // Without rows there is nothing to compute.
            let called = if rows.is_empty() { None } else { Some(call(&mut worker, function, arguments, groups)) };
            let batch = called.transpose().map_err(|error| self.block_failed(function, error))?;
            results.push(batch.and_then(|batch| batch.columns.into_iter().next()));
        }
        let types = self.results.iter().map(|(_, type_)| &type_.column_type);
        let mut columns = Vec::new();
        for (source, type_) in block.columns.iter().zip(types).filter(|_| !rows.is_empty()) {
            let column = match source {
                Source::Query(column) => rows.column(*column, type_),
                Source::Call(call) => results.get_mut(*call).and_then(Option::take),
            };
            columns.push(column.ok_or("a column of a block is missing")?);
        }
        Ok(Batch { rows: rows.len(), names: Vec::new(), columns })
    }

    fn block_failed(&self, function: &Arc<Function>, error: RunError) -> CallbackError {
        match error {
            RunError::Call(error) => self.session.call_failed(&error, function),
            RunError::Engine(error) => error,
            RunError::SeveralValues(name) => {
                let message = format!("argument \"{name}\" of {} has more than one value", function.name);
                self.session.fail(Failure { code: "22023".into(), message, ..Failure::default() })
            }
        }
    }

    /// The columns that the function has returned: the same ones for each part of the rows.
    fn any_columns(&self, output: &[Batch]) -> Result<Vec<(String, SqlType)>, CallbackError> {
        let failed = |message: String| {
            let message = format!("function \"{}\": {message}", self.function.name);
            self.session.fail(Failure { code: "39000".into(), message, ..Failure::default() })
        };
        let Some(first) = output.first() else {
            return Err(failed("without rows, TABLE(*) has no columns; declare them in RETURNS TABLE".to_owned()));
        };
        if output.iter().any(|batch| batch.names != first.names) {
            return Err(failed(
                "the parts of the result have different columns; declare them in RETURNS TABLE".to_owned(),
            ));
        }
        let mut seen = HashSet::new();
        if let Some((twice, _)) = first.names.iter().find(|(name, _)| !seen.insert(name.to_lowercase())) {
            return Err(failed(format!("the returned table has the column \"{twice}\" twice")));
        }
        let parse = |(name, type_): &(String, String)| {
            SqlType::parse_converted(type_)
                .map(|type_| (name.clone(), type_))
                .map_err(|error| failed(error.to_string()))
        };
        first.names.iter().map(parse).collect()
    }

    pub(super) fn run_failed(&self, error: RunError) -> CallbackError {
        match error {
            RunError::Call(error) => self.failed(&error),
            RunError::Engine(error) => error,
            RunError::SeveralValues(name) => self.several_values(&name),
        }
    }
}
