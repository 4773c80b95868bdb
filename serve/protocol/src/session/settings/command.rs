//! Statements about PostgreSQL's settings that the session knows.

use colonnade_sql::statement::{Argument, Modes, Set, SetConfig};
use colonnade_sql::{Dialect, StatementKind};

use super::find;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// SET or SET LOCAL.
    Set {
        /// The index of the setting in [`super::Settings`].
        setting: usize,
        /// The new value; `None` is the initial value of the session.
        value: Option<String>,
        is_local: bool,
    },
    Show(usize),
    /// SHOW ALL, but not DuckDB's SHOW ALL TABLES.
    ShowAll,
    /// RESET ALL, which is also a part of DISCARD ALL.
    ResetAll,
    /// SET TRANSACTION.
    Transaction(Modes),
    /// SET SESSION CHARACTERISTICS.
    TransactionDefaults(Modes),
}

/// The command of a statement about settings that the session knows. All other settings belong to the engine.
pub fn command(kind: &StatementKind) -> Option<Command> {
    Some(match kind {
        StatementKind::Set(Set { name, value, is_local }) => {
            Command::Set { setting: find(name)?, value: value.clone(), is_local: *is_local }
        }
        StatementKind::SetConfig(SetConfig { name, value: Argument::Literal(value), is_local }) => {
            Command::Set { setting: find(name)?, value: Some(value.clone()), is_local: *is_local }
        }
        StatementKind::Reset(Some(name)) => Command::Set { setting: find(name)?, value: None, is_local: false },
        StatementKind::Reset(None) => Command::ResetAll,
        StatementKind::Show(Some(name)) => Command::Show(find(name)?),
        StatementKind::Show(None) => Command::ShowAll,
        StatementKind::SetTransaction { modes, are_defaults: false } => Command::Transaction(*modes),
        StatementKind::SetTransaction { modes, are_defaults: true } => Command::TransactionDefaults(*modes),
        _ => return None,
    })
}

/// Whether a setting concerns the connection to the client, and not the database.
fn is_of_connection(name: &str) -> bool {
    matches!(name, "application_name" | "bytea_output" | "client_encoding" | "client_min_messages" | "DateStyle")
        || matches!(name, "extra_float_digits" | "idle_in_transaction_session_timeout" | "idle_session_timeout")
        || matches!(name, "in_hot_standby" | "integer_datetimes" | "IntervalStyle" | "is_superuser" | "server_encoding")
        || matches!(name, "server_version" | "server_version_num" | "session_authorization" | "statement_timeout")
        || name == "standard_conforming_strings"
}

/// The command of a statement that the session runs itself. In front of a source, these are only the statements about
/// the connection.
pub fn session_command(kind: &StatementKind, source: Option<Dialect>) -> Option<Command> {
    let command = command(kind)?;
    let Some(dialect) = source else { return Some(command) };
    let is_kept = match &command {
        // It is a query, which the source runs.
        _ if matches!(kind, StatementKind::SetConfig(_)) => false,
        Command::Set { setting, .. } | Command::Show(setting) => is_of_connection(super::Settings::name(*setting)),
        // Other databases have no statements with these names.
        Command::ShowAll | Command::ResetAll => !dialect.is_postgres(),
        Command::Transaction(_) | Command::TransactionDefaults(_) => false,
    };
    is_kept.then_some(command)
}
