//! Timestamps as points in time, whatever the session's time zone is.

use colonnade_sql::{Dialect, quote};

use super::{Prepared, Talk, is_unforeseen};
use crate::mysql::incoming::Block;
use crate::mysql::kind::{self, Instants};
use crate::mysql::packet::{Command, Done, capability, status};
use crate::mysql::parameters::BoundStatement;
use crate::mysql::server_connection::ServerConnection;
use crate::mysql::zone::{self, Ambiguous, SessionZone};
use crate::shared_connection::AnswerError;
use crate::{Error, ErrorKind, Pool, QueryOptions};

/// The number of rows in COM_STMT_FETCH.
const ALL_ROWS: [u8; 4] = [0xff; 4];
/// The SQLSTATE of a killed statement, and how often a setting is repeated after it.
const INTERRUPTED: &str = "70100";
const ATTEMPTS: usize = 10;
/// The points in time of one question.
const INSTANTS_AT_ONCE: usize = 100;

impl Talk<'_> {
    /// How the statement's timestamps become points in time. The zone is asked for only if it may have some.
    pub(super) fn instants(
        &mut self,
        prepared: &Prepared,
        sql: &str,
        options: &QueryOptions,
    ) -> Result<Instants, AnswerError> {
        let mut columns = prepared.columns.iter().filter(|column| kind::is_instant(column)).peekable();
        if columns.peek().is_none() && !prepared.unforeseen {
            return Ok(Instants::Offset(0));
        }
        let all_as_text = columns.all(|column| options.as_text.contains(&column.name));
        Ok(match self.zone()? {
            SessionZone::Offset(east) => Instants::Offset(east),
            // The server keeps the rows of queries only.
            SessionZone::Named(zone) if all_as_text || is_unforeseen(sql) => Instants::Local(zone),
            SessionZone::Named(zone) => {
                let ambiguous = self.ambiguous(&zone)?;
                Instants::Cursor(zone, ambiguous)
            }
        })
    }

    /// The points in time that a cursor may keep as others: none in MariaDB. A connection asks once for a zone.
    fn ambiguous(&mut self, zone: &str) -> Result<Ambiguous, AnswerError> {
        if self.connection.server.is_mariadb() {
            return Ok(Ambiguous::default());
        }
        if let Some((known, ambiguous)) = &self.connection.ambiguous
            && known == zone
        {
            return Ok(Ambiguous::clone(ambiguous));
        }
        let answer = self.connection.ask(&zone::set_back(), self.tick)?;
        let ambiguous = zone::ambiguous(&answer).map_err(AnswerError::Refused)?;
        self.connection.ambiguous = Some((zone.to_owned(), Ambiguous::clone(&ambiguous)));
        Ok(ambiguous)
    }

    /// Checks that the server keeps the rows until they are fetched.
    pub(super) fn expect_cursor(&mut self, pool: &Pool, options: &QueryOptions) -> Result<(), AnswerError> {
        let is_kept = |connection: &ServerConnection| connection.status & status::CURSOR_EXISTS != 0;
        // Otherwise the columns' end has said it.
        if self.connection.server.capabilities & capability::DEPRECATE_EOF != 0 || !is_kept(self.connection) {
            let done = self.receive(pool, options, &mut |_| {})?;
            self.pass_over_results(done)?;
        }
        if is_kept(self.connection) {
            return Ok(());
        }
        let message = "the server did not keep the rows, so its timestamps cannot be had in UTC";
        Err(AnswerError::Refused(Error::new(ErrorKind::Unsupported, message).with_hint(zone::WAY_OUT)))
    }

    /// Passes on the rows of the cursor in UTC, and sets the session's zone back.
    pub(super) fn fetch_in_utc(
        &mut self,
        prepared: &Prepared,
        zone: &str,
        pool: &Pool,
        options: &QueryOptions,
        sink: &mut dyn FnMut(Block),
    ) -> Result<Done, AnswerError> {
        self.set_zone(zone::UTC)?;
        let fetched = self.fetch(prepared, pool, options, sink);
        if matches!(fetched, Err(AnswerError::Lost(_))) {
            return fetched;
        }
        let mut attempts = 1..ATTEMPTS;
        loop {
            match self.set_zone(zone) {
                // A late KILL.
                Err(AnswerError::Refused(error))
                    if error.sqlstate() == Some(INTERRUPTED) && attempts.next().is_some() => {}
                // Nobody may use a session with another zone.
                Err(AnswerError::Refused(error) | AnswerError::Lost(error)) => return Err(AnswerError::Lost(error)),
                Ok(()) => return fetched,
            }
        }
    }

    fn fetch(
        &mut self,
        prepared: &Prepared,
        pool: &Pool,
        options: &QueryOptions,
        sink: &mut dyn FnMut(Block),
    ) -> Result<Done, AnswerError> {
        loop {
            self.connection.command(Command::Fetch, &[&prepared.number[..], &ALL_ROWS].concat())?;
            let done = self.receive(pool, options, sink)?;
            if done.status & status::LAST_ROW_SENT != 0 {
                return Ok(done);
            }
        }
    }

    /// The session's time zone.
    fn zone(&mut self) -> Result<SessionZone, Error> {
        SessionZone::read(&self.connection.ask(&format!("SELECT {}", zone::COLUMNS), self.tick)?, 0)
    }

    fn set_zone(&mut self, zone: &str) -> Result<(), AnswerError> {
        let statement = format!("SET SESSION time_zone = {}", quote::string(zone, Dialect::MYSQL));
        self.connection.answer(&statement, self.tick).map(drop)
    }

    /// Refuses points in time that are not exact as values: they become local times.
    pub(super) fn check_instants(&mut self, statement: &BoundStatement) -> Result<(), AnswerError> {
        if statement.instants.is_empty() {
            return Ok(());
        }
        if self.zone()? == SessionZone::Offset(0) {
            return Ok(());
        }
        for some in statement.instants.chunks(INSTANTS_AT_ONCE) {
            let answer = self.connection.ask(&zone::uncertain(some), self.tick)?;
            if let Some(instant) = answer.text(0, 0) {
                let message = format!(
                    "a parameter is {instant} in UTC, which is not exact in the session's time_zone: another point in \
                     time has the same local time, or the server's zones do not reach so far"
                );
                let error = Error::new(ErrorKind::Database, message).with_sqlstate("22008");
                return Err(AnswerError::Refused(error.with_hint("run SET time_zone = '+00:00' before")));
            }
        }
        Ok(())
    }
}
