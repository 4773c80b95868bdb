//! The session's settings on which the meaning of the writer's statements depends. The user's come back afterwards.

use colonnade_sql::{Dialect, quote};

use super::transfer::Transfer;
use crate::mysql::packet::protocol;
use crate::mysql::zone::UTC;
use crate::shared_connection::AnswerError;
use crate::{Error, ErrorKind};

const QUESTION: &str = "SELECT @@SESSION.sql_mode, @@SESSION.character_set_client, @@SESSION.character_set_results, \
                        @@SESSION.collation_connection, @@SESSION.net_read_timeout, @@SESSION.sql_select_limit, \
                        @@SESSION.sql_safe_updates, @@SESSION.sql_notes, @@SESSION.max_error_count, \
                        @@SESSION.time_zone, @@GLOBAL.local_infile, @@SESSION.max_allowed_packet, \
                        @@GLOBAL.lower_case_table_names, DATABASE()";
/// Values that would be changed are warnings or errors, 0 is not a request for the next number of AUTO_INCREMENT,
/// InnoDB is never replaced by another engine, and backslashes escape.
const MODES: &str = "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
                     NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION";

/// The settings that are changed, in the order of [`QUESTION`], with the writer's values.
const CHANGED: [(&str, &str); 9] = [
    ("sql_mode", MODES),
    ("character_set_client", "utf8mb4"),
    ("character_set_results", "utf8mb4"),
    ("collation_connection", "utf8mb4_general_ci"),
    // A file's next rows may come late.
    ("net_read_timeout", "3600"),
    ("sql_select_limit", "18446744073709551615"),
    ("sql_safe_updates", "0"),
    // Some changes of values are only notes.
    ("sql_notes", "1"),
    ("max_error_count", "64"),
];
/// Settings whose values are numbers.
const NUMBERS: std::ops::Range<usize> = 4..9;

/// The session as it was.
pub(super) struct SessionSettings {
    values: Vec<Option<String>>,
    time_zone: String,
    zone_changed: bool,
    /// Whether the server asks clients for files.
    pub(super) local_infile: bool,
    /// The most bytes of a packet.
    pub(super) max_packet: usize,
    /// Whether the server stores the names of tables in lower case.
    pub(super) lower_case: bool,
    /// The chosen database.
    pub(super) database: Option<String>,
}

impl SessionSettings {
    /// Sets the writer's settings.
    pub(super) fn enter(transfer: &mut Transfer<'_>) -> Result<Self, AnswerError> {
        let answer = transfer.ask(QUESTION)?;
        let row = answer.rows.first().filter(|row| row.len() == CHANGED.len() + 5);
        let Some(row) = row else { return Err(protocol("an answer without its values").into()) };
        let (values, others) = row.split_at(CHANGED.len());
        // Answers in UTF-16 would be misread.
        let is_plain = |value: &String| value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if !values.iter().flatten().all(is_plain) {
            let message = "the session's character set is not utf8mb4, so names cannot be read";
            let error = Error::new(ErrorKind::Usage, message).with_hint("run SET NAMES utf8mb4 before");
            return Err(AnswerError::Refused(error));
        }
        let other = |place: usize| others.get(place).and_then(Option::as_deref).unwrap_or_default();
        let settings = Self {
            values: values.to_vec(),
            time_zone: other(0).to_owned(),
            zone_changed: false,
            local_infile: other(1) == "1",
            max_packet: other(2).parse().map_err(|_| protocol("a size of packets that is none"))?,
            lower_case: other(3) == "1",
            database: others.get(4).cloned().flatten(),
        };
        let wanted: Vec<_> = CHANGED.iter().map(|(_, value)| Some((*value).to_owned())).collect();
        transfer.ask(&format!("SET SESSION {}", assignments(&wanted)))?;
        Ok(settings)
    }

    /// Sets the time zone in which a TIMESTAMP's text is read.
    pub(super) fn use_utc(&mut self, transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        if self.time_zone != UTC && !self.zone_changed {
            self.zone_changed = true;
            transfer.ask(&format!("SET SESSION time_zone = '{UTC}'"))?;
        }
        Ok(())
    }

    /// Sets the user's settings again.
    pub(super) fn leave(&self, transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        let mut statement = format!("SET SESSION {}", assignments(&self.values));
        if self.zone_changed {
            statement.push_str(&format!(", time_zone = {}", text(&self.time_zone)));
        }
        transfer.ask_at_last(&statement).map(drop)
    }
}

fn assignments(values: &[Option<String>]) -> String {
    let assigned = CHANGED.iter().zip(values).enumerate().map(|(place, ((name, _), value))| match value {
        None => format!("{name} = NULL"),
        Some(number) if NUMBERS.contains(&place) => format!("{name} = {number}"),
        Some(value) => format!("{name} = {}", text(value)),
    });
    assigned.collect::<Vec<_>>().join(", ")
}

fn text(value: &str) -> String {
    quote::string(value, Dialect::MYSQL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_quoted() {
        let values: Vec<_> = CHANGED.iter().map(|(_, value)| Some((*value).to_owned())).collect();
        let sql = assignments(&values);
        assert!(sql.starts_with("sql_mode = 'STRICT_TRANS_TABLES,"));
        assert!(sql.contains("net_read_timeout = 3600, sql_select_limit = 18446744073709551615, sql_safe_updates = 0"));
    }
}
