//! A session in front of another database: statements go there as the client wrote them, and transactions, settings and the
//! catalog are that database's.
//!
//! Kept here is what concerns the connection between client and server: what a client prepares by the protocol, the settings that say
//! how values look and who is there, and COPY … TO STDOUT, whose formats are this server's.

use colonnade_sql::{Dialect, quote};

use crate::copy::{self, Parsed};
use crate::engine::EngineError;
use crate::error::{Failure, SqlState};
use crate::lex::Lexer;
use crate::message::backend::{self, Status};
use crate::message::frontend::Target;
use crate::rows::Formats;
use crate::session::extended::Step;
use crate::session::query::{self, StatementKind};
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

/// What the session must know of a statement that goes to a source: what is answered here, and what transactions are.
pub fn kind(statement: &str, dialect: Dialect) -> StatementKind {
    match query::kind(statement) {
        StatementKind::Setting if kept(statement, Some(dialect)).is_none() => StatementKind::Other,
        StatementKind::Savepoint | StatementKind::Discard => StatementKind::Other,
        // PostgreSQL's are its own; the others have none, but this server does.
        StatementKind::Cursor if dialect.is_postgres() => StatementKind::Other,
        kind => kind,
    }
}

/// A statement about settings that are kept here: all that are known, unless they are a source's.
pub fn kept(statement: &str, source: Option<Dialect>) -> Option<Command> {
    let command = settings::command(statement)?;
    let Some(dialect) = source else { return Some(command) };
    let is_kept = match &command {
        Command::Set { setting, .. } | Command::Show(setting) => KEPT.contains(&Settings::name(*setting)),
        // Another database's are not called so.
        Command::ShowAll | Command::ResetAll => !dialect.is_postgres(),
        Command::Transaction(_) => false,
    };
    is_kept.then_some(command)
}

/// BEGIN as every source takes it, unless it asks for more than that.
pub fn begin(statement: &str) -> &str {
    let plain = ["begin", "start", "transaction", "work"];
    let is_plain = Lexer::new(statement).all(|token| plain.iter().any(|word| token.is_word(word)));
    if is_plain { "BEGIN" } else { statement }
}

impl Session {
    /// Runs one statement of a session that is in front of a source.
    pub fn pass(&mut self, text: &str, dialect: Dialect, described: Option<Target>) -> Result<(), Failure> {
        self.follow();
        match query::kind(text) {
            kind @ (StatementKind::Begin | StatementKind::Commit | StatementKind::Rollback) => {
                self.transaction(text, kind)
            }
            StatementKind::Copy => match copy::parse_passed(text)? {
                Parsed::ToStdout(copy) => self.copy(text, &copy),
                Parsed::FromStdin(_) => Err(refused(
                    "COPY … FROM STDIN is not passed to a source",
                    "Insert the rows with statements, or copy them into the source itself.",
                )),
                Parsed::Engine => self.execute(text),
            },
            StatementKind::Deallocate if query::is_discard(text) => self.discard_all(text, dialect),
            StatementKind::Deallocate if self.prepared.deallocate(query::deallocated(text).as_deref()) => {
                backend::command_complete(self.output.buffer(), &query::tag(text, None, None));
                Ok(())
            }
            StatementKind::Setting => match kept(text, Some(dialect)) {
                Some(command) => self.configure(text, command, described),
                None => {
                    if settings::command(text) == Some(Command::ResetAll) {
                        self.reset_settings()?;
                    }
                    self.execute(text)
                }
            },
            StatementKind::Cursor if !dialect.is_postgres() => self.cursors(text),
            _ => self.execute(text),
        }
    }

    fn discard_all(&mut self, text: &str, dialect: Dialect) -> Result<(), Failure> {
        if !dialect.is_postgres() {
            return Err(refused("this source has no DISCARD ALL", "Open a new connection in its place."));
        }
        self.execute(text)?;
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
        match self.run_engine(&fetch, &[], &formats)? {
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
    let has_catalog = source.is_none_or(Dialect::is_postgres);
    if has_catalog || error.hint.is_some() || !Lexer::new(statement).any(|token| token.value() == "pg_catalog") {
        return error;
    }
    let hint = "The source is no PostgreSQL and has no pg_catalog: ask for what it has in its place.";
    EngineError { hint: Some(hint.to_owned()), ..error }
}

fn refused(what: &str, instead: &str) -> Failure {
    let error = EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, what);
    EngineError { hint: Some(instead.to_owned()), ..error }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_concerns_the_client_is_kept() {
        for (statement, expected) in [
            ("SET extra_float_digits = 3", StatementKind::Setting),
            ("show server_version", StatementKind::Setting),
            ("SET search_path = a", StatementKind::Other),
            ("SET TRANSACTION READ ONLY", StatementKind::Other),
            ("SHOW ALL", StatementKind::Other),
            ("rollback to a", StatementKind::Other),
            ("rollback", StatementKind::Rollback),
        ] {
            assert_eq!(kind(statement, Dialect::POSTGRES), expected, "{statement}");
        }
    }

    #[test]
    fn a_plain_beginning_is_one_everywhere() {
        assert_eq!(begin("start transaction"), "BEGIN");
        assert_eq!(begin("begin /* x */ work"), "BEGIN");
        assert_eq!(begin("BEGIN IMMEDIATE"), "BEGIN IMMEDIATE");
        assert_eq!(begin("begin isolation level serializable"), "begin isolation level serializable");
    }
}
