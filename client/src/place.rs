//! Where in a statement an error is: its line, and a caret below the place, as psql and DuckDB show it.

use colonnade_sql::{Dialect, Token, code};

use crate::Error;

/// The most characters that are shown on each side of the place.
const SIDE: usize = 60;
const CUT: &str = "...";
/// Words of statements that may have a password.
const SECRET: [&str; 3] = ["password", "identified", "secret"];

impl Error {
    /// The same error with the lines that show its place in `sql`, which the caller has written. The database has read
    /// a statement made of it.
    #[must_use]
    pub fn placed(self, sql: &str, dialect: Dialect) -> Self {
        let found = match self.position() {
            Some((position, sent)) => mapped(sent.unwrap_or(sql), sql, position, dialect),
            None => by_message(self.message(), sql, dialect),
        };
        if found.is_none() || code(sql, dialect).any(|token| token.is_one_of(&SECRET)) {
            return self;
        }
        let place = found.map(|character| shown(sql, character));
        self.with_place(place)
    }
}

/// The character of `sql` from which character `position` of `sent` comes. Values may have taken the place of
/// placeholders.
fn mapped(sent: &str, sql: &str, position: usize, dialect: Dialect) -> Option<usize> {
    if sent == sql {
        return Some(position);
    }
    let byte = sent.char_indices().nth(position).map_or(sent.len(), |(byte, _)| byte);
    let Some(token) = code(sent, dialect).find(|token| token.end() > byte) else {
        return Some(sql.trim_end().trim_end_matches(';').trim_end().chars().count());
    };
    let same = |text| code(text, dialect).filter(|other| other.text == token.text);
    let number = same(sent).take_while(|other| other.start < token.start).count();
    if same(sent).count() != same(sql).count() {
        return None;
    }
    let found = same(sql).nth(number)?;
    Some(characters(sql, found.start + byte.saturating_sub(token.start)))
}

/// The place that the messages of MySQL and SQLite name.
fn by_message(message: &str, sql: &str, dialect: Dialect) -> Option<usize> {
    let quoted = |start: &str, end: &str| message.split_once(start)?.1.rsplit_once(end).map(|(text, _)| text);
    if let Dialect::MySql { .. } = dialect {
        if let Some(rest) = quoted(" near '", "' at line ") {
            let end = sql.trim_end().len();
            return Some(characters(sql, if rest.is_empty() { end } else { sql.rfind(rest)? }));
        }
        let name = quoted("Table '", "' doesn't exist")
            .or_else(|| message.strip_prefix("Unknown column '")?.split('\'').next());
        return only(name?.rsplit('.').next()?, sql, dialect);
    }
    if message == "incomplete input" {
        return Some(characters(sql, sql.trim_end().len()));
    }
    let name = ["no such table: ", "no such column: ", "no such function: "]
        .iter()
        .find_map(|start| message.split_once(start));
    only(name?.1.rsplit('.').next()?, sql, dialect)
}

/// The place of a name that occurs once.
fn only(name: &str, sql: &str, dialect: Dialect) -> Option<usize> {
    let is_it = |token: &Token<'_>| token.name().is_some_and(|found| found.eq_ignore_ascii_case(name));
    let mut found = code(sql, dialect).filter(is_it);
    let token = found.next()?;
    found.next().is_none().then(|| characters(sql, token.start))
}

fn characters(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).count()
}

/// The line with a character, and a caret below it.
fn shown(sql: &str, character: usize) -> String {
    let byte = sql.char_indices().nth(character).map_or(sql.len(), |(byte, _)| byte);
    let before = &sql[..byte];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line: Vec<_> = sql[start..].split('\n').next().unwrap_or_default().trim_end_matches('\r').chars().collect();
    let column = sql[start..byte].chars().count().min(line.len());
    let (first, last) = (column.saturating_sub(SIDE), (column + SIDE).min(line.len()));
    let head = format!("LINE {}: {}", before.matches('\n').count() + 1, if first > 0 { CUT } else { "" });
    // A control character would move the caret.
    let part: String = line[first..last].iter().map(|c| if c.is_control() { ' ' } else { *c }).collect();
    let tail = if last < line.len() { CUT } else { "" };
    format!("{head}{part}{tail}\n{}^", " ".repeat(head.len() + column - first))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::ErrorKind;

    const MYSQL: Dialect = Dialect::MySql { backslashes: true };

    fn place(message: &str, sql: &str, dialect: Dialect) -> Option<String> {
        Error::new(ErrorKind::Database, message).placed(sql, dialect).place().map(str::to_owned)
    }

    #[test]
    fn the_line_is_shown_with_a_caret() {
        assert_eq!(shown("select é, nope", 10), "LINE 1: select é, nope\n                  ^");
        assert_eq!(shown("select 1\r\n\tfrom x", 16), "LINE 2:  from x\n              ^");
        let long = format!("{}x{}", "a ".repeat(100), " b".repeat(100));
        let expected =
            format!("LINE 1: ...{}x{}...\n{}^", "a ".repeat(30), " b".repeat(30).split_at(59).0, " ".repeat(71));
        assert_eq!(shown(&long, 200), expected);
        assert_eq!(shown("select", 6), "LINE 1: select\n              ^");
    }

    #[test]
    fn places_in_what_was_sent_are_those_of_the_callers_text() {
        let mapped = |sent: &str, sql: &str, position| mapped(sent, sql, position, Dialect::POSTGRES);
        assert_eq!(mapped("select nope from t", "  select nope from t;", 7), Some(9));
        assert_eq!(mapped("select 'a long text', nope", "select $1, nope", 22), Some(11));
        assert_eq!(mapped("select a, $1, a", "select a, $name, a", 14), Some(17));
        assert_eq!(mapped("select 'x', x", "select $1, x", 7), None);
        assert_eq!(mapped("select (1", "select (1;  ", 9), Some(9));
    }

    #[test]
    fn messages_that_name_their_place_are_read() {
        let end = |text: String| text.lines().last().unwrap().len() - 1 - "LINE 1: ".len();
        let near = "You have an error in your SQL syntax; check the manual near 'form t' at line 1";
        assert_eq!(place(near, "select * form t", MYSQL).map(end), Some(9));
        assert_eq!(place("Table 'shop.nope' doesn't exist", "select * from shop.nope", MYSQL).map(end), Some(19));
        assert_eq!(place("Unknown column 'b' in 'SELECT'", "select b, 'b'", MYSQL).map(end), Some(7));
        assert_eq!(place("no such table: main.nope", "select * from nope", Dialect::Sqlite).map(end), Some(14));
        assert_eq!(place("no such column: a", "select a from t where a", Dialect::Sqlite), None);
        assert_eq!(place("no such table: t", "create user u password 'x' from t", Dialect::Sqlite), None);
    }

    proptest::proptest! {
        #[test]
        fn every_place_can_be_shown(sql in "\\PC{0,20}|[a-z$1 '\n;é]{0,30}", sent in "[a-z$1 '\n;é]{0,30}", at in 0..40_usize) {
            let _ = shown(&sql, at);
            if let Some(found) = mapped(&sent, &sql, at, Dialect::POSTGRES) {
                let _ = shown(&sql, found);
            }
        }
    }
}
