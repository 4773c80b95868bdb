//! A session in front of another database: statements go there as the client wrote them, and transactions, settings and the
//! catalog are that database's.
//!
//! Kept here is what concerns the connection between client and server: what a client prepares by the protocol, the settings that say
//! how values look and who is there, and COPY … TO STDOUT, whose formats are this server's.

use colonnade_sql::{Dialect, Statement, StatementKind, code, quote};

use crate::copy::Parsed;
use crate::engine::EngineError;
use crate::error::{Failure, SqlState};
use crate::message::backend::{self, Status};
use crate::message::frontend::Target;
use crate::rows::Formats;
use crate::session::extended::Step;
use crate::session::settings::{self, Command, Settings};
use crate::session::{Outcome, Request, Session};

/// The settings of PostgreSQL's that are about the connection to the client, not about the database behind it.
const KEPT: [&str; 18] = [
    "application_name",
    "bytea_output",
    "client_encoding",
    "client_min_messages",
    "DateStyle",
    "extra_float_digits",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "server_version_num",
    "session_authorization",
    "standard_conforming_strings",
    "statement_timeout",
];

/// What a statement says about settings that are kept here: all that are known, unless they are a source's.
pub fn kept(kind: &StatementKind, source: Option<Dialect>) -> Option<Command> {
    let command = settings::command(kind)?;
    let Some(dialect) = source else { return Some(command) };
    let is_kept = match &command {
        Command::Set { setting, .. } | Command::Show(setting) => KEPT.contains(&Settings::name(*setting)),
        // Another database's are not called so.
        Command::ShowAll | Command::ResetAll => !dialect.is_postgres(),
        Command::Transaction(_) => false,
    };
    is_kept.then_some(command)
}

impl Session {
    /// Runs one statement of a session that is in front of a source.
    pub fn pass(
        &mut self,
        statement: &Statement<'_>,
        dialect: Dialect,
        described: Option<Target>,
    ) -> Result<(), Failure> {
        self.follow();
        match &statement.kind {
            StatementKind::Begin(_) | StatementKind::Commit | StatementKind::Rollback => self.transaction(statement),
            StatementKind::Copy(copy) => match Parsed::new(copy.as_ref().map_err(Clone::clone)?, statement.text)? {
                Parsed::ToStdout(copy) => self.copy(statement.text, &copy),
                Parsed::FromStdin(_) => Err(refused(
                    "COPY … FROM STDIN is not passed to a source",
                    "Insert the rows with statements, or copy them into the source itself.",
                )),
                Parsed::Engine => self.execute(statement),
            },
            StatementKind::Discard(what) if what == "ALL" => self.discard_all(statement, dialect),
            StatementKind::Deallocate(name) => self.deallocate(statement, name.as_deref()),
            StatementKind::Cursor(_) if !dialect.is_postgres() => self.cursors(statement),
            kind => match kept(kind, Some(dialect)) {
                Some(command) => self.configure(kind, command, described),
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

    /// Whether a portal is not here, but may be a cursor of the source's: PostgreSQL has both under the same names.
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

    /// Learns from the source whether a transaction is open, and tells the client if values are to be written otherwise.
    pub fn follow(&mut self) {
        let Some(dialect) = self.engine.source() else { return };
        if self.dialect != dialect.name() {
            self.dialect = dialect.name();
            backend::parameter_status(self.output.buffer(), "colonnade.dialect", dialect.name());
        }
        if let Some(zone) = self.engine.time_zone().filter(|zone| *zone != self.time_zone) {
            backend::parameter_status(self.output.buffer(), "TimeZone", &zone);
            self.time_zone = zone;
        }
        // A transaction that the session has begun itself is not the client's.
        if let Some(status) = self.engine.status()
            && !self.prepared.is_pipeline
        {
            if status == Status::Idle && self.status != Status::Idle {
                self.prepared.forget_portals(true);
            }
            self.status = status;
        }
    }

    /// A client that wants to know a statement's columns and then runs it is told when it runs: only then are they known. Any
    /// other request finds them unknown.
    pub fn end_wait_for_columns(&mut self, request: &Request) -> Result<(), Failure> {
        let Some(portal) = self.prepared.waiting.take() else { return Ok(()) };
        match request {
            Request::Extended(Step::Execute { portal: name, .. }) if *name == portal => {
                self.prepared.waiting = Some(portal);
                Ok(())
            }
            _ => Err(Failure::LateColumns),
        }
    }
}

/// What the engine says of a statement, with what to do if that asks for PostgreSQL's catalog where there is none.
pub fn explained(error: EngineError, statement: &str, source: Option<Dialect>) -> EngineError {
    let Some(dialect) = source.filter(|dialect| !dialect.is_postgres() && error.hint.is_none()) else { return error };
    if !code(statement, dialect).any(|token| token.is_name("pg_catalog")) {
        return error;
    }
    let hint = "The source is no PostgreSQL and has no pg_catalog: ask for what it has in its place.";
    EngineError { hint: Some(hint.to_owned()), ..error }
}

fn refused(what: &str, instead: &str) -> Failure {
    let error = EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, what);
    EngineError { hint: Some(instead.to_owned()), ..error }.into()
}
