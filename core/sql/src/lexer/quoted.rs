//! Strings and quoted names.

use super::{Cut, run_of_characters};
use crate::{Dialect, TokenKind};

/// The string or the quoted name that `rest` begins with.
pub(super) fn cut(rest: &str, dialect: Dialect) -> Option<Cut> {
    let bytes = rest.as_bytes();
    match *bytes {
        [b'\'', ..] => Some(string(rest, 0, dialect.has_backslashes(), dialect)),
        [b'"', ..] if dialect.is_mysql() => Some(string(rest, 0, dialect.has_backslashes(), dialect)),
        [b'"', ..] => Some(name(rest)),
        [b'`', ..] if has_backticks(dialect) => Some(name(rest)),
        [b'[', ..] if dialect == Dialect::Sqlite => {
            Some(Cut::closed(TokenKind::Name, rest, rest.find(']').map(|at| at + 1)))
        }
        [b'$', ..] if dialect.has_dollar_quotes() => dollar(rest),
        [b'e' | b'E', b'\'', ..] if dialect.has_escape_strings() => Some(string(rest, 1, true, dialect)),
        [b'b' | b'B' | b'x' | b'X', b'\'', ..] => Some(digits(rest, dialect)),
        [b'n' | b'N', b'\'', ..] if dialect.is_mysql() || dialect == Dialect::DuckDb => {
            Some(string(rest, 1, dialect.has_backslashes(), dialect))
        }
        [b'u' | b'U', b'&', quote @ (b'\'' | b'"'), ..] if matches!(dialect, Dialect::Postgres { .. }) => {
            Some(if quote == b'\'' { string(rest, 2, false, dialect) } else { unicode_name(rest) })
        }
        _ => None,
    }
}

fn has_backticks(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Sqlite | Dialect::MySql { .. } | Dialect::DuckDb)
}

fn name(rest: &str) -> Cut {
    Cut::closed(TokenKind::Name, rest, length(rest.as_bytes(), false))
}

/// `U&"…"`.
fn unicode_name(rest: &str) -> Cut {
    Cut::closed(TokenKind::Name, rest, length(&rest.as_bytes()[2..], false).map(|length| 2 + length))
}

/// A string behind a prefix of so many bytes.
fn string(rest: &str, prefix: usize, backslashes: bool, dialect: Dialect) -> Cut {
    let bytes = rest.as_bytes();
    let mut end = length(&bytes[prefix..], backslashes).map(|length| prefix + length);
    while let Some(at) = end.filter(|_| dialect.joins_lines())
        && let Some(gap) = continuation(&bytes[at..])
    {
        end = length(&bytes[at + gap..], backslashes).map(|length| at + gap + length);
    }
    Cut::closed(TokenKind::Text, rest, end)
}

/// `B'…'` or `X'…'`, of digits: in PostgreSQL and SQLite a second quote begins another string.
fn digits(rest: &str, dialect: Dialect) -> Cut {
    if !matches!(dialect, Dialect::Postgres { .. } | Dialect::Sqlite) {
        return string(rest, 1, false, dialect);
    }
    let bytes = rest.as_bytes();
    let closed = |from: usize| bytes[from..].iter().position(|byte| *byte == b'\'').map(|at| from + at + 1);
    let mut end = closed(2);
    while let Some(at) = end.filter(|_| dialect.joins_lines())
        && let Some(gap) = continuation(&bytes[at..])
    {
        end = closed(at + gap + 1);
    }
    Cut::closed(TokenKind::Text, rest, end)
}

/// The length of what begins with its quote, if it is closed; a doubled quote is part of it.
pub(crate) fn length(rest: &[u8], backslashes: bool) -> Option<usize> {
    let quote = *rest.first()?;
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' if backslashes => at += 2,
            byte if byte != quote => at += 1,
            _ if rest.get(at + 1) == Some(&quote) => at += 2,
            _ => return Some(at + 1),
        }
    }
    None
}

/// How far behind a string its next piece begins, if there is one: behind white space with a line break in it, and
/// comments that end with their lines (`quotecontinue` in PostgreSQL's `scan.l`).
pub(crate) fn continuation(rest: &[u8]) -> Option<usize> {
    let (mut at, mut is_next_line) = (0, false);
    loop {
        match rest.get(at..)? {
            [b'\n' | b'\r', ..] => (at, is_next_line) = (at + 1, true),
            [b' ' | b'\t' | 0x0b | 0x0c, ..] => at += 1,
            [b'-', b'-', comment @ ..] => {
                at += 2 + comment.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
            }
            [b'\'', ..] if is_next_line => return Some(at),
            _ => return None,
        }
    }
}

/// `$$…$$` or `$tag$…$tag$`, if `rest` begins with the first tag of one.
fn dollar(rest: &str) -> Option<Cut> {
    let inner =
        run_of_characters(&rest[1..], |letter| letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii());
    let tag = rest.get(..inner + 2)?;
    if !tag.ends_with('$') || tag.as_bytes()[1].is_ascii_digit() {
        return None;
    }
    // Linear in the length of both, which a client chooses.
    let end = rest[tag.len()..].find(tag).map(|end| 2 * tag.len() + end);
    Some(Cut::closed(TokenKind::Text, rest, end))
}
