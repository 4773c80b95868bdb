//! Statements about the settings that are known here.

use colonnade_sql::StatementKind;
use colonnade_sql::statement::{Modes, Set};

use super::find;

/// A statement about settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// SET, or SET LOCAL: until the transaction ends.
    Set {
        /// Which one; its place in [`super::Settings`].
        setting: usize,
        /// Its new value; `None` for the one it had when the session began.
        value: Option<String>,
        /// Whether for the transaction alone.
        is_local: bool,
    },
    /// SHOW.
    Show(usize),
    /// SHOW ALL, though not DuckDB's SHOW ALL TABLES.
    ShowAll,
    /// RESET ALL; a part of DISCARD ALL.
    ResetAll,
    /// SET TRANSACTION, SET SESSION CHARACTERISTICS: what is asked of transactions.
    Transaction(Modes),
}

/// What a statement says about settings that are known here; all others are the engine's.
pub fn command(kind: &StatementKind) -> Option<Command> {
    Some(match kind {
        StatementKind::Set(Set { name, value, is_local }) => {
            Command::Set { setting: find(name)?, value: value.clone(), is_local: *is_local }
        }
        StatementKind::Reset(Some(name)) => Command::Set { setting: find(name)?, value: None, is_local: false },
        StatementKind::Reset(None) => Command::ResetAll,
        StatementKind::Show(Some(name)) => Command::Show(find(name)?),
        StatementKind::Show(None) => Command::ShowAll,
        StatementKind::SetTransaction(modes) => Command::Transaction(*modes),
        _ => return None,
    })
}
