//! COPY … FROM STDIN: inserts the client's rows batch by batch, in one transaction.

use std::sync::Arc;

use arrow_schema::Schema;
use colonnade_sql::{Statement, quote};

use crate::copy::input::{CopyDataError, CopyReader, ReadRows, Targets, reader};
use crate::copy::options::Format;
use crate::copy::{CopyIn, without_keys};
use crate::engine::{Columns, EngineAnswer, EngineError, InsertedRows, TargetColumn, ValueForm};
use crate::error::Failure;
use crate::message::ProtocolError;
use crate::message::backend;
use crate::message::frontend::{FrontendMessage, Phase};
use crate::rows::interrupted;
use crate::session::execute::BATCH;
use crate::session::state::Session;

enum Received {
    Data,
    End,
}

impl Session {
    /// Reads and inserts rows until the client ends the data.
    pub fn copy_in(&mut self, copy: &CopyIn) -> Result<(), Failure> {
        let _running = self.start()?;
        let columns = copy.columns.as_deref().unwrap_or("*");
        let query = format!("SELECT {columns} FROM {}", copy.table);
        let received = self.in_transaction(|session| {
            // Within the transaction, because another session could change the columns' types.
            let targets = session.targets(&query, copy).map_err(|failure| failure.with_offset(None))?;
            session.receive(copy, targets)
        })?;
        self.finish(&format!("COPY {received}"));
        Ok(())
    }

    /// The columns that `query` gives.
    fn targets(&mut self, query: &str, copy: &CopyIn) -> Result<Targets, Failure> {
        let statement = Statement::of(query, self.engine.dialect());
        let description = self.engine()?.describe(&statement, &[])?;
        let Columns::Known(columns) = description.columns else { return Err(Failure::DeferredColumns) };
        let columns: Vec<_> = columns.into_iter().map(|(name, type_)| TargetColumn { name, type_ }).collect();
        let exported = if copy.options.format == Format::Colonnade {
            let query = format!("{query} LIMIT 0");
            match self.query_answer(&Statement::of(&query, self.engine.dialect()), &[], BATCH)? {
                EngineAnswer::Rows(rows) if rows.schema().fields().len() == columns.len() => {
                    without_keys(rows).schema()
                }
                _ => return Err(Failure::DeferredColumns),
            }
        } else {
            Arc::new(Schema::empty())
        };
        Ok(Targets { columns, exported, is_listed: copy.columns.is_some() })
    }

    fn receive(&mut self, copy: &CopyIn, targets: Targets) -> Result<u64, Failure> {
        let columns = targets.columns.clone();
        let mut reader = reader(&copy.options, targets, self.settings.client_encoding(), &self.control.budget)?;
        backend::copy_in_response(self.output.buffer(), copy.options.format.is_binary(), columns.len());
        self.output.flush()?;
        let mut inserted = 0;
        loop {
            let message = self.input.message(Phase::Ready, |message| read_message(&message, reader.as_mut()));
            // Another thread may have shut the socket down. Then this gives the reason.
            self.control.check()?;
            let is_end = match message?.ok_or(ProtocolError::Eof)?? {
                Received::Data => false,
                Received::End => true,
            };
            if is_end {
                reader.finish()?;
            }
            while let Some(rows) = reader.batch(is_end)? {
                inserted += self.insert(copy, &columns, rows, inserted)?;
            }
            if is_end {
                return Ok(inserted);
            }
        }
    }

    /// Inserts rows behind the first `before` rows of the data.
    fn insert(&mut self, copy: &CopyIn, columns: &[TargetColumn], rows: ReadRows, before: u64) -> Result<u64, Failure> {
        self.transaction.savepoints.may_write();
        let dialect = self.engine.dialect();
        let (first_row, last_row) = (before + 1, before + rows.rows());
        let form = match rows.exported {
            Some(_) => ValueForm::Exported { first_row },
            None => ValueForm::Input,
        };
        let targets: Vec<_> = match &rows.exported {
            Some(positions) => positions.iter().map(|&at| &columns[at]).collect(),
            None => columns.iter().collect(),
        };
        let named = rows.exported.is_some().then(|| {
            let names = targets.iter().map(|target| quote::identifier(&target.name, dialect));
            names.collect::<Vec<_>>().join(", ")
        });
        let listed = named.as_deref().or(copy.columns.as_deref());
        let rows = InsertedRows { table: &copy.table, columns: listed, targets, batches: rows.batches, form };
        self.engine()?.insert(rows).map_err(|error| {
            let place = || Some(format!("Rows {first_row} to {last_row} of the data."));
            let detail = error.detail.clone().or_else(place);
            interrupted(&self.control, EngineError { detail, ..error })
        })
    }
}

fn read_message(message: &FrontendMessage<'_>, reader: &mut dyn CopyReader) -> Result<Received, Failure> {
    match message {
        FrontendMessage::CopyData(data) => reader.feed(data).map(|()| Received::Data),
        FrontendMessage::CopyDone => Ok(Received::End),
        FrontendMessage::CopyFail(reason) => Err(CopyDataError::Failed(reason.clone().into_owned()).into()),
        FrontendMessage::InvalidText { error, .. } => Err(error.clone().into()),
        // As in PostgreSQL, these are ignored: clients of the extended protocol send them before they know that the
        // statement is a COPY.
        FrontendMessage::Flush | FrontendMessage::Sync => Ok(Received::Data),
        FrontendMessage::Terminate => Err(ProtocolError::Eof.into()),
        // As in PostgreSQL, the session continues: the message is not executed, and data that still arrives is ignored.
        _ => Err(CopyDataError::Unexpected.into()),
    }
}
