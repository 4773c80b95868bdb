//! Calls the function with collected rows.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use colonnade_udf::{
    CallError, CollectedRows, ColumnSource, Function, FunctionCaller, FunctionKind, MemoryCharge, MemoryExceeded,
    OutputColumn,
};

use super::{Argument, Batch, Call, Output, Source, VALUES, taken};
use crate::duckdb_api::handles::CallbackError;
use crate::duckdb_api::session::Failure;
use crate::duckdb_api::sql_type::SqlType;

/// Why a call has no result.
pub(super) enum RunError {
    Call(CallError),
    /// The session has no function processes.
    Engine(CallbackError),
    /// The parameter with this name is one value, and its argument has several.
    SeveralValues(String),
}

impl From<CallError> for RunError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// Calls the function once, with the rows of each group. Columns that the function passes on are moved from these rows,
/// if nothing else has them.
pub(super) fn call(
    caller: &mut FunctionCaller,
    function: &Arc<Function>,
    arguments: &[Argument],
    groups: &mut [Arc<CollectedRows>],
) -> Result<Batch, RunError> {
    let rows = groups.get(VALUES + 1).map_or(1, |rows| rows.len());
    let mut inputs = caller.prepare(function, rows)?;
    for (argument, parameter) in arguments.iter().zip(&function.parameters) {
        let rows = &groups[argument.group];
        if !parameter.is_scalar {
            rows.write(&mut inputs, argument.column)?;
        } else if !rows.write_one(&mut inputs, argument.column, &argument.type_.column_type)? {
            return Err(RunError::SeveralValues(parameter.name.clone()));
        }
    }
    if function.kind == FunctionKind::Table {
        // The function process has its own copy now. Others may need the rows of a group that is shared.
        groups.iter_mut().filter_map(Arc::get_mut).for_each(CollectedRows::clear);
    }
    let mut output = inputs.call()?;
    let (columns, charge) = output.take_columns();
    let mut batch = Batch {
        rows: output.rows,
        names: Vec::new(),
        columns: columns.into_iter().map(Arc::new).collect(),
        charges: vec![charge],
    };
    let mut passed = HashMap::new();
    for (at, (name, source)) in output.names.iter().enumerate() {
        let type_ = match source {
            ColumnSource::Values(type_) => type_.clone(),
            ColumnSource::Argument(number) => {
                let column = match passed.entry(*number) {
                    Entry::Occupied(known) => Arc::clone(known.get()),
                    Entry::Vacant(entry) => {
                        let argument = arguments.get(*number);
                        let found = argument.map(|argument| passed_on(argument, groups, batch.rows)).transpose();
                        let found = found.map_err(|exceeded| CallError::exceeded(function, exceeded))?.flatten();
                        let broken = |fault| CallError::Broken { function: function.name.clone(), fault };
                        let missing = "an argument has not as many rows as the result";
                        let (column, charges) = found.ok_or_else(|| broken(missing))?;
                        batch.charges.extend(charges);
                        Arc::clone(entry.insert(Arc::new(column)))
                    }
                };
                batch.columns.insert(at, column);
                function.parameters[*number].type_name.clone()
            }
        };
        batch.names.push((name.clone(), type_));
    }
    Ok(batch)
}

/// The column of an argument as that of a result with so many rows, and what is charged for it.
#[allow(clippy::type_complexity, reason = "a column and its charges, if there is one")]
fn passed_on(
    argument: &Argument,
    groups: &mut [Arc<CollectedRows>],
    rows: usize,
) -> Result<Option<(OutputColumn<'static>, Vec<MemoryCharge>)>, MemoryExceeded> {
    let type_ = &argument.type_.column_type;
    let Some(found) = groups.get_mut(argument.group).filter(|found| found.len() == rows) else { return Ok(None) };
    match Arc::get_mut(found) {
        Some(found) => Ok(found.take_column(argument.column, type_)),
        None => found.column(argument.column, type_),
    }
}

impl Call {
    /// Calls the function for all rows that are collected, and keeps its result.
    pub(super) fn run(self: &Arc<Self>) -> Result<(), CallbackError> {
        if let Some(batches) = self.batches.as_ref().filter(|batches| !batches.is_unused()) {
            batches.keep_values(self)?;
        }
        let mut groups = taken(&self.groups).map_err(|error| self.failed(&error))?;
        let output = match &self.batches {
            None if self.block.is_some() => vec![self.run_block(&mut groups)?],
            None => {
                let mut caller = self.session.caller_between_statements()?;
                let called = call(&mut caller, &self.function, &self.arguments, &mut groups);
                vec![called.map_err(|error| self.run_failed(error))?]
            }
            // All rows are here, so this thread makes the only call.
            Some(batches) if batches.is_unused() => {
                // Only a call can tell the columns of TABLE(*), so there is one also if there are no rows.
                let is_needed = self.function.kind == FunctionKind::AnyTable;
                if is_needed || groups.get(VALUES + 1).is_some_and(|rows| !rows.is_empty()) {
                    let mut caller = batches.caller(&self.session)?;
                    let called = call(&mut caller, &self.function, &self.arguments, &mut groups);
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
        let columns = if self.function.kind == FunctionKind::AnyTable {
            self.any_columns(&output)?
        } else {
            self.results.clone()
        };
        // A call runs once.
        let _ = self.output.set(Output { columns, batches: output });
        Ok(())
    }

    /// Calls each function of a block once, and puts its results next to the other columns.
    fn run_block(&self, groups: &mut [Arc<CollectedRows>]) -> Result<Batch, CallbackError> {
        let (Some(block), Some(mut rows)) = (&self.block, groups.get(VALUES + 1).cloned()) else {
            return Err("a block of functions has no query".into());
        };
        let mut caller = self.session.caller_between_statements()?;
        let (mut results, mut charges) = (Vec::new(), Vec::new());
        for (function, arguments) in &block.calls {
            // Without rows there is nothing to compute.
            let called = if rows.is_empty() { None } else { Some(call(&mut caller, function, arguments, groups)) };
            let batch = called.transpose().map_err(|error| self.block_failed(function, error))?;
            results.push(batch.and_then(|batch| {
                charges.extend(batch.charges);
                batch.columns.into_iter().next()
            }));
        }
        // No call needs the rows any more.
        groups[VALUES + 1] = Arc::default();
        let (count, mut of_query) = (rows.len(), HashMap::new());
        let types = self.results.iter().map(|(_, type_)| &type_.column_type);
        let mut columns = Vec::new();
        for (source, type_) in block.columns.iter().zip(types).filter(|_| count > 0) {
            let column = match source {
                Source::Query(column) => {
                    if let Some((taken, of_column)) = Arc::get_mut(&mut rows)
                        .filter(|_| !of_query.contains_key(column))
                        .and_then(|rows| rows.take_column(*column, type_))
                    {
                        charges.extend(of_column);
                        of_query.insert(*column, Arc::new(taken));
                    }
                    of_query.get(column).cloned()
                }
                Source::Call(call) => results.get_mut(*call).and_then(Option::take),
            };
            columns.push(column.ok_or("a column of a block is missing")?);
        }
        Ok(Batch { rows: count, names: Vec::new(), columns, charges })
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
