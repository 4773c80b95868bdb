//! Begins transactions with their modes, and changes these (`settings/modes.rs`).

use colonnade_sql::statement::Modes;

use crate::error::Failure;
use crate::session::settings::SettingError;
use crate::session::settings::modes::{TransactionModes, check};
use crate::session::state::Session;

impl Session {
    /// The modes of the statement's transaction: of the one that is open, or of its own.
    pub fn modes(&self) -> TransactionModes {
        if self.transaction.is_any() { self.transaction.modes } else { self.settings.transaction_defaults() }
    }

    /// Begins a transaction with these modes and the session's defaults, unless it begins on a source.
    ///
    /// # Errors
    /// If the engine cannot begin it.
    pub fn begin(&mut self, modes: Modes) -> Result<(), Failure> {
        if self.engine.source().is_some() {
            return self.begin_or_end("BEGIN");
        }
        check(modes)?;
        self.begin_with(self.settings.transaction_defaults().with(modes))
    }

    /// Begins a transaction with these modes.
    ///
    /// # Errors
    /// If the engine cannot begin it.
    pub fn begin_with(&mut self, modes: TransactionModes) -> Result<(), Failure> {
        self.begin_or_end(modes.begin())?;
        (self.transaction.modes, self.transaction.is_unused) = (modes, true);
        Ok(())
    }

    /// Changes the modes of the open transaction: SET TRANSACTION, and BEGIN within a transaction.
    ///
    /// # Errors
    /// If a statement has run in it, or no transaction of the engine is like that.
    pub fn change_modes(&mut self, modes: Modes) -> Result<(), Failure> {
        check(modes)?;
        let (now, next) = (self.transaction.modes, self.transaction.modes.with(modes));
        if !self.transaction.is_unused {
            let late = match modes {
                _ if next.isolation != now.isolation => Some("SET TRANSACTION ISOLATION LEVEL"),
                _ if next.read_only != now.read_only => Some("a change between READ WRITE and READ ONLY"),
                Modes { deferrable: Some(_), .. } => Some("SET TRANSACTION [NOT] DEFERRABLE"),
                _ => None,
            };
            late.map_or(Ok(()), |what| Err(SettingError::LateMode(what)))?;
        }
        if next.read_only != now.read_only {
            // The engine's transaction cannot change. No statement has run in this one.
            let _running = self.start()?;
            self.begin_or_end("ROLLBACK")?;
            self.begin_or_end(next.begin())?;
        }
        self.transaction.modes = next;
        Ok(())
    }
}
