//! A session in front of another database: statements go there as the client wrote them, and transactions, settings and the
//! catalog are that database's.
//!
//! The session itself handles what concerns the client's connection: what a client prepares by the protocol, the settings for the
//! form of values and for the client's identity, and COPY … TO STDOUT, whose formats are this server's.

use colonnade_sql::{Dialect, Statement, StatementKind, quote};

use crate::copy::CopyRequest;
use crate::engine::EngineError;
use crate::error::{Failure, SqlState};
use crate::message::backend::{self, TransactionStatus};
use crate::rows::Formats;
use crate::session::execute::Outcome;
use crate::session::request::{ExtendedMessage, Request};
use crate::session::settings;
use crate::session::state::Session;

impl Session {
    /// Runs one statement of a session that is in front of a source.
    pub fn pass(&mut self, statement: &Statement<'_>, dialect: Dialect, is_described: bool) -> Result<(), Failure> {
        self.follow();
        match &statement.kind {
            StatementKind::Begin(_) | StatementKind::Start(_) | StatementKind::Commit | StatementKind::Rollback => {
                self.transaction(statement)
            }
            StatementKind::Copy(copy) => {
                match CopyRequest::new(copy.as_ref().map_err(Clone::clone)?, statement.text)? {
                    CopyRequest::ToStdout(copy) => self.copy(statement.text, &copy),
                    CopyRequest::FromStdin(_) => Err(refused(
                        "COPY … FROM STDIN is not passed to a source",
                        "Insert the rows with statements, or copy them into the source itself.",
                    )),
                    CopyRequest::Engine => self.execute(statement),
                }
            }
            StatementKind::Discard(what) if what == "ALL" => self.discard_all(statement, dialect),
            StatementKind::Deallocate(name) => self.deallocate(statement, name.as_deref()),
            StatementKind::Cursor(_) if !dialect.is_postgres() => self.cursors(statement),
            kind => match settings::kept(kind, Some(dialect)) {
                Some(command) => self.configure(kind, command, is_described),
                None => {
                    if *kind == StatementKind::Reset(None) {
                        self.reset_settings()?;
                    }
                    self.execute(statement)
                }
            },
        }
    }

    fn discard_all(&mut self, statement: &Statement<'_>, dialect: Dialect) -> Result<(), Failure> {
        if !dialect.is_postgres() {
            return Err(refused("this source has no DISCARD ALL", "Open a new connection in its place."));
        }
        self.execute(statement)?;
        self.prepared.deallocate(None);
        self.reset_settings()
    }

    /// Whether a name may be that of a cursor in the source, because no portal has it: in PostgreSQL, portals and cursors share names.
    pub fn is_elsewhere(&self, name: &str) -> bool {
        self.engine.source().is_some_and(Dialect::is_postgres) && !self.prepared.has_portal(name)
    }

    /// Says the columns of such a cursor.
    pub fn describe_elsewhere(&mut self, name: &str) -> Result<(), Failure> {
        let _running = self.start()?;
        let formats = Formats::default();
        let fetch = format!("FETCH 0 FROM {}", quote::identifier(name, Dialect::POSTGRES));
        match self.run_engine(&Statement::of(&fetch, Dialect::POSTGRES), &[], &formats)? {
            Outcome::Rows(cursor) => cursor.describe(self.output.buffer(), &formats),
            Outcome::Done(_) => backend::no_data(self.output.buffer()),
        }
        Ok(())
    }

    /// Takes over the source's transaction status, and tells the client if the source's dialect or time zone has changed.
    pub fn follow(&mut self) {
        let Some(dialect) = self.engine.source() else { return };
        if self.told.dialect != dialect.name() {
            self.told.dialect = dialect.name();
            backend::parameter_status(self.output.buffer(), "colonnade.dialect", dialect.name());
        }
        if let Some(zone) = self.engine.time_zone().filter(|zone| *zone != self.told.time_zone) {
            backend::parameter_status(self.output.buffer(), "TimeZone", &zone);
            self.told.time_zone = zone;
        }
        // A transaction that the session has begun itself is not the client's.
        if let Some(status) = self.engine.status()
            && !self.transaction.is_pipeline
        {
            if status == TransactionStatus::Idle && self.transaction.status != TransactionStatus::Idle {
                self.forget_portals(true);
            }
            self.transaction.status = status;
        }
    }

    /// A client that wants to know a statement's columns and then runs it is told when it runs: only then are they known. Any
    /// other request finds them unknown.
    pub fn end_wait_for_columns(&mut self, request: &Request) -> Result<(), Failure> {
        let Some(portal) = self.prepared.waiting.take() else { return Ok(()) };
        match request {
            Request::Extended(ExtendedMessage::Execute { portal: name, .. }) if *name == portal => {
                self.prepared.waiting = Some(portal);
                Ok(())
            }
            _ => Err(Failure::DeferredColumns),
        }
    }
}

fn refused(what: &str, instead: &str) -> Failure {
    let error = EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, what);
    EngineError { hint: Some(instead.to_owned()), ..error }.into()
}
