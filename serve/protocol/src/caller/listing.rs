//! What a session has, as JSON for the views of PostgreSQL's catalog (`sessions.sql`).

use std::fmt::Write as _;

use super::Caller;
use crate::session::prepared::cursors::ListedCursor;
use crate::session::prepared::statements::ListedStatement;
use crate::session::settings::modes::{Mode, TransactionModes};

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Prepared statements.
    Statements,
    /// Cursors and portals.
    Cursors,
    /// The settings of transactions.
    Modes,
}

impl Caller {
    /// An array of objects.
    pub fn list(&self, what: Listed) -> String {
        let objects: Vec<String> = match what {
            Listed::Statements => self.lists.statements.listed().iter().map(statement).collect(),
            Listed::Modes => {
                let (now, defaults) = self.lists.modes.get();
                [("", now), ("default_", defaults)]
                    .into_iter()
                    .flat_map(|(which, modes)| settings(which, modes))
                    .collect()
            }
            Listed::Cursors => self.lists.cursors.listed().iter().map(cursor).collect(),
        };
        format!("[{}]", objects.join(","))
    }
}

fn statement(statement: &ListedStatement) -> String {
    let ListedStatement { name, text, since, parameters } = statement;
    let types = match parameters {
        None => "null".to_owned(),
        Some(types) => format!("{types:?}"),
    };
    let (name, text) = (json_text(name), json_text(text));
    format!(r#"{{"name":{name},"statement":{text},"since":"{since}","types":{types}}}"#)
}

fn cursor(cursor: &ListedCursor) -> String {
    let ListedCursor { name, statement, is_held, is_scrollable, since } = cursor;
    let (name, text) = (json_text(name), json_text(&statement.text));
    format!(r#"{{"name":{name},"statement":{text},"held":{is_held},"scrollable":{is_scrollable},"since":"{since}"}}"#)
}

/// The settings of a transaction's modes. `which` is the beginning of their names.
fn settings(which: &str, modes: TransactionModes) -> impl Iterator<Item = String> {
    let names = [("isolation", Mode::Isolation), ("read_only", Mode::ReadOnly), ("deferrable", Mode::Deferrable)];
    names.into_iter().map(move |(name, mode)| {
        let (name, value) = (json_text(&format!("{which}transaction_{name}")), json_text(modes.value(mode)));
        format!(r#"{{"name":{name},"setting":{value}}}"#)
    })
}

/// A text in JSON.
pub fn json_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_in_json() {
        assert_eq!(json_text("a\"b\\c\n\u{e9}\u{1}"), "\"a\\\"b\\\\c\\u000a\u{e9}\\u0001\"");
    }
}
