//! White space and comments.

use super::{Cut, run_of_characters};
use crate::{Dialect, TokenFault, TokenKind};

/// What DuckDB's parser takes for a space besides ASCII's, found by trying each code point.
const DUCKDB_SPACES: [char; 18] = [
    '\u{a0}', '\u{2000}', '\u{2001}', '\u{2002}', '\u{2003}', '\u{2004}', '\u{2005}', '\u{2006}', '\u{2007}',
    '\u{2008}', '\u{2009}', '\u{200a}', '\u{200b}', '\u{202f}', '\u{205f}', '\u{2060}', '\u{3000}', '\u{feff}',
];
/// SQLite skips it between tokens; within a word it is a letter.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Whether a token begins behind this character, and none with it.
pub(crate) fn is_space(character: char, dialect: Dialect) -> bool {
    match character {
        ' ' | '\t' | '\n' | '\x0c' | '\r' => true,
        '\x0b' => dialect != Dialect::Sqlite,
        other => match dialect {
            Dialect::DuckDb => !other.is_ascii() && DUCKDB_SPACES.contains(&other),
            Dialect::Sqlite => other == BYTE_ORDER_MARK,
            _ => false,
        },
    }
}

/// The white space or the comment that `rest` begins with.
pub(super) fn cut(rest: &str, dialect: Dialect) -> Option<Cut> {
    let mysql = dialect.is_mysql();
    match *rest.as_bytes() {
        [b'-', b'-', ref after @ ..] if !mysql || after.first().is_none_or(|byte| *byte <= b' ' || *byte == 0x7f) => {
            Some(line(rest, dialect))
        }
        [b'#', ..] if mysql => Some(line(rest, dialect)),
        // SQLite reads `/*` at the very end as two characters.
        [b'/', b'*', ref after @ ..] if dialect != Dialect::Sqlite || !after.is_empty() => Some(block(rest, dialect)),
        [first, ..] if first <= b' ' || !first.is_ascii() => {
            let length = run_of_characters(rest, |character| is_space(character, dialect));
            (length > 0).then(|| Cut::sound(TokenKind::Space, length))
        }
        _ => None,
    }
}

/// A comment that ends with its line.
fn line(rest: &str, dialect: Dialect) -> Cut {
    let ends = |byte| byte == b'\n' || byte == b'\r' && dialect.nests_comments();
    Cut::sound(TokenKind::Comment, rest.bytes().position(ends).unwrap_or(rest.len()))
}

/// A comment with an end of its own.
fn block(rest: &str, dialect: Dialect) -> Cut {
    if dialect.nests_comments() {
        return Cut::closed(TokenKind::Comment, rest, nested(rest.as_bytes()));
    }
    let end = rest[2..].find("*/").map(|end| end + 4);
    // To SQLite a comment also ends with the text.
    let mut cut = Cut::closed(TokenKind::Comment, rest, end.or((dialect == Dialect::Sqlite).then_some(rest.len())));
    if dialect.is_mysql() && ["/*!", "/*M!"].iter().any(|start| rest.starts_with(start)) {
        cut.fault = cut.fault.or(Some(TokenFault::Conditional));
    }
    cut
}

/// The length of a comment in which comments nest, if it is closed.
fn nested(rest: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0usize);
    while at < rest.len() {
        match rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return Some(at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    None
}
