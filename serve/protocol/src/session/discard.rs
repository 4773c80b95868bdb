//! DISCARD ALL, after which a pool gives the session to its next client.

use colonnade_sql::StatementKind;

use crate::engine::EngineError;
use crate::error::{Failure, SqlState};
use crate::session::state::{Session, TransactionState};

impl Session {
    /// DISCARD ALL: the session becomes as it was when its client had logged in.
    pub fn discard_all(&mut self, kind: &StatementKind) -> Result<(), Failure> {
        if self.transaction.is_any() {
            let message = "DISCARD ALL cannot run inside a transaction block";
            return Err(EngineError::new(SqlState::ACTIVE_SQL_TRANSACTION, message).into());
        }
        self.begin_anew()?;
        self.complete(kind);
        Ok(())
    }

    /// Ends the engine's session, with all that it has for its client, and continues with a new one. So DISCARD ALL
    /// leaves as little as the end of a session does.
    fn begin_anew(&mut self) -> Result<(), Failure> {
        let running = self.start()?;
        // First, so that nothing has changed if there cannot be another one.
        let mut new = self.database.session(&self.control.user)?;
        new.set_session_number(self.process)?;
        self.control.renew(new.interrupt_handle());
        // Each field is named: a new one does not compile before it is decided whether it is the client's.
        let Self {
            engine,
            caller,
            prepared,
            transaction,
            // Restored below, because the client hears of each change.
            settings: _,
            // The connection, and who has logged in.
            input: _,
            output: _,
            control: _,
            process: _,
            startup_settings: _,
            link_estimate: _,
            // The server's.
            database: _,
            tickets: _,
            encode_cpu: _,
            // Only in front of a source, which has a DISCARD ALL of its own.
            reported: _,
        } = self;
        caller.locks.unlock_all();
        caller.notifications.discard();
        // They may have results of the engine's session.
        prepared.clear();
        *transaction = TransactionState::default();
        *engine = new;
        drop(running);
        self.restore_settings()
    }
}
