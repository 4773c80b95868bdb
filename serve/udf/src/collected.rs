//! Rows that are collected for a later call: vectors of arguments, appended to columns.

mod memory;
mod node;
mod reader;

use std::fmt;
use std::sync::Arc;

use crate::CallError;
use crate::function::{ColumnType, Function};
use crate::inputs::{CallInputs, Form};
use crate::memory::{MemoryBudget, MemoryCharge, MemoryExceeded};
use crate::output::OutputColumn;

use memory::VectorMemory;
use node::{Node, Run};
use reader::Reader;

/// Collects the rows of one query: the columns of a function whose parameters are these.
pub struct Collector {
    /// What the vectors are written for. It is never called.
    function: Arc<Function>,
    rows: CollectedRows,
    budget: Arc<MemoryBudget>,
}

/// Columns of arguments.
#[derive(Debug, Default)]
pub struct CollectedRows {
    rows: usize,
    columns: Vec<Node>,
}

impl fmt::Debug for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Collector").field("rows", &self.rows.rows).finish_non_exhaustive()
    }
}

impl Collector {
    /// A collector of rows with the parameters of `function`, whose memory is a part of `budget`.
    ///
    /// # Errors
    /// If there is no room in it.
    pub fn new(function: Arc<Function>, budget: &Arc<MemoryBudget>) -> Result<Self, CallError> {
        let rows = Self::no_rows(&function, budget)?;
        Ok(Self { function, rows, budget: Arc::clone(budget) })
    }

    fn no_rows(function: &Function, budget: &Arc<MemoryBudget>) -> Result<CollectedRows, CallError> {
        let columns = function.parameters.iter().map(|parameter| Node::new(&parameter.column_type, budget));
        let columns = columns.collect::<Result<_, _>>().map_err(|exceeded| CallError::exceeded(function, exceeded))?;
        Ok(CollectedRows { rows: 0, columns })
    }

    /// The number of rows so far.
    pub fn rows(&self) -> usize {
        self.rows.rows
    }

    /// Appends a vector of rows, whose arguments `write` writes.
    ///
    /// # Errors
    /// The error of `write`, or [`CallError::ServerMemory`].
    pub fn append<E: From<CallError>>(
        &mut self,
        rows: usize,
        write: impl FnOnce(&mut CallInputs<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut memory = VectorMemory::new(&self.budget).map_err(CallError::from)?;
        let mut inputs = CallInputs::new(&mut memory, Arc::clone(&self.function), rows, Vec::new());
        write(&mut inputs)?;
        let words = inputs.into_words()?;
        let mut reader = Reader::new(&memory, &words);
        for (column, parameter) in self.rows.columns.iter_mut().zip(&self.function.parameters) {
            let appended = reader.parameter(&parameter.column_type, rows, column);
            appended.map_err(|exceeded| CallError::exceeded(&self.function, exceeded))?;
        }
        self.rows.rows += rows;
        Ok(())
    }

    /// The rows, which are collected anew afterwards.
    ///
    /// # Errors
    /// As for `new`.
    pub fn take(&mut self) -> Result<CollectedRows, CallError> {
        let none = Self::no_rows(&self.function, &self.budget)?;
        Ok(std::mem::replace(&mut self.rows, none))
    }
}

impl CollectedRows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// A copy of a column as a result has it, and what is charged for it. `None` if there is no such column.
    ///
    /// # Errors
    /// If the budget has no room for the copy.
    pub fn column(
        &self,
        column: usize,
        type_: &ColumnType,
    ) -> Result<Option<(OutputColumn<'static>, Vec<MemoryCharge>)>, MemoryExceeded> {
        let copy = self.columns.get(column).map(|node| node.copy(type_)).transpose()?;
        Ok(copy.map(|node| node.into_output(type_)))
    }

    /// As `column`, without a copy. The column has no values afterwards.
    pub fn take_column(
        &mut self,
        column: usize,
        type_: &ColumnType,
    ) -> Option<(OutputColumn<'static>, Vec<MemoryCharge>)> {
        self.columns.get_mut(column).map(|node| node.take().into_output(type_))
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Writes a column as the next argument of a call.
    ///
    /// # Errors
    /// If the call has no room for it.
    pub fn write(&self, inputs: &mut CallInputs<'_>, column: usize) -> Result<(), CallError> {
        inputs.parameter(Form::Array)?;
        self.columns.get(column).map_or(Ok(()), |node| node.write(inputs))
    }

    /// Writes a column, all of whose rows have one value, as the next argument of a call. Without rows it is NULL.
    /// `false` if there are several values: then nothing is written.
    ///
    /// # Errors
    /// If the call has no room for it.
    pub fn write_one(&self, inputs: &mut CallInputs<'_>, column: usize, type_: &ColumnType) -> Result<bool, CallError> {
        let Some(node) = self.columns.get(column) else { return Ok(false) };
        if (1..self.rows).any(|row| !node.is_same(type_, 0, row)) {
            return Ok(false);
        }
        let one = Run { first: (self.rows > 0).then_some(0), count: 1 };
        let first = node.chosen(type_, &[one]).map_err(|exceeded| inputs.exceeded(exceeded))?;
        inputs.parameter(Form::Repeated)?;
        first.write(inputs).map(|()| true)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests;
