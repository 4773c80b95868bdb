//! Writes into a table of PostgreSQL by COPY … FROM STDIN in binary, within one transaction.
//! <https://www.postgresql.org/docs/current/sql-copy.html>
//!
//! This thread converts values to rows of bytes. The connection's thread (`transfer`) runs the transaction and sends.
//! The socket limits it, and a short queue between both limits this one, so memory does not grow with the rows.

mod column_type;
mod frequent_column;
mod moment;
mod numeric;
mod row_encoder;
mod table;
mod transfer;
mod upsert;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::column_type::ColumnType;
use self::row_encoder::RowEncoder;
use self::table::TableColumn;
use self::transfer::{Progress, Step, WritePlan};
use super::connection::{Postgres, PostgresConnection};
use super::delivery::Delivery;
use crate::shared_connection::{Event, EventReader, died};
use crate::write::kind::ColumnMeaning;
use crate::write::{BLOCK, TableWriter, WAITING, WriteTarget, Writing, unsupported_column};
use crate::{Connection, Error, ErrorKind, Keep};

/// The rows whose columns are converted at once. They stay in the processor's cache.
const PART: usize = 4096;

impl Writing for PostgresConnection {
    fn begin(&self, target: &WriteTarget, schema: &SchemaRef, keep: Keep<'_>) -> Result<Box<dyn TableWriter>, Error> {
        let meanings = schema.fields().iter().map(|field| ColumnMeaning::of(field)).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().clone()).collect();
        if let Delivery::Served(_) = self.delivery() {
            let message = "this version cannot write to colonnade serve";
            let hint = "use COPY … FROM STDIN of any PostgreSQL client, or INSERT";
            return Err(Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000").with_hint(hint));
        }
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
            .start(keep, move |connection, tick, tell| transfer::run(connection, tick, &plan, &taken, tell))?;
        let columns = match events.next(keep)? {
            Some(Event::Part(Progress::Columns(columns))) => columns,
            _ => return Err(died().with_origin(self.name())),
        };
        let types = names.iter().zip(&meanings).map(|(name, meaning)| accepted(&columns, name, meaning));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let encoder = RowEncoder::new(names.into_iter().zip(types).collect());
        Ok(Box::new(PostgresWriter { events, steps, encoder, abandoned, waiting: 0 }))
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

/// A transaction that copies rows. Dropping it stops the connection's thread, which rolls back.
struct PostgresWriter {
    events: EventReader<Postgres, Progress>,
    steps: SyncSender<Step>,
    encoder: RowEncoder,
    /// Set before the thread could commit an interrupted write.
    abandoned: Arc<AtomicBool>,
    /// The blocks that the connection's thread has not taken yet.
    waiting: usize,
}

impl PostgresWriter {
    fn send(&mut self, step: Step, keep: Keep<'_>) -> Result<(), Error> {
        while self.waiting >= WAITING {
            self.next(keep)?;
        }
        match self.steps.send(step) {
            Ok(()) => {
                self.waiting += 1;
                Ok(())
            }
            // The thread has ended, and its last event says why.
            Err(_) => loop {
                self.next(keep)?;
            },
        }
    }

    /// Waits until the thread takes a block.
    fn next(&mut self, keep: Keep<'_>) -> Result<(), Error> {
        match self.event(keep)? {
            Event::Part(_) => {
                self.waiting = self.waiting.saturating_sub(1);
                Ok(())
            }
            Event::Finished(_) => Err(died()),
        }
    }

    fn event(&mut self, keep: Keep<'_>) -> Result<Event<Progress>, Error> {
        let abandoned = &self.abandoned;
        let mut keep = || {
            let goes_on = keep();
            if !goes_on {
                abandoned.store(true, Ordering::Release);
            }
            goes_on
        };
        self.events.next(&mut keep)?.ok_or_else(died)
    }
}

impl TableWriter for PostgresWriter {
    fn write(&mut self, batch: &RecordBatch, keep: Keep<'_>) -> Result<(), Error> {
        for start in (0..batch.num_rows()).step_by(PART) {
            let part = batch.slice(start, PART.min(batch.num_rows() - start));
            let columns = self.encoder.columns(&part)?;
            for row in 0..part.num_rows() {
                self.encoder.push(&columns, row)?;
                if self.encoder.len() >= BLOCK {
                    let block = self.encoder.take();
                    self.send(Step::Rows(block), keep)?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, keep: Keep<'_>) -> Result<u64, Error> {
        let (rows, rest) = (self.encoder.rows(), self.encoder.end());
        self.send(Step::Rows(rest), keep)?;
        self.send(Step::Finish(rows), keep)?;
        loop {
            if let Event::Finished(finished) = self.event(keep)? {
                return Ok(finished.rows.unwrap_or(rows));
            }
        }
    }
}

impl Drop for PostgresWriter {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Release);
    }
}
