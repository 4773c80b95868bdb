//! One client's session: its queries one after the other, each answered before the next is read.

pub(crate) mod configure;
pub(crate) mod copy_in;
pub(crate) mod copy_out;
pub(crate) mod cursors;
pub(crate) mod execute;
pub(crate) mod extended;
pub(crate) mod listing;
pub(crate) mod portal;
pub(crate) mod prepared;
pub(crate) mod query;
pub(crate) mod report;
pub(crate) mod request;
pub(crate) mod savepoint;
pub(crate) mod settings;
pub(crate) mod simple;
pub(crate) mod source;
pub(crate) mod state;
pub(crate) mod transaction;

use crate::error::Failure;
use crate::message::ProtocolError;
use crate::message::backend;
use crate::message::frontend::Phase;
use crate::session::request::Request;

pub use state::{Session, Told, TransactionState};

impl Session {
    /// Applies the settings that the start-up has `given`, and answers messages until the client ends. The client knows the session as
    /// `process`.
    pub fn run(mut self, given: &[(String, String)], process: i32) {
        let begun = self.engine.set_session_number(process).map_err(Failure::from).and_then(|()| self.set_given(given));
        if let Err(failure) = begun.and_then(|()| self.converse()) {
            // The client is told of a fatal error if it is still connected.
            self.report(&failure, "FATAL", None);
            let _ = self.output.flush();
        }
    }

    fn converse(&mut self) -> Result<(), Failure> {
        // After an error in the extended protocol everything up to Sync is skipped.
        let mut is_skipping = false;
        self.ready()?;
        while let Some(request) = self.input.message(Phase::Ready, |message| Request::of(&message))? {
            if !is_skipping && let Err(failure) = self.end_wait_for_columns(&request) {
                is_skipping = true;
                self.fail(&failure, None);
                self.abandon_pipeline()?;
            }
            match request {
                Request::Terminate => return Ok(()),
                Request::Sync => {
                    is_skipping = false;
                    self.end_pipeline()?;
                    self.ready()?;
                }
                _ if is_skipping => {}
                Request::Query(sql) => {
                    self.end_pipeline()?;
                    self.prepared.forget_unnamed();
                    match self.control.budget.charge(sql.len()) {
                        Ok(_message) => self.query(&sql)?,
                        Err(limit) => self.fail(&limit.into(), None),
                    }
                    self.ready()?;
                }
                Request::Extended(step) => match self.step(&step) {
                    Ok(()) => self.output.flush_if_full()?,
                    Err(failure) if failure.is_fatal() => return Err(failure),
                    Err(failure) => {
                        is_skipping = true;
                        self.fail(&failure, step.query().map(|query| (query, 0)));
                        self.abandon_pipeline()?;
                        // As PostgreSQL does: a client may wait for it before it sends Sync.
                        self.output.flush()?;
                    }
                },
                Request::FunctionCall => {
                    self.fail(&Failure::NotSupported("the function call protocol"), None);
                    self.ready()?;
                }
                Request::Flush => self.output.flush()?,
                Request::Ignored => {}
                Request::Unexpected(kind) => return Err(ProtocolError::Unexpected(kind).into()),
            }
        }
        // The client has hung up, or somebody else has ended the reading and says why.
        self.control.check()
    }

    fn ready(&mut self) -> Result<(), Failure> {
        self.follow();
        if !self.engine.is_open() {
            return Err(Failure::SourceLost);
        }
        backend::ready_for_query(self.output.buffer(), self.transaction.status);
        // First, since the client may act on it sooner than this thread goes on.
        self.control.note_waiting(self.transaction.is_open());
        self.output.flush()?;
        self.output.socket().note_ready_for_query();
        Ok(())
    }
}
