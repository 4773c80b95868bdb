//! COPY … FROM STDIN: the client sends rows, which are inserted batch by batch, in one transaction.

use arrow_array::RecordBatch;
use colonnade_sql::StatementKind;

use crate::copy::CopyIn;
use crate::copy::input::{CopyDataError, Reader, Target, is_plain, reader};
use crate::engine::{BATCH_NAME, Columns, EngineError};
use crate::error::Failure;
use crate::message::ProtocolError;
use crate::message::backend::{self, Status};
use crate::message::frontend::{Message, Phase};
use crate::rows::interrupted;
use crate::session::Session;

/// What a message came to.
enum Received {
    Data,
    End,
    Unexpected,
}

impl Session {
    /// Takes rows until the client says that there are no more.
    pub fn copy_in(&mut self, copy: &CopyIn) -> Result<(), Failure> {
        let _running = self.start()?;
        let columns = copy.columns.as_deref().unwrap_or("*");
        let query = format!("SELECT {columns} FROM {}", copy.table);
        let description = self.engine()?.describe(&query, &[]).map_err(placeless)?;
        let Columns::Known(columns) = description.columns else { return Err(Failure::LateColumns) };
        let targets: Vec<_> = columns.into_iter().map(|(name, type_)| Target { name, type_ }).collect();
        let is_alone = self.status == Status::Idle && !self.prepared.is_pipeline;
        if is_alone {
            self.begin_or_end("BEGIN")?;
        }
        let received = self.receive(copy, targets);
        if is_alone {
            match received {
                Ok(_) => self.begin_or_end("COMMIT")?,
                // Without this the next statement would meet a transaction that nobody knows of.
                Err(_) => self.roll_back()?,
            }
        }
        backend::command_complete(self.output.buffer(), &format!("COPY {}", received?));
        Ok(())
    }

    fn receive(&mut self, copy: &CopyIn, targets: Vec<Target>) -> Result<u64, Failure> {
        let mut reader = reader(&copy.options, targets.clone(), &self.control.budget)?;
        backend::copy_in_response(self.output.buffer(), copy.options.format.is_binary(), targets.len());
        self.output.flush()?;
        let mut inserted = 0;
        loop {
            let message = self.input.message(Phase::Ready, |message| take(&message, reader.as_mut()))?;
            let is_end = match message.ok_or(ProtocolError::Eof)?? {
                Received::Data => false,
                Received::End => true,
                Received::Unexpected => return Err(ProtocolError::Unexpected('d').into()),
            };
            self.control.check()?;
            if is_end {
                reader.finish()?;
            }
            while let Some(batch) = reader.batch(is_end)? {
                let statement = statement(copy, &targets, &batch);
                self.prepared.savepoints.note(&StatementKind::Insert);
                let rows = self.engine()?.insert(&statement, batch);
                inserted += rows.map_err(|error| interrupted(&self.control, placeless(error)))?;
            }
            if is_end {
                return Ok(inserted);
            }
        }
    }
}

fn take(message: &Message<'_>, reader: &mut dyn Reader) -> Result<Received, Failure> {
    match message {
        Message::CopyData(data) => reader.feed(data).map(|()| Received::Data),
        Message::CopyDone => Ok(Received::End),
        Message::CopyFail(reason) => Err(CopyDataError::Failed((*reason).to_owned()).into()),
        // PostgreSQL passes over these, since clients of the extended protocol send them before they know.
        Message::Flush | Message::Sync => Ok(Received::Data),
        _ => Ok(Received::Unexpected),
    }
}

/// The place is one in our own statement.
fn placeless(error: EngineError) -> EngineError {
    EngineError { position: None, ..error }
}

/// The INSERT that casts a batch's texts to the columns' types. Other columns bring theirs.
fn statement(copy: &CopyIn, targets: &[Target], batch: &RecordBatch) -> String {
    let schema = batch.schema();
    let values = targets.iter().zip(schema.fields()).map(|(target, field)| {
        let is_cast = !is_plain(field.data_type()) && target.type_.name != "VARCHAR";
        if is_cast { format!("CAST({} AS {})", field.name(), target.type_.name) } else { field.name().clone() }
    });
    let values: Vec<_> = values.collect();
    let columns = copy.columns.as_ref().map(|columns| format!(" ({columns})")).unwrap_or_default();
    format!("INSERT INTO {}{columns} SELECT {} FROM {BATCH_NAME}", copy.table, values.join(", "))
}
