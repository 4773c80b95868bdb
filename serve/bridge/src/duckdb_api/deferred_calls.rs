//! Functions that run beside the plan: the arguments that deferred calls give come with a result's batches, and this
//! calls the functions for whole batches.
//!
//! A round trip to a function process costs as much for many rows as for few. Within the plan, a call has at most the
//! 2,048 rows of a vector.

mod arguments;
mod classes;
mod results;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader as _, StructArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use colonnade_udf::{FunctionCaller, MemoryCharge};

use self::arguments::Chosen;
use self::results::Results;
use super::columns::WriteError;
use super::registry::Definition;
use super::session::Session;
use crate::producer_text::producer_text;

pub(super) use classes::{BoundFunction, DeferredStream};

/// The fewest rows of a call: as many as a vector of DuckDB has, so that no limit of a call is met earlier than in the
/// plan.
const FEWEST_ROWS: usize = 2048;
/// The most rows of a call: those of the largest batch.
const MOST_ROWS: usize = 122_880;
/// The most bytes of a call's arguments, if these are more than `FEWEST_ROWS`.
const MOST_BYTES: usize = 16 << 20;
/// A call that takes longer gets fewer rows next time, so that a limit of the time of a call means about the same as in
/// the plan, and one that takes less than a quarter gets more.
const CALL_TIME: Duration = Duration::from_millis(20);

/// What an array takes while it is built from results: their bytes this often, because vectors grow, and for each row
/// its offset or view.
const COPIES: usize = 2;
/// The same where the rows below are not counted.
const NESTED_COPIES: usize = 4;
const ROW_BYTES: usize = 32;

/// A result's column whose values a function gives.
struct DeferredColumn {
    column: usize,
    definition: Arc<Definition>,
    /// The rows of the next call.
    rows: usize,
}

/// A result whose deferred calls are made batch by batch.
pub(super) struct DeferredCalls {
    reader: RecordBatchStreamReader,
    schema: SchemaRef,
    session: Arc<Session>,
    caller: FunctionCaller,
    deferred: Vec<DeferredColumn>,
    /// The memory of the last batch's results.
    charge: MemoryCharge,
}

impl DeferredCalls {
    /// `deferred`: columns and the functions whose calls they have.
    ///
    /// # Errors
    /// If a column has not the arguments of its function.
    pub fn new(
        session: &Arc<Session>,
        caller: FunctionCaller,
        reader: RecordBatchStreamReader,
        deferred: Vec<(usize, Arc<Definition>)>,
    ) -> Result<Self, String> {
        let schema = reader.schema();
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        for (column, definition) in &deferred {
            let field = fields.get_mut(*column).ok_or("a deferred call has no column")?;
            let type_ = result_type(field, &session.deferral.mark(definition), definition)?;
            *field = Arc::new(Field::new(field.name(), type_, true));
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        let deferred =
            deferred.into_iter().map(|(column, definition)| DeferredColumn { column, definition, rows: FEWEST_ROWS });
        let charge = session.budget().map_err(|error| error.text)?.empty_charge();
        Ok(Self { reader, schema, session: Arc::clone(session), caller, deferred: deferred.collect(), charge })
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The next batch, with the functions' results.
    ///
    /// # Errors
    /// The text of the error, by which the session finds a function's failure.
    pub fn next(&mut self) -> Result<Option<RecordBatch>, String> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let batch = batch.map_err(|error| producer_text(&error).to_owned())?;
        let mut columns = batch.columns().to_vec();
        drop(self.charge.take());
        for deferred in &mut self.deferred {
            let arguments = columns[deferred.column].as_any().downcast_ref::<StructArray>();
            let arguments = arguments.ok_or("the arguments of a deferred call are missing")?;
            if arguments.null_count() > 0 {
                return Err("a deferred call has no arguments in some row".to_owned());
            }
            let type_ = self.schema.field(deferred.column).data_type();
            let column = deferred.evaluate(&self.session, &mut self.caller, arguments, type_, &mut self.charge)?;
            columns[deferred.column] = column;
        }
        RecordBatch::try_new(self.schema(), columns).map(Some).map_err(|error| error.to_string())
    }
}

/// The type of a function's result in Arrow, from the column of its deferred calls.
fn result_type(field: &Field, mark: &str, definition: &Definition) -> Result<DataType, String> {
    let DataType::Struct(children) = field.data_type() else {
        return Err(format!("the column \"{}\" has no deferred calls", field.name()));
    };
    if children.first().is_none_or(|child| child.name() != mark) {
        return Err(format!("the column \"{}\" has other calls", field.name()));
    }
    let last = || match children.get(definition.parameters.len())?.data_type() {
        DataType::List(item) | DataType::LargeList(item) => Some(item.data_type().clone()),
        _ => None,
    };
    definition.result.arrow().or_else(last).ok_or_else(|| format!("the column \"{}\" has no type", field.name()))
}

impl DeferredColumn {
    fn evaluate(
        &mut self,
        session: &Session,
        caller: &mut FunctionCaller,
        arguments: &StructArray,
        type_: &DataType,
        charge: &mut MemoryCharge,
    ) -> Result<ArrayRef, String> {
        let failed = |error| session.result_failed(error, &self.definition.function).text;
        let mut results = Results::new(type_, &self.definition.result, arguments.len()).map_err(failed)?;
        let mut first = 0;
        while first < arguments.len() {
            let rows = self.rows.min(rows_within(arguments)).min(arguments.len() - first);
            let begun = Instant::now();
            call(&self.definition, session, caller, &arguments.slice(first, rows), &mut results, charge)?;
            let time = begun.elapsed();
            if time > CALL_TIME {
                self.rows = (rows / 2).max(FEWEST_ROWS);
            } else if time < CALL_TIME / 4 {
                self.rows = (self.rows * 2).min(MOST_ROWS);
            }
            first += rows;
        }
        results.finish().map_err(failed)
    }
}

/// Calls a function for all of these rows.
fn call(
    definition: &Definition,
    session: &Session,
    caller: &mut FunctionCaller,
    arguments: &StructArray,
    results: &mut Results<'_>,
    charge: &mut MemoryCharge,
) -> Result<(), String> {
    let function = &definition.function;
    let columns = &arguments.columns()[..definition.parameters.len()];
    let chosen = if function.is_strict { Chosen::without_nulls(columns, arguments.len()) } else { Chosen::All };
    let called = chosen.count(arguments.len());
    if called == 0 {
        results.add_nulls(arguments.len());
        return Ok(());
    }
    let failed = |error| session.call_failed(&error, function).text;
    let mut inputs = caller.prepare(function, called).map_err(failed)?;
    for (column, type_) in columns.iter().zip(&definition.parameters) {
        arguments::write(&mut inputs, &type_.column_type, column, &chosen).map_err(|error| match error {
            WriteError::Ring(error) => failed(error),
            WriteError::Value(error) => error.to_string(),
        })?;
    }
    let output = inputs.call().map_err(failed)?;
    let column = output.columns.first().ok_or("a function has no result")?;
    let result = &definition.result;
    let copies = if result.storage.is_nested() { NESTED_COPIES } else { COPIES };
    let bytes = column.slice_bytes(&result.column_type, 0, called) * copies + arguments.len() * ROW_BYTES;
    let charged = charge.set(charge.bytes() + bytes);
    charged.map_err(|exceeded| session.exceeded(exceeded, function).text)?;
    let added = results.add(column, &chosen, arguments.len());
    added.map_err(|error| session.result_failed(error, function).text)
}

/// How many rows have arguments of at most `MOST_BYTES`, but not fewer than a vector has.
fn rows_within(arguments: &StructArray) -> usize {
    let bytes: usize = arguments.columns().iter().map(|column| column.get_buffer_memory_size()).sum();
    let most = MOST_BYTES.saturating_mul(arguments.len()) / bytes.max(1);
    most.max(FEWEST_ROWS)
}
