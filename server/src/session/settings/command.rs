//! Statements about the settings that are known here.

use colonnade_sql::statement::{Modes, Set};
use colonnade_sql::{Dialect, StatementKind};

use super::find;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// SET, or SET LOCAL: until the transaction ends.
    Set {
        /// Which one; its place in [`super::Settings`].
        setting: usize,
        /// Its new value; `None` for the one it had when the session began.
        value: Option<String>,
        is_local: bool,
    },
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

/// Whether a setting is about the connection to the client, not about the database behind it.
fn is_of_connection(name: &str) -> bool {
    matches!(name, "application_name" | "bytea_output" | "client_encoding" | "client_min_messages" | "DateStyle")
        || matches!(name, "extra_float_digits" | "idle_in_transaction_session_timeout" | "idle_session_timeout")
        || matches!(name, "in_hot_standby" | "integer_datetimes" | "IntervalStyle" | "is_superuser" | "server_encoding")
        || matches!(name, "server_version" | "server_version_num" | "session_authorization" | "statement_timeout")
        || name == "standard_conforming_strings"
}

/// What a statement says about settings that are kept here: all that are known, unless they are a source's.
pub fn kept(kind: &StatementKind, source: Option<Dialect>) -> Option<Command> {
    let command = command(kind)?;
    let Some(dialect) = source else { return Some(command) };
    let is_kept = match &command {
        Command::Set { setting, .. } | Command::Show(setting) => is_of_connection(super::Settings::name(*setting)),
        // Another database's are not called so.
        Command::ShowAll | Command::ResetAll => !dialect.is_postgres(),
        Command::Transaction(_) => false,
    };
    is_kept.then_some(command)
}
