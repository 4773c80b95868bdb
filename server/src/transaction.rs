//! Whether a session is in a transaction, and what its transaction statements do.
//!
//! PostgreSQL forgives what DuckDB does not: BEGIN within a transaction and COMMIT or ROLLBACK outside are warnings,
//! COMMIT of a failed transaction rolls it back. Drivers count on that.

use crate::engine::Dialect;
use crate::error::{Failure, SqlState};
use crate::message::backend::{self, Report, Status};
use crate::query::{self, StatementKind};
use crate::session::Session;
use crate::settings;
use crate::source;

/// What to do about a transaction statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Let the engine run it as it is.
    Run,
    /// Have the engine roll back, and report that.
    RollBack,
    /// Only warn, and report it done.
    Warn(SqlState, &'static str),
}

/// What `kind`, a transaction statement, means in a session that is `status`.
pub fn step(status: Status, kind: StatementKind) -> Step {
    match (status, kind) {
        (Status::InTransaction, StatementKind::Begin) => {
            Step::Warn(SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress")
        }
        (Status::Idle, StatementKind::Commit | StatementKind::Rollback) => {
            Step::Warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress")
        }
        (Status::Failed, StatementKind::Commit | StatementKind::Rollback) => Step::RollBack,
        _ => Step::Run,
    }
}

impl Session {
    /// Runs BEGIN, COMMIT or ROLLBACK.
    pub fn transaction(&mut self, text: &str, kind: StatementKind) -> Result<(), Failure> {
        match step(self.status, kind) {
            // Nobody knows whether a transaction is open there.
            Step::Warn(..) if self.engine.dialect() == Dialect::Unknown => self.run_plain(text)?,
            Step::Warn(code, message) => {
                if kind != StatementKind::Begin && std::mem::take(&mut self.prepared.is_pipeline) {
                    self.run_plain(if kind == StatementKind::Commit { "COMMIT" } else { "ROLLBACK" })?;
                }
                let report = Report { severity: "WARNING", code: code.as_str(), message, ..Report::default() };
                backend::notice_response(self.output.buffer(), &report);
            }
            Step::RollBack => {
                self.roll_back()?;
                self.end_local_settings();
                backend::command_complete(self.output.buffer(), "ROLLBACK");
                return Ok(());
            }
            Step::Run if kind == StatementKind::Begin => {
                // What a pipeline has done so far is a part of the transaction that it begins.
                if !std::mem::take(&mut self.prepared.is_pipeline) {
                    let begin = match self.engine.dialect() {
                        Dialect::DuckDb => own_begin(text)?,
                        _ => source::begin(text),
                    };
                    let _running = self.start()?;
                    self.run_plain(begin)?;
                }
                self.status = Status::InTransaction;
            }
            Step::Run => {
                // Whether it succeeds or not, no transaction is left after a COMMIT or ROLLBACK, and no portal.
                self.status = Status::Idle;
                self.prepared.forget_portals(kind == StatementKind::Commit);
                let _running = self.start()?;
                let ended = self.run_plain(match (self.engine.dialect(), kind) {
                    (Dialect::Postgres, _) => text,
                    // Without what only PostgreSQL understands: WORK, AND NO CHAIN.
                    (_, StatementKind::Commit) => "COMMIT",
                    _ => "ROLLBACK",
                });
                self.end_local_settings();
                ended?;
            }
        }
        backend::command_complete(self.output.buffer(), &query::tag(text, None, None));
        Ok(())
    }
}

/// How DuckDB is told to begin.
fn own_begin(text: &str) -> Result<&'static str, Failure> {
    let modes = settings::begin_modes(text);
    if modes.serializable {
        return Err(settings::SettingError::Transaction.into());
    }
    Ok(if modes.read_only { "BEGIN TRANSACTION READ ONLY" } else { "BEGIN TRANSACTION" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgives_what_postgresql_forgives() {
        use StatementKind::{Begin, Commit, Rollback};
        assert_eq!(step(Status::Idle, Begin), Step::Run);
        assert!(matches!(step(Status::InTransaction, Begin), Step::Warn(SqlState::ACTIVE_SQL_TRANSACTION, _)));
        assert!(matches!(step(Status::Idle, Commit), Step::Warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, _)));
        assert_eq!(step(Status::InTransaction, Commit), Step::Run);
        assert_eq!(step(Status::Failed, Commit), Step::RollBack);
        assert_eq!(step(Status::Failed, Rollback), Step::RollBack);
    }
}
