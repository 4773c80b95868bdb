//! Writes into a table of PostgreSQL: makes it ready, copies the rows into it or into a temporary table, and moves them
//! from there.

use std::sync::mpsc::Receiver;

use super::column_target::StreamColumns;
use super::column_type::{ColumnType, TableColumn};
use super::columnar::ColumnarPayload;
use super::stage::{STAGE, Stage};
use super::steps::{Progress, Step, Steps, WritePlan};
use super::table;
use super::transfer::{CopyPayload, Transfer, in_transaction};
use super::upsert::UpsertStage;
use crate::postgres::request;
use crate::postgres::server_connection::ServerConnection;
use crate::shared_connection::{AnswerError, AnswerOutcome, Tick};
use crate::write::IfExists;
use crate::{Error, ErrorKind};

/// How the rows come into the table: COPY refuses row-level security, and INSERT applies it.
enum Route {
    Copy,
    Insert(Stage),
    Upsert(UpsertStage),
}

/// Rows that the writer has encoded.
struct BinaryPayload;

impl CopyPayload for BinaryPayload {
    fn step(&mut self, transfer: &mut Transfer<'_>, step: Step) -> Result<(), AnswerError> {
        match step {
            Step::Rows(bytes) => transfer.send_rows(&bytes),
            Step::Batch(_) | Step::Finish(_) => Ok(()),
        }
    }
}

/// Writes within a transaction, or within a savepoint of the user's transaction.
pub(super) fn run(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    plan: &WritePlan,
    steps: &Receiver<Step>,
    tell: &mut dyn FnMut(Progress),
) -> AnswerOutcome {
    let steps = Steps { taken: steps, abandoned: &plan.abandoned };
    in_transaction(connection, tick, steps.abandoned, |transfer| write(transfer, plan, &steps, tell))
}

/// Makes the table ready, and brings the rows into it. Returns their number.
fn write(
    transfer: &mut Transfer<'_>,
    plan: &WritePlan,
    steps: &Steps<'_>,
    tell: &mut dyn FnMut(Progress),
) -> Result<u64, AnswerError> {
    let table = table::prepare(transfer, plan)?;
    let columns = table::columns(transfer, &table.name)?;
    let stream = match StreamColumns::of(&columns, plan.columns.iter().map(|(name, _)| name)) {
        Some(stream) if transfer.receives()? => Some(stream),
        _ => None,
    };
    if stream.is_none() && transfer.has_float_times() {
        refuse_times(&columns, plan)?;
    }
    let route = match plan.target.if_exists {
        IfExists::Upsert => Route::Upsert(UpsertStage::begin(transfer, &table.name, &columns, plan)?),
        _ if table.row_security => Route::Insert(Stage::create(transfer, &table.name, plan)?),
        _ => Route::Copy,
    };
    let mut columnar = stream.as_ref().map(|stream| ColumnarPayload::new(stream.schema.clone()));
    tell(Progress::Columns(columns, stream));
    let into = if matches!(route, Route::Copy) { &table.name } else { STAGE };
    let rows = match &mut columnar {
        Some(payload) => transfer.copy(&table::copy(into, plan, request::STREAM), steps, payload, tell)?,
        None => transfer.copy(&table::copy(into, plan, "FORMAT binary"), steps, &mut BinaryPayload, tell)?,
    };
    match route {
        Route::Copy => {}
        Route::Insert(stage) => stage.append(transfer, rows)?,
        Route::Upsert(stage) => stage.merge(transfer, rows)?,
    }
    Ok(rows)
}

/// Refuses columns of times on a server that computes them in floats: their binary form there is another one.
fn refuse_times(columns: &[TableColumn], plan: &WritePlan) -> Result<(), AnswerError> {
    let is_written = |column: &&TableColumn| plan.columns.iter().any(|(name, _)| *name == column.name);
    let has_times = |column: &&TableColumn| ColumnType::of(column).is_some_and(|found| found.has_times());
    let Some(column) = columns.iter().filter(is_written).find(has_times) else { return Ok(()) };
    let message = format!(
        "column \"{}\": the server computes {} in floats (integer_datetimes is off), in which it cannot be written exactly",
        column.name, column.type_name
    );
    let error = Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000");
    Err(AnswerError::Refused(error.with_hint("write it as text into a column of text")))
}
