//! One client's session. It reads a message, answers it, and then reads the next one.
//!
//! `state.rs` has the state: the transaction, what the client has prepared, the settings, what the client was told.
//! `simple.rs` and `extended.rs` answer the two protocols, `execute.rs` has the engine run a statement, and each other
//! verb has a file. Values are bound, never written into the statement.

pub(crate) mod configure;
pub(crate) mod copy_in;
pub(crate) mod copy_out;
pub(crate) mod cursors;
pub(crate) mod discard;
pub(crate) mod execute;
pub(crate) mod extended;
pub(crate) mod functions;
pub(crate) mod listing;
pub(crate) mod modes;
pub(crate) mod notification;
pub(crate) mod portal;
pub(crate) mod prepared;
pub(crate) mod query;
pub(crate) mod report;
pub(crate) mod request;
pub(crate) mod savepoint;
pub(crate) mod settings;
pub(crate) mod simple;
pub(crate) mod source;
pub(crate) mod spool;
pub(crate) mod state;
pub(crate) mod transaction;

use crate::error::Failure;
use crate::message::ProtocolError;
use crate::message::backend::{self, TransactionStatus};
use crate::session::request::Request;

pub use state::{Reported, Session, TransactionState};

impl Session {
    /// Applies the settings of the start-up message, and answers messages until the session ends.
    pub fn run(mut self) {
        self.caller.enter();
        let begun = self
            .engine
            .set_session_number(self.process)
            .map_err(Failure::from)
            .and_then(|()| self.set_startup_settings());
        if let Err(failure) = begun.and_then(|()| self.answer_messages()) {
            // This has no effect if the client has disconnected.
            self.report(&failure, "FATAL", None);
            let _ = self.output.flush();
        }
        self.caller.leave();
    }

    fn answer_messages(&mut self) -> Result<(), Failure> {
        // After an error in the extended protocol, all messages up to Sync are skipped.
        let mut is_skipping = false;
        self.send_ready()?;
        // Whether nothing was answered after the last ReadyForQuery.
        let mut is_ready = true;
        while let Some(request) = self.next_request(is_ready && !is_skipping)? {
            is_ready = match request {
                Request::Sync | Request::Query(_) | Request::FunctionCall => true,
                Request::InvalidText { is_query, .. } => is_query,
                Request::Flush | Request::Ignored => is_ready,
                _ => false,
            };
            if !is_skipping && let Err(failure) = self.check_deferred_description(&request) {
                is_skipping = true;
                self.fail(&failure, None);
                self.abandon_pipeline()?;
            }
            match request {
                Request::Terminate => return Ok(()),
                Request::Sync => {
                    is_skipping = false;
                    self.end_pipeline()?;
                    self.send_ready()?;
                }
                _ if is_skipping => {}
                Request::Query(sql) => {
                    self.end_pipeline()?;
                    self.prepared.forget_unnamed();
                    match self.control.budget.charge(sql.len()) {
                        Ok(_message) => self.query(&sql)?,
                        Err(limit) => self.fail(&limit.into(), None),
                    }
                    self.send_ready()?;
                }
                Request::Extended(step) => match self.answer_extended(&step) {
                    Ok(()) => self.output.flush_if_full()?,
                    Err(failure) if failure.is_fatal() => return Err(failure),
                    Err(failure) => {
                        is_skipping = true;
                        self.fail(&failure, step.query().map(|query| (query, 0)));
                        self.abandon_pipeline()?;
                        // As in PostgreSQL, because a client may wait for the error before it sends Sync.
                        self.output.flush()?;
                    }
                },
                Request::InvalidText { is_query, error } => {
                    self.fail(&error.into(), None);
                    if is_query {
                        self.end_pipeline()?;
                        self.send_ready()?;
                    } else {
                        is_skipping = true;
                        self.abandon_pipeline()?;
                        self.output.flush()?;
                    }
                }
                Request::FunctionCall => {
                    self.fail(&Failure::NotSupported("the function call protocol"), None);
                    self.send_ready()?;
                }
                Request::Flush => self.output.flush()?,
                Request::Ignored => {}
                Request::Unexpected(kind) => return Err(ProtocolError::Unexpected(kind).into()),
            }
        }
        // The client has closed the connection, or another thread has shut down the socket. In the second case this
        // gives the reason.
        self.control.check()
    }

    fn send_ready(&mut self) -> Result<(), Failure> {
        self.sync_with_source();
        if !self.engine.is_open() {
            return Err(Failure::SourceLost);
        }
        if self.transaction.status != TransactionStatus::InTransaction {
            self.caller.locks.end_transaction();
        }
        if !self.transaction.is_open() {
            self.write_notifications()?;
        }
        backend::ready_for_query(self.output.buffer(), self.transaction.status);
        // Before the message is sent, because the client's next message may arrive before this thread continues.
        self.control.note_waiting(self.transaction.is_open());
        self.output.flush()?;
        self.output.socket().note_ready_for_query();
        Ok(())
    }
}
