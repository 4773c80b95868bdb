//! The modes of transactions: their isolation, whether they may write, and whether they may wait for a safe snapshot.
//!
//! A transaction of the engine sees one snapshot, which is more than every level below SERIALIZABLE promises. So these
//! levels are accepted and shown, and change nothing; SERIALIZABLE is refused. A snapshot needs no wait, so DEFERRABLE
//! changes nothing either. READ ONLY is the engine's.

use std::sync::{Mutex, PoisonError};

use colonnade_sql::statement::{IsolationLevel, Modes};

use super::{SettingError, boolean};

/// The modes of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionModes {
    pub isolation: IsolationLevel,
    pub read_only: bool,
    pub deferrable: bool,
}

/// One of a transaction's modes, which is also a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Isolation,
    ReadOnly,
    Deferrable,
}

impl Default for TransactionModes {
    fn default() -> Self {
        Self { isolation: IsolationLevel::RepeatableRead, read_only: false, deferrable: false }
    }
}

impl TransactionModes {
    /// These modes with those that a statement names.
    pub fn with(self, modes: Modes) -> Self {
        Self {
            isolation: modes.isolation.unwrap_or(self.isolation),
            read_only: modes.read_only.unwrap_or(self.read_only),
            deferrable: modes.deferrable.unwrap_or(self.deferrable),
        }
    }

    /// A mode as SHOW gives it.
    pub fn value(self, mode: Mode) -> &'static str {
        let is_on = match mode {
            Mode::Isolation => return self.isolation.name(),
            Mode::ReadOnly => self.read_only,
            Mode::Deferrable => self.deferrable,
        };
        if is_on { "on" } else { "off" }
    }

    /// The engine's BEGIN.
    pub fn begin(self) -> &'static str {
        if self.read_only { "BEGIN TRANSACTION READ ONLY" } else { "BEGIN TRANSACTION" }
    }
}

impl Mode {
    /// What a setting of this mode asks for.
    ///
    /// # Errors
    /// If it has no such value, or no transaction of the engine is like that.
    pub fn parse(self, name: &'static str, value: &str) -> Result<Modes, SettingError> {
        let invalid = |only| SettingError::Value { name, value: value.to_owned(), only };
        let is_on = || boolean(value).map(Some).ok_or_else(|| invalid("on or off"));
        let (mut modes, are_any) = (Modes::default(), true);
        match self {
            Self::Isolation => {
                let level = IsolationLevel::named(value);
                let levels = "\"repeatable read\", \"read committed\" or \"read uncommitted\"";
                modes.isolation = Some(level.ok_or_else(|| invalid(levels))?);
            }
            Self::ReadOnly => modes.read_only = is_on()?,
            Self::Deferrable => modes.deferrable = is_on()?,
        }
        check(modes)?;
        Ok(Modes { are_any, ..modes })
    }
}

/// The modes of the present statement's transaction, and those of the next transactions, as functions of SQL see them.
#[derive(Default)]
pub struct ShownModes(Mutex<(TransactionModes, TransactionModes)>);

impl ShownModes {
    /// The present transaction's, and the next ones'.
    pub fn get(&self) -> (TransactionModes, TransactionModes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set(&self, now: TransactionModes, defaults: TransactionModes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (now, defaults);
    }
}

/// Refuses SERIALIZABLE.
///
/// # Errors
/// If it is asked for.
pub fn check(modes: Modes) -> Result<(), SettingError> {
    if modes.isolation == Some(IsolationLevel::Serializable) { Err(SettingError::Serializable) } else { Ok(()) }
}
