//! Transaction statements, and the transactions that the session begins itself.
//!
//! In PostgreSQL, BEGIN within a transaction and COMMIT or ROLLBACK outside of one are only warnings, and COMMIT of a
//! failed transaction rolls it back. Drivers rely on this.

use std::thread;
use std::time::Duration;

use colonnade_sql::statement::Modes;
use colonnade_sql::{Dialect, Statement, StatementKind};

use crate::error::{Failure, SqlState};
use crate::memory::with_reserve;
use crate::message::backend::{self, TransactionStatus};
use crate::notifications::NotificationMark;
use crate::session::execute::BATCH;
use crate::session::prepared::statement::PreparedStatement;
use crate::session::query;
use crate::session::settings;
use crate::session::settings::modes::TransactionModes;
use crate::session::state::Session;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run the statement on the engine.
    Run,
    /// Roll back on the engine, and report ROLLBACK.
    RollBack,
    /// Only warn, and report the statement as done.
    Warn(SqlState, &'static str),
}

/// The action for a transaction statement of this kind in a session with this status.
pub fn action(status: TransactionStatus, kind: &StatementKind) -> Action {
    match (status, kind) {
        (TransactionStatus::InTransaction, StatementKind::Begin(_) | StatementKind::Start(_)) => {
            Action::Warn(SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress")
        }
        (TransactionStatus::Idle, StatementKind::Commit { .. } | StatementKind::Rollback { .. }) => {
            Action::Warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress")
        }
        (TransactionStatus::Failed, StatementKind::Commit { .. } | StatementKind::Rollback { .. }) => Action::RollBack,
        _ => Action::Run,
    }
}

impl Session {
    /// Runs BEGIN, COMMIT or ROLLBACK.
    pub fn transaction(&mut self, statement: &Statement<'_>) -> Result<(), Failure> {
        let Statement { text, kind, .. } = statement;
        let next = self.next_modes(kind)?;
        match (action(self.transaction.status, kind), kind) {
            (Action::Warn(..), _) if self.is_status_unknown() => self.run_own_statement(text)?,
            (Action::Warn(code, message), _) => {
                match kind {
                    StatementKind::Commit { .. } => {
                        self.end_own_transaction(true)?;
                        self.commit_settings();
                    }
                    StatementKind::Rollback { .. } => {
                        self.end_own_transaction(false)?;
                        self.undo();
                    }
                    _ => {}
                }
                self.warn(code, message);
                if let StatementKind::Begin(modes) | StatementKind::Start(modes) = kind
                    && self.engine.source().is_none()
                {
                    self.change_modes(*modes)?;
                }
            }
            (Action::RollBack, _) => {
                self.roll_back()?;
                self.undo();
                self.begin_next(next)?;
                backend::command_complete(self.output.buffer(), "ROLLBACK");
                return Ok(());
            }
            (Action::Run, StatementKind::Begin(modes) | StatementKind::Start(modes)) => {
                // Earlier statements of the pipeline or the query string become a part of the transaction. Its modes
                // cannot be changed then, unless they were only SETs.
                let is_source = self.engine.source().is_some();
                if self.transaction.is_pipeline && !is_source {
                    self.change_modes(*modes)?;
                } else if self.transaction.is_pipeline && modes.are_strict() {
                    if !self.transaction.is_unused {
                        return Err(settings::SettingError::LateMode("BEGIN with a mode").into());
                    }
                    self.end_own_transaction(true)?;
                }
                if !self.transaction.take_pipeline() {
                    let _running = self.start()?;
                    match is_source && modes.are_any {
                        // All sources accept BEGIN. The client's text is needed only for its modes.
                        true => self.begin_or_end(text)?,
                        false => self.begin(*modes)?,
                    }
                }
                self.transaction.status = TransactionStatus::InTransaction;
            }
            (Action::Run, _) => {
                let is_commit = matches!(kind, StatementKind::Commit { .. });
                // The transaction and its portals end also if the statement fails.
                self.transaction.status = TransactionStatus::Idle;
                self.forget_portals(is_commit);
                let _running = self.start()?;
                let end = match self.engine.source() {
                    Some(Dialect::Postgres { .. }) => text,
                    // Without words that only PostgreSQL has: WORK, AND NO CHAIN.
                    _ if is_commit => "COMMIT",
                    _ => "ROLLBACK",
                };
                let ended = if is_commit { self.commit(end) } else { self.begin_or_end(end) };
                match is_commit && ended.is_ok() {
                    true => self.commit_settings(),
                    false => self.undo(),
                }
                ended?;
                self.begin_next(next)?;
            }
        }
        self.complete(kind);
        Ok(())
    }

    /// The modes of the transaction that follows this statement: with AND CHAIN, those of the present one.
    fn next_modes(&self, kind: &StatementKind) -> Result<Option<TransactionModes>, Failure> {
        let name = match kind {
            StatementKind::Commit { chains: true } => "COMMIT AND CHAIN",
            StatementKind::Rollback { chains: true } => "ROLLBACK AND CHAIN",
            _ => return Ok(None),
        };
        if self.engine.source().is_some() {
            return Err(Failure::NotSupported("AND CHAIN in front of a source"));
        }
        if self.transaction.is_open() { Ok(Some(self.transaction.modes)) } else { Err(Failure::NoTransaction(name)) }
    }

    /// Begins the transaction that follows one by AND CHAIN.
    fn begin_next(&mut self, modes: Option<TransactionModes>) -> Result<(), Failure> {
        let Some(modes) = modes else { return Ok(()) };
        self.caller.locks.end_transaction();
        self.begin_with(modes)?;
        self.transaction.status = TransactionStatus::InTransaction;
        Ok(())
    }

    /// Ends the transaction that the session has begun for a pipeline, if there is one.
    fn end_own_transaction(&mut self, commits: bool) -> Result<(), Failure> {
        if !self.transaction.take_pipeline() {
            return Ok(());
        }
        self.forget_portals(commits);
        let _running = self.start()?;
        if commits { self.commit("COMMIT") } else { self.begin_or_end("ROLLBACK") }
    }

    /// Begins a transaction for the statements up to the next Sync (PostgreSQL protocol, "Pipelining"), unless they
    /// begin or end one themselves. A statement with Sync directly after it needs no transaction, unless it gives rows
    /// of what it changes, or may only read.
    pub fn begin_pipeline(&mut self, statement: &PreparedStatement) -> Result<(), Failure> {
        let is_able = !self.is_status_unknown() && self.may_share_transaction(&statement.kind);
        let is_outside = !self.transaction.is_any();
        let is_needed = statement.may_return_changes || self.is_read_only() || !self.input.is_sync_next();
        if is_able && is_outside && is_needed {
            let _running = self.start()?;
            self.begin(Modes::default())?;
            (self.transaction.is_pipeline, self.transaction.is_unused) = (true, true);
        }
        Ok(())
    }

    /// Commits the transaction of a pipeline at its end.
    ///
    /// # Errors
    /// If the transaction cannot be ended. Other errors are sent to the client.
    pub fn end_pipeline(&mut self) -> Result<(), Failure> {
        if !self.transaction.is_open() {
            self.forget_portals(true);
        }
        if self.transaction.take_pipeline() {
            let running = self.start()?;
            let committed = self.commit("COMMIT");
            drop(running);
            if let Err(failure) = committed {
                self.undo();
                if failure.is_fatal() {
                    return Err(failure);
                }
                self.fail(&failure, None);
            }
        }
        if !self.transaction.is_open() {
            self.commit_settings();
        }
        self.send_statement_notifications();
        Ok(())
    }

    pub fn abandon_pipeline(&mut self) -> Result<(), Failure> {
        if !self.transaction.is_open() {
            self.forget_portals(false);
        }
        let ended = if self.transaction.take_pipeline() { self.roll_back() } else { Ok(()) };
        if !self.transaction.is_open() {
            self.undo();
        }
        ended
    }

    /// Whether the session begins transactions for the statements of a query string (PostgreSQL protocol, "Multiple
    /// Statements in a Simple Query"): there are several, or one that gives rows of what it changes, and each of them
    /// can run in a transaction.
    pub fn share_transactions(&self, statements: &[Statement<'_>]) -> bool {
        let is_own = self.engine.source().is_none();
        let is_able = |Statement { kind, .. }: &Statement<'_>| {
            self.may_share_transaction(kind) || is_own && controls_transaction(kind)
        };
        let is_needed = match statements {
            [Statement { kind, text, .. }] => query::may_return_changes(kind, text, self.engine.dialect()),
            _ => true,
        };
        !self.is_status_unknown() && is_needed && statements.iter().all(is_able)
    }

    /// Whether a statement can run with others in a transaction that the session begins. Those about the session's own
    /// settings can: the values change back with the transaction, and its modes are among them.
    fn may_share_transaction(&self, kind: &StatementKind) -> bool {
        let source = self.engine.source();
        query::may_share_transaction(kind, source) || source.is_none() && settings::command(kind).is_some()
    }

    /// Begins a transaction for this statement of such a query string and those after it, unless one is open. It ends
    /// with the string, or with the client's COMMIT or ROLLBACK. If BEGIN fails, the statement has its own transaction.
    ///
    /// # Errors
    /// If an unfinished result cannot be set aside, or BEGIN fails and it is not certain that no transaction is open, or
    /// the statement may only read.
    pub fn begin_implicitly(&mut self, kind: &StatementKind) -> Result<(), Failure> {
        if !self.transaction.is_any() && !controls_transaction(kind) {
            let _running = self.start()?;
            self.prepared.set_portals_aside(&self.control)?;
            match self.begin(Modes::default()) {
                // Without a transaction of its own, the statement could write.
                Err(failure) if failure.is_fatal() || self.is_read_only() => return Err(failure),
                begun => (self.transaction.is_pipeline, self.transaction.is_unused) = (begun.is_ok(), true),
            }
        }
        Ok(())
    }

    /// Does work in the transaction of the client or the pipeline, or else in a new one.
    pub fn in_transaction<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Result<T, Failure> {
        if self.transaction.is_any() {
            self.transaction.is_unused = false;
            return work(self);
        }
        self.begin(Modes::default())?;
        let done = work(self);
        match done {
            Ok(_) => self.commit("COMMIT")?,
            // Otherwise the next statement would run in this transaction.
            Err(_) => self.roll_back()?,
        }
        done
    }

    /// Whether the session's next transactions may only read. Then statements outside of one need one of their own.
    pub fn is_read_only(&self) -> bool {
        self.engine.source().is_none() && self.settings.transaction_defaults().read_only
    }

    /// Whether it is unknown if a transaction is open.
    fn is_status_unknown(&self) -> bool {
        self.engine.source() == Some(Dialect::Unknown)
    }

    /// Runs BEGIN, COMMIT or ROLLBACK. If it fails, no transaction is open.
    pub fn begin_or_end(&mut self, text: &str) -> Result<(), Failure> {
        let done = self.run_own_statement(text);
        if done.is_err() {
            self.end_any_transaction()?;
        }
        done
    }

    /// Runs COMMIT, and sends the notifications of the transaction. If it fails, no transaction is open. The caller has
    /// started it as work for the client, because it may wait for the commits of other sessions.
    fn commit(&mut self, text: &str) -> Result<(), Failure> {
        let committed = self.try_commit(text);
        if committed.is_ok() {
            self.prepared.hold_cursors();
        } else {
            self.forget_portals(false);
            self.end_any_transaction()?;
        }
        committed
    }

    fn try_commit(&mut self, text: &str) -> Result<(), Failure> {
        // This runs the client's queries, for which no other session waits.
        self.prepared.set_portals_aside(&self.control)?;
        let Self { caller, control, engine, .. } = self;
        let commit = Statement::of(text, engine.dialect());
        caller.notifications.commit(|| control.check(), || Ok(engine.execute(&commit, &[], BATCH).map(drop)?))
    }

    /// Undoes what a transaction that is rolled back has changed of the session itself.
    fn undo(&mut self) {
        self.roll_back_settings(0);
        self.caller.notifications.roll_back(NotificationMark::default());
    }

    pub fn roll_back(&mut self) -> Result<(), Failure> {
        self.transaction.status = TransactionStatus::Idle;
        self.forget_portals(false);
        self.end_any_transaction()
    }

    /// Ends any open transaction. Otherwise the client's next changes would be a part of it, and be lost with it.
    ///
    /// # Errors
    /// If the transaction cannot be ended. Then the session must end.
    fn end_any_transaction(&mut self) -> Result<(), Failure> {
        let is_known = !self.is_status_unknown();
        let rollback = Statement::of("ROLLBACK", self.engine.dialect());
        let mut waited = Duration::ZERO;
        let mut pause = ROLLBACK_RETRY_PAUSE;
        while is_known && self.engine.status() != Some(TransactionStatus::Idle) {
            let ended = if waited.is_zero() {
                self.engine.execute(&rollback, &[], BATCH)
            } else {
                with_reserve(|| self.engine.execute(&rollback, &[], BATCH))
            };
            match ended {
                // Other sessions free memory, at the latest when their statements time out.
                Err(error) if error.code == SqlState::OUT_OF_MEMORY && waited < ROLLBACK_RETRY_LIMIT => {
                    thread::sleep(pause);
                    (waited, pause) = (waited + pause, pause * 2);
                }
                // The engine may have rolled back already.
                Err(error) if error.code != SqlState::NO_ACTIVE_SQL_TRANSACTION => {
                    return Err(Failure::TransactionEndFailed(error));
                }
                _ => break,
            }
        }
        Ok(())
    }
}

/// Whether a statement begins, ends or marks a transaction.
fn controls_transaction(kind: &StatementKind) -> bool {
    use StatementKind::{Begin, Commit, Rollback, Savepoint, Start};
    matches!(kind, Begin(_) | Start(_) | Commit { .. } | Rollback { .. } | Savepoint(_))
}

/// The first pause before a ROLLBACK that failed for lack of memory is tried again. It doubles each time.
const ROLLBACK_RETRY_PAUSE: Duration = Duration::from_millis(20);
/// The maximum total time of these pauses.
const ROLLBACK_RETRY_LIMIT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misplaced_statements_are_warnings_as_in_postgresql() {
        let (commit, rollback) = (StatementKind::Commit { chains: false }, StatementKind::Rollback { chains: false });
        let begin = StatementKind::Begin(Modes::default());
        assert_eq!(action(TransactionStatus::Idle, &begin), Action::Run);
        assert!(matches!(
            action(TransactionStatus::InTransaction, &begin),
            Action::Warn(SqlState::ACTIVE_SQL_TRANSACTION, _)
        ));
        assert!(matches!(
            action(TransactionStatus::Idle, &commit),
            Action::Warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, _)
        ));
        assert_eq!(action(TransactionStatus::InTransaction, &commit), Action::Run);
        assert_eq!(action(TransactionStatus::Failed, &commit), Action::RollBack);
        assert_eq!(action(TransactionStatus::Failed, &rollback), Action::RollBack);
    }
}
