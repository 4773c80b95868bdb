//! The settings that siblings need from the original connection.

use std::collections::HashMap;

use colonnade_sql::{Dialect, quote};

use super::{MysqlConnection, unsupported};
use crate::{Connection, ContinueCheck, Error, ErrorKind};

/// Settings that differ between connections, or that nobody can set.
const OWN: [&str; 10] = [
    "autocommit",
    "character_set_database",
    "collation_database",
    "max_allowed_packet",
    "max_user_connections",
    "net_buffer_length",
    "tx_isolation",
    "tx_read_only",
    "transaction_isolation",
    "transaction_read_only",
];
/// The default value of sql_select_limit.
const NO_LIMIT: &str = "18446744073709551615";
/// MariaDB counts statements that made temporary tables separately. MySQL does not.
const TABLES_MADE: &str =
    "SHOW SESSION STATUS WHERE Variable_name IN ('Com_create_table', 'Com_create_temporary_table')";
const MADE_TEMPORARY: &str = "Com_create_temporary_table";

/// The settings with which another connection gives statements the same meaning.
pub(super) struct State {
    statements: Vec<String>,
    /// The time of all parts, in seconds since 1970.
    now: String,
}

impl MysqlConnection {
    /// # Errors
    /// `Unsupported` if it has something that others cannot have: temporary tables, a limit of rows.
    pub(super) fn state(&self, keep: ContinueCheck<'_>) -> Result<State, Error> {
        let made = pairs(self.ask(TABLES_MADE, keep)?.rows);
        let made = made.get(MADE_TEMPORARY).or_else(|| made.values().next());
        if made.is_some_and(|count| count != "0") {
            return Err(unsupported("the connection may have temporary tables, which other connections cannot see")
                .with_hint("read over a connection that has made none, or without partition_num"));
        }
        // The limit would also apply to the questions below.
        self.check_no_limit(keep)?;
        let session = self.ask("SHOW SESSION VARIABLES", keep)?.rows;
        let global = pairs(self.ask("SHOW GLOBAL VARIABLES", keep)?.rows);
        let mut changed = Vec::new();
        for (name, value) in pairs(session) {
            if global.get(&name).is_some_and(|other| *other != value) && !OWN.contains(&name.as_str()) {
                changed.push(format!("{name} = {}", setting(&name, &value)));
            }
        }
        let mut statements = Vec::new();
        match self.ask("SELECT CURRENT_ROLE()", keep) {
            Ok(role) => statements.push(format!("SET ROLE {}", self.role(role.text(0, 0)))),
            // MySQL before 8 has no roles.
            Err(error) if error.kind() == ErrorKind::Database => {}
            Err(error) => return Err(error),
        }
        let place = self.ask("SELECT DATABASE(), @@session.timestamp", keep)?;
        if let Some(database) = place.text(0, 0) {
            statements.push(format!("USE {}", quote::identifier(database, Dialect::MYSQL)));
        }
        // Otherwise the character set of a database that is chosen later would apply.
        if !changed.is_empty() {
            statements.push(format!("SET SESSION {}", changed.join(", ")));
        }
        Ok(State { statements, now: place.text(0, 1).unwrap_or("DEFAULT").to_owned() })
    }

    fn check_no_limit(&self, keep: ContinueCheck<'_>) -> Result<(), Error> {
        match self.ask("SELECT @@session.sql_select_limit", keep)?.text(0, 0) {
            Some(NO_LIMIT) => Ok(()),
            _ => Err(unsupported("each part would apply sql_select_limit to its own rows")
                .with_hint("run SET sql_select_limit = 18446744073709551615 before, or read without partition_num")),
        }
    }

    /// A role in the syntax of SET ROLE.
    fn role(&self, role: Option<&str>) -> String {
        match role {
            None | Some("NONE") => "NONE".to_owned(),
            Some(role) if self.server().starts_with("MariaDB") => quote::identifier(role, Dialect::MYSQL),
            // A list with quotes.
            Some(roles) => roles.to_owned(),
        }
    }
}

impl State {
    /// # Errors
    /// `Unsupported` if the other connection refuses a setting.
    pub(super) fn give(
        &self,
        sibling: &MysqlConnection,
        consistent: bool,
        keep: ContinueCheck<'_>,
    ) -> Result<(), Error> {
        let clock = consistent.then(|| format!("SET SESSION timestamp = {}", self.now));
        for statement in self.statements.iter().chain(&clock) {
            sibling.execute(statement.into(), keep).map_err(|error| match error.kind() {
                ErrorKind::Database => {
                    let message =
                        format!("the connection has a setting that other connections cannot have: {}", error.message());
                    unsupported(&message).with_hint("read without partition_num").with_cause(error)
                }
                _ => error,
            })?;
        }
        sibling.check_no_limit(keep)
    }
}

/// Names and values.
fn pairs(rows: Vec<Vec<Option<String>>>) -> HashMap<String, String> {
    let pair = |row: Vec<Option<String>>| {
        let mut row = row.into_iter().flatten();
        Some((row.next()?, row.next().unwrap_or_default()))
    };
    rows.into_iter().filter_map(pair).collect()
}

/// The value of a setting in the syntax of SET: numbers must not be quoted.
fn setting(name: &str, value: &str) -> String {
    if value.is_empty() && name.starts_with("character_set_") {
        return "NULL".to_owned();
    }
    if value.bytes().all(|byte| byte.is_ascii_digit() || b".-".contains(&byte)) && value.parse::<f64>().is_ok() {
        return value.to_owned();
    }
    quote::string(value, Dialect::MYSQL)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn settings_are_written_as_set_takes_them() {
        for (name, value, expected) in [
            ("max_statement_time", "0.500000", "0.500000"),
            ("group_concat_max_len", "4", "4"),
            ("sql_mode", "", "''"),
            ("sql_mode", "ANSI_QUOTES", "'ANSI_QUOTES'"),
            ("time_zone", "+00:00", "'+00:00'"),
            ("character_set_results", "", "NULL"),
            ("init_x", "it's", "_utf8mb4 X'69742773'"),
        ] {
            assert_eq!(setting(name, value), expected);
        }
    }
}
