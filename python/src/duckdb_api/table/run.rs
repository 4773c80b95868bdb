//! Calls the function with collected rows.

use std::sync::Arc;

use colonnade_udf::{CallError, CollectedRows, Function, FunctionWorker};

use super::{Argument, Batch, Call, VALUES, taken};
use crate::duckdb_api::handles::CallbackError;

/// Why a call has no result.
pub(super) enum RunError {
    Call(CallError),
    Engine(CallbackError),
    /// The parameter with this name is one value, and its argument has several.
    SeveralValues(String),
}

impl From<CallError> for RunError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// Calls the function once, with the rows of each group.
pub(super) fn call(
    worker: &mut FunctionWorker,
    function: &Arc<Function>,
    arguments: &[Argument],
    groups: &[Arc<CollectedRows>],
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
    let columns = output.columns.into_iter().map(colonnade_udf::OutputColumn::into_owned).collect();
    Ok(Batch { rows: output.rows, columns })
}

impl Call {
    /// Calls the function for all rows that are collected, and keeps its result.
    pub(super) fn run(self: &Arc<Self>) -> Result<(), CallbackError> {
        if let Some(batches) = &self.batches {
            batches.keep_values(self);
        }
        let groups = taken(&self.groups);
        let output = match &self.batches {
            None => {
                let called = call(&mut self.session.table_worker()?, &self.function, &self.arguments, &groups);
                vec![called.map_err(|error| self.run_failed(error))?]
            }
            Some(batches) => {
                if let Some(rest) = groups.get(VALUES + 1).filter(|rest| !rest.is_empty()) {
                    batches.call_shared(self, Arc::clone(rest))?;
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
        // A call runs once.
        let _ = self.output.set(output);
        Ok(())
    }

    pub(super) fn run_failed(&self, error: RunError) -> CallbackError {
        match error {
            RunError::Call(error) => self.failed(&error),
            RunError::Engine(error) => error,
            RunError::SeveralValues(name) => self.several_values(&name),
        }
    }
}
