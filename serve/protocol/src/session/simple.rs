//! The simple query protocol.

use colonnade_sql::{Dialect, Statement, StatementKind};

use crate::copy::CopyRequest;
use crate::error::Failure;
use crate::message::backend;
use crate::session::query;
use crate::session::settings;
use crate::session::state::Session;

impl Session {
    /// Runs the statements of a query string up to the first one that fails.
    pub fn query(&mut self, sql: &str) -> Result<(), Failure> {
        let statements = match query::statements(sql, self.engine.as_ref()) {
            Ok(statements) => statements,
            Err(failure) => {
                self.fail(&failure, None);
                return Ok(());
            }
        };
        if statements.is_empty() {
            backend::empty_query(self.output.buffer());
            return Ok(());
        }
        let is_shared = self.share_transactions(&statements);
        for statement in &statements {
            let source = self.engine.source();
            let is_single = !is_shared && self.is_read_only() && query::may_share_transaction(&statement.kind, source);
            let begun = if is_shared || is_single { self.begin_implicitly(&statement.kind) } else { Ok(()) };
            match begun.and_then(|()| self.statement(statement, false)) {
                Ok(()) if is_single => self.end_pipeline()?,
                Ok(()) => {
                    self.send_statement_notifications();
                    // This bounds the buffer for answers.
                    self.output.flush_if_full()?;
                }
                Err(failure) if failure.is_fatal() => return Err(failure),
                Err(failure) => {
                    self.fail(&failure, Some((sql, statement.start)));
                    return self.abandon_pipeline();
                }
            }
        }
        self.end_pipeline()?;
        Ok(())
    }

    /// Runs one statement. Describes its columns, unless the client already has their description (`is_described`).
    pub fn statement(&mut self, statement: &Statement<'_>, is_described: bool) -> Result<(), Failure> {
        let text = statement.text;
        self.control.count_statement(text);
        if let Some(dialect) = self.engine.source() {
            return self.run_on_source(statement, dialect, is_described);
        }
        self.check_transaction(&statement.kind)?;
        match &statement.kind {
            StatementKind::Begin(_)
            | StatementKind::Start(_)
            | StatementKind::Commit { .. }
            | StatementKind::Rollback { .. } => self.transaction(statement),
            StatementKind::Copy(copy) => match CopyRequest::new(copy.as_ref().map_err(Clone::clone)?, text)? {
                CopyRequest::ToStdout(copy) => self.copy(text, &copy),
                CopyRequest::FromStdin(copy) => self.copy_in(&copy),
                CopyRequest::Engine => self.execute(statement),
            },
            StatementKind::Discard(what) if what == "ALL" => self.discard_all(&statement.kind),
            StatementKind::Discard(what) if what.starts_with("TEMP") => {
                let running = self.start()?;
                self.transaction.is_unused = false;
                self.run_own_statement("DISCARD TEMP")?;
                drop(running);
                self.complete(&statement.kind);
                Ok(())
            }
            StatementKind::Discard(_) => {
                self.complete(&statement.kind);
                Ok(())
            }
            StatementKind::Notification(notification) => {
                self.notification(&statement.kind, notification.as_ref().map_err(Clone::clone)?)
            }
            StatementKind::Deallocate(name) => self.deallocate(statement, name.as_deref()),
            StatementKind::SetConstraints { are_all } => self.set_constraints(&statement.kind, *are_all),
            StatementKind::Savepoint(savepoint) => self.savepoint(savepoint),
            StatementKind::Cursor(_) => self.cursors(statement),
            StatementKind::CreateFunction(function) => self.create_function(statement, function.as_ref().as_ref()),
            StatementKind::DropFunction(functions) => self.drop_function(statement, functions.as_ref()),
            StatementKind::CommentOnFunction(comment) => self.comment_on_function(statement, comment),
            kind => match settings::command(kind) {
                Some(command) => self.configure(kind, command, is_described),
                None => self.execute(statement),
            },
        }
    }

    /// Deallocates a statement that Parse has prepared. If there is none, the engine deallocates one of PREPARE. ALL is
    /// both.
    pub fn deallocate(&mut self, statement: &Statement<'_>, name: Option<&str>) -> Result<(), Failure> {
        match name {
            Some(name) if self.prepared.statements.remove(name) => {}
            Some(name) => {
                self.execute(statement)?;
                self.prepared.statements.forget_prepare(name);
                return Ok(());
            }
            None => self.prepared.statements.clear(),
        }
        if name.is_none() && self.engine.source().is_none_or(Dialect::is_postgres) {
            let _running = self.start()?;
            self.run_own_statement("DEALLOCATE ALL")?;
        }
        self.complete(&statement.kind);
        Ok(())
    }

    /// Sends CommandComplete for a statement without rows.
    pub fn complete(&mut self, kind: &StatementKind) {
        self.finish(&query::tag(kind, None, None));
    }
}
