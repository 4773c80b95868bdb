//! A session in front of another database, the source. The source gets the client's statements unchanged, and has the
//! transactions, the settings and the catalog.
//!
//! The session itself handles the client's connection: prepared statements of the protocol, settings for the form of
//! values and for the client's identity, and COPY … TO STDOUT in this server's formats.

use colonnade_sql::statement::NotificationStatement;
use colonnade_sql::{Dialect, Statement, StatementKind, quote};

use crate::copy::CopyRequest;
use crate::engine::EngineError;
use crate::error::{Failure, SqlState};
use crate::message::backend::{self, TransactionStatus};
use crate::rows::Formats;
use crate::session::execute::{BATCH, Outcome};
use crate::session::request::{ExtendedMessage, Request};
use crate::session::settings;
use crate::session::state::Session;

impl Session {
    /// Runs one statement in front of a source.
    pub fn run_on_source(
        &mut self,
        statement: &Statement<'_>,
        dialect: Dialect,
        is_described: bool,
    ) -> Result<(), Failure> {
        self.sync_with_source();
        match &statement.kind {
            StatementKind::Begin(_)
            | StatementKind::Start(_)
            | StatementKind::Commit { .. }
            | StatementKind::Rollback { .. } => self.transaction(statement),
            StatementKind::Copy(copy) => {
                match CopyRequest::new(copy.as_ref().map_err(Clone::clone)?, statement.text)? {
                    CopyRequest::ToStdout(copy) => self.copy(statement.text, &copy),
                    CopyRequest::FromStdin(_) => Err(not_supported(
                        "COPY … FROM STDIN is not supported in front of a source",
                        "Insert the rows with statements, or copy them into the source itself.",
                    )),
                    CopyRequest::Engine => self.execute(statement),
                }
            }
            StatementKind::Discard(what) if what == "ALL" => self.discard_at_source(statement, dialect),
            StatementKind::Notification(Ok(NotificationStatement::Listen(_))) => Err(not_supported(
                "LISTEN is not supported in front of a source",
                "Connect to the source itself to receive its notifications.",
            )),
            StatementKind::Deallocate(name) => self.deallocate(statement, name.as_deref()),
            StatementKind::Cursor(_) if !dialect.is_postgres() => self.cursors(statement),
            kind => match settings::session_command(kind, Some(dialect)) {
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

    fn discard_at_source(&mut self, statement: &Statement<'_>, dialect: Dialect) -> Result<(), Failure> {
        if !dialect.is_postgres() {
            return Err(not_supported("this source has no DISCARD ALL", "Open a new connection instead."));
        }
        self.execute(statement)?;
        self.prepared.statements.clear();
        self.reset_settings()
    }

    /// Whether a name may be that of a cursor in the source. In PostgreSQL, portals and cursors share names, and no
    /// portal has this one.
    pub fn may_be_source_cursor(&self, name: &str) -> bool {
        self.engine.source().is_some_and(Dialect::is_postgres) && !self.prepared.has_portal(name)
    }

    /// Sends the description of a cursor in the source.
    pub fn describe_source_cursor(&mut self, name: &str) -> Result<(), Failure> {
        let _running = self.start()?;
        let formats = Formats::default();
        let fetch = format!("FETCH 0 FROM {}", quote::identifier(name, Dialect::POSTGRES));
        match self.run_client_statement(&Statement::of(&fetch, Dialect::POSTGRES), &[], &formats, BATCH)? {
            Outcome::Rows(cursor) => cursor.describe(self.output.buffer(), &formats)?,
            Outcome::Done(_) => backend::no_data(self.output.buffer()),
        }
        Ok(())
    }

    /// Copies the source's transaction status. Reports the source's dialect and time zone to the client if they have
    /// changed.
    pub fn sync_with_source(&mut self) {
        let Some(dialect) = self.engine.source() else { return };
        if self.reported.dialect != dialect.name() {
            self.reported.dialect = dialect.name();
            backend::parameter_status(self.output.buffer(), "colonnade.dialect", dialect.name());
        }
        if let Some(zone) = self.engine.time_zone().filter(|zone| *zone != self.reported.time_zone) {
            backend::parameter_status(self.output.buffer(), "TimeZone", &zone);
            self.reported.time_zone = zone;
        }
        // A transaction of the session itself does not count as the client's.
        if let Some(status) = self.engine.status()
            && !self.transaction.is_pipeline
        {
            if status == TransactionStatus::Idle && self.transaction.status != TransactionStatus::Idle {
                self.forget_portals(true);
                self.prepared.hold_cursors();
            }
            self.transaction.status = status;
        }
    }

    /// Checks the message after a Describe that was deferred. The description is sent when the portal runs, because the
    /// columns are known only then. If the next message is not the portal's Execute, the Describe fails.
    pub fn check_deferred_description(&mut self, request: &Request) -> Result<(), Failure> {
        let Some(portal) = self.prepared.described_portal.take() else { return Ok(()) };
        match request {
            Request::Extended(ExtendedMessage::Execute { portal: name, .. }) if *name == portal => {
                self.prepared.described_portal = Some(portal);
                Ok(())
            }
            _ => Err(Failure::DeferredColumns),
        }
    }
}

fn not_supported(what: &str, instead: &str) -> Failure {
    let error = EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, what);
    EngineError { hint: Some(instead.to_owned()), ..error }.into()
}
