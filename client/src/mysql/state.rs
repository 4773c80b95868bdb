//! The settings that affect how a server reads statements and values.
//!
//! A gateway's clients write literals by PostgreSQL's rules: backslashes are ordinary characters, double quotes
//! enclose names, and text is UTF-8. So the session gets modes and character sets for these rules. After each
//! statement the client checks that they are unchanged. The server's session tracking would not suffice, because a
//! session can turn it off.

use super::packet::protocol;
use super::text_answer::TextAnswer;
use super::zone::{self, SessionZone};
use crate::Error;
use crate::postgres::changed;

/// The additional settings of a gateway's session.
pub(super) const MODES: &str =
    "SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@SESSION.sql_mode, ''), 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES')";
const QUESTION: &str = "SELECT @@SESSION.sql_mode, @@SESSION.character_set_client, @@SESSION.character_set_connection, @@SESSION.character_set_results";
const WANTED_MODES: [&str; 2] = ["NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"];
const CHARACTER_SETS: [&str; 3] = ["character_set_client", "character_set_connection", "character_set_results"];
const UTF8: &str = "utf8mb4";

/// Asks for the settings and the time zone.
pub(super) fn question() -> String {
    format!("{QUESTION}, {}", zone::COLUMNS)
}

/// Checks the settings in the answer to [`question`]. Returns the time zone in PostgreSQL's notation.
///
/// # Errors
/// The settings have changed, or the server does not return them.
pub(super) fn read(answer: &TextAnswer) -> Result<String, Error> {
    let text = |column| answer.text(0, column).ok_or_else(|| protocol("an answer without its values"));
    let modes = text(0)?;
    for mode in WANTED_MODES {
        if !modes.split(',').any(|one| one.eq_ignore_ascii_case(mode)) {
            return Err(changed("sql_mode", modes, mode));
        }
    }
    for (place, name) in CHARACTER_SETS.into_iter().enumerate() {
        // NULL is not a character set.
        let now = answer.text(0, place + 1).unwrap_or_default();
        if now != UTF8 {
            return Err(changed(name, now, UTF8));
        }
    }
    Ok(match SessionZone::read(answer, 4)? {
        SessionZone::Offset(0) => "UTC".to_owned(),
        _ => time_zone(text(4)?),
    })
}

/// An offset in POSIX notation, which counts westwards. A name is unchanged.
fn time_zone(name: &str) -> String {
    match name.split_at_checked(1) {
        Some(("+", offset)) => format!("<{name}>-{offset}"),
        Some(("-", offset)) => format!("<{name}>{offset}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn asked(values: [&str; 7]) -> Result<String, Error> {
        let row = values.iter().map(|value| Some((*value).to_owned())).collect();
        read(&TextAnswer { rows: vec![row], ..TextAnswer::default() })
    }

    #[test]
    fn all_must_be_as_announced() {
        let modes = "STRICT_ALL_TABLES,ansi_quotes,NO_BACKSLASH_ESCAPES";
        assert_eq!(asked([modes, UTF8, UTF8, UTF8, "+00:00", "CET", "1970-01-02 00:00:00"]).unwrap(), "UTC");
        assert!(
            asked(["ANSI_QUOTES", UTF8, UTF8, UTF8, "+00:00", "CET", "1970-01-02 00:00:00"])
                .unwrap_err()
                .message()
                .contains("sql_mode")
        );
        assert!(
            asked([modes, UTF8, "gbk", UTF8, "+00:00", "CET", "1970-01-02 00:00:00"])
                .unwrap_err()
                .message()
                .contains("character_set_connection")
        );
        assert!(read(&TextAnswer::default()).is_err());
    }

    #[test]
    fn offsets_count_to_the_west() {
        assert_eq!(time_zone("+05:30"), "<+05:30>-05:30");
        assert_eq!(time_zone("-08:00"), "<-08:00>08:00");
        assert_eq!(time_zone("Europe/Berlin"), "Europe/Berlin");
    }
}
