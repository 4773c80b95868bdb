//! COPY … FROM STDIN: inserts the client's rows batch by batch, in one transaction.

use colonnade_sql::Statement;

use crate::copy::CopyIn;
use crate::copy::input::{CopyDataError, CopyReader, TargetColumn, reader};
use crate::engine::Columns;
use crate::error::Failure;
use crate::message::ProtocolError;
use crate::message::backend;
use crate::message::frontend::{FrontendMessage, Phase};
use crate::rows::interrupted;
use crate::session::state::Session;

enum Received {
    Data,
    End,
    Unexpected,
}

impl Session {
    /// Reads and inserts rows until the client ends the data.
    pub fn copy_in(&mut self, copy: &CopyIn) -> Result<(), Failure> {
        let _running = self.start()?;
        let columns = copy.columns.as_deref().unwrap_or("*");
        let query = format!("SELECT {columns} FROM {}", copy.table);
        let query = Statement::of(&query, self.engine.dialect());
        let description = self.engine()?.describe(&query, &[]);
        let description = description.map_err(|error| Failure::from(error).with_offset(None))?;
        let Columns::Known(columns) = description.columns else { return Err(Failure::DeferredColumns) };
        let targets: Vec<_> = columns.into_iter().map(|(name, type_)| TargetColumn { name, type_ }).collect();
        let received = self.in_transaction(|session| session.receive(copy, targets))?;
        backend::command_complete(self.output.buffer(), &format!("COPY {received}"));
        Ok(())
    }

    fn receive(&mut self, copy: &CopyIn, targets: Vec<TargetColumn>) -> Result<u64, Failure> {
        let types: Vec<_> = targets.iter().map(|target| target.type_.clone()).collect();
        let mut reader = reader(&copy.options, targets, &self.control.budget)?;
        backend::copy_in_response(self.output.buffer(), copy.options.format.is_binary(), types.len());
        self.output.flush()?;
        let mut inserted = 0;
        loop {
            let message = self.input.message(Phase::Ready, |message| read_message(&message, reader.as_mut()))?;
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
                self.transaction.savepoints.may_write();
                let rows = self.engine()?.insert(&copy.table, copy.columns.as_deref(), &types, batch);
                inserted += rows.map_err(|error| interrupted(&self.control, error))?;
            }
            if is_end {
                return Ok(inserted);
            }
        }
    }
}

fn read_message(message: &FrontendMessage<'_>, reader: &mut dyn CopyReader) -> Result<Received, Failure> {
    match message {
        FrontendMessage::CopyData(data) => reader.feed(data).map(|()| Received::Data),
        FrontendMessage::CopyDone => Ok(Received::End),
        FrontendMessage::CopyFail(reason) => Err(CopyDataError::Failed((*reason).to_owned()).into()),
        // As in PostgreSQL, these are ignored: clients of the extended protocol send them before they know that the statement is a COPY.
        FrontendMessage::Flush | FrontendMessage::Sync => Ok(Received::Data),
        _ => Ok(Received::Unexpected),
    }
}
