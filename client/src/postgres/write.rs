//! Writes into a table of PostgreSQL or `colonnade serve` by COPY … FROM STDIN, within one transaction: in FORMAT
//! colonnade ([`columnar`]; PROTOCOL §10) if the server receives it and all columns have a type in it, else in binary.
//! <https://www.postgresql.org/docs/current/sql-copy.html>
//!
//! This thread converts values to rows of bytes, or to the types of the table. The connection's thread (`native`,
//! `served`) runs the transaction and sends (`transfer`). The socket limits it, and a short queue between both limits
//! this one, so memory does not grow with the rows.

mod column_target;
mod column_type;
mod columnar;
mod frequent_column;
mod moment;
mod native;
mod numeric;
mod row_encoder;
mod served;
mod stage;
mod steps;
mod table;
mod transfer;
mod upsert;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::column_target::StreamColumns;
use self::column_type::{ColumnType, TableColumn};
use self::columnar::ColumnarWriter;
use self::row_encoder::RowEncoder;
use self::served::ServedPlan;
use self::steps::{Progress, Step, Steps, WritePlan};
use super::delivery::Delivery;
use super::request;
use super::session::{Postgres, PostgresConnection};
use crate::shared_connection::{Event, died};
use crate::write::kind::ColumnMeaning;
use crate::write::queue::StepQueue;
use crate::write::{BLOCK, TableWriter, WAITING, WriteTarget, Writing, unsupported_column};
use crate::{Connection, ContinueCheck, Error, ErrorKind};

/// The rows whose columns are converted at once. They stay in the processor's cache.
const PART: usize = 4096;

impl Writing for PostgresConnection {
    fn begin(
        &self,
        target: &WriteTarget,
        schema: &SchemaRef,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn TableWriter>, Error> {
        if let Delivery::Served(_) = self.delivery(keep)? {
            return self.begin_served(target, schema, keep);
        }
        let meanings = schema.fields().iter().map(|field| ColumnMeaning::of(field)).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().clone()).collect();
        if self.session.look(|connection| connection.server.sends_utf8()) == Some(false) {
            let message = "the session's client_encoding is not UTF8, so text cannot be written";
            return Err(Error::new(ErrorKind::Usage, message).with_hint("reset it: RESET client_encoding"));
        }
        let created = names.iter().cloned().zip(meanings.iter().map(column_type::created)).collect();
        let abandoned = Arc::<AtomicBool>::default();
        let plan = WritePlan { target: target.clone(), columns: created, abandoned: abandoned.clone() };
        let (steps, taken) = sync_channel(WAITING + 1);
        let mut events = self
            .session
            .start(keep, move |connection, tick, tell| native::run(connection, tick, &plan, &taken, tell))?;
        let (columns, stream) = match events.next(keep)? {
            Some(Event::Part(Progress::Columns(columns, stream))) => (columns, stream),
            _ => return Err(died().with_origin(self.name())),
        };
        let types = names.iter().zip(&meanings).map(|(name, meaning)| accepted(&columns, name, meaning));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let queue = StepQueue::new(events, steps, abandoned);
        if let Some(StreamColumns { schema, targets }) = stream {
            return Ok(Box::new(ColumnarWriter { queue, schema, targets, rows: 0 }));
        }
        let encoder = RowEncoder::new(names.into_iter().zip(types).collect());
        Ok(Box::new(PostgresWriter { queue, encoder }))
    }
}

impl PostgresConnection {
    /// Writes to `colonnade serve`.
    fn begin_served(
        &self,
        target: &WriteTarget,
        schema: &SchemaRef,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn TableWriter>, Error> {
        if self.session.peer.server.receives < request::VERSION {
            let message = "this server cannot be written to: it is older than this version, or serves another database";
            let hint = "update colonnade serve, or write to the database behind it";
            return Err(Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000").with_hint(hint));
        }
        let abandoned = Arc::<AtomicBool>::default();
        let (plan, given_up) = (ServedPlan { target: target.clone(), schema: schema.clone() }, abandoned.clone());
        let (steps, taken) = sync_channel(WAITING + 1);
        let mut events = self.session.start(keep, move |connection, tick, tell| {
            let steps = Steps { taken: &taken, abandoned: &given_up };
            served::run(connection, tick, &plan, &steps, tell)
        })?;
        let StreamColumns { schema: sent, targets } = match events.next(keep)? {
            Some(Event::Part(Progress::Served(columns))) => columns,
            _ => return Err(died().with_origin(self.name())),
        };
        let queue = StepQueue::new(events, steps, abandoned);
        targets.iter().zip(schema.fields()).try_for_each(|(target, field)| target.check_type(field))?;
        Ok(Box::new(ColumnarWriter { queue, schema: sent, targets, rows: 0 }))
    }
}

/// The type of the table's column with this name.
///
/// # Errors
/// There is none, or it cannot hold the values exactly.
fn accepted(columns: &[TableColumn], name: &str, meaning: &ColumnMeaning) -> Result<ColumnType, Error> {
    let Some(column) = columns.iter().find(|column| column.name == name) else {
        let message = format!("the table has no column {name:?}");
        return Err(Error::new(ErrorKind::Database, message)
            .with_sqlstate("42703")
            .with_hint("names are compared exactly, with their case; a new table's names have at most 63 bytes"));
    };
    let found = ColumnType::of(column).filter(|found| found.accepts(meaning));
    found.ok_or_else(|| {
        let what = format!("the table's column of type {} cannot hold these values exactly", column.type_name);
        unsupported_column(name, &what, "convert the data: dtype={…: …}; spec/TYPES.md lists what a column accepts")
    })
}

/// The queue to the thread of a connection to PostgreSQL or to `colonnade serve`.
type PostgresQueue = StepQueue<Postgres, Progress, Step>;

/// A transaction that copies rows in COPY's binary format.
struct PostgresWriter {
    queue: PostgresQueue,
    encoder: RowEncoder,
}

impl TableWriter for PostgresWriter {
    fn write(&mut self, batch: &RecordBatch, keep: ContinueCheck<'_>) -> Result<(), Error> {
        for start in (0..batch.num_rows()).step_by(PART) {
            let part = batch.slice(start, PART.min(batch.num_rows() - start));
            let columns = self.encoder.columns(&part)?;
            for row in 0..part.num_rows() {
                self.encoder.push(&columns, row)?;
                if self.encoder.len() >= BLOCK {
                    let block = self.encoder.take();
                    self.queue.send(Step::Rows(block), keep)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, keep: ContinueCheck<'_>) -> Result<u64, Error> {
        let (rows, rest) = (self.encoder.rows(), self.encoder.end());
        self.queue.send(Step::Rows(rest), keep)?;
        Ok(self.queue.finish(Step::Finish(rows), keep)?.unwrap_or(rows))
    }
}
