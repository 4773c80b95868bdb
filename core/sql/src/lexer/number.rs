//! Numbers without a sign.

use super::{Cut, is_word_part, run_of_characters};
use crate::{Dialect, TokenFault, TokenKind};

/// The number that `rest` begins with; `is_fraction` is whether its point is before it.
pub(super) fn cut(rest: &str, is_fraction: bool, dialect: Dialect) -> Cut {
    let bytes = rest.as_bytes();
    let length = match dialect {
        Dialect::DuckDb => of_duckdb(bytes),
        _ if is_fraction => decimal(bytes, false),
        _ => based(bytes).unwrap_or_else(|| decimal(bytes, true)),
    };
    let has_junk = rest[length..].starts_with(|next| is_word_part(next, dialect));
    if has_junk && dialect.is_mysql() && bytes[..length].iter().all(u8::is_ascii_alphanumeric) {
        return of_mysql(rest, length);
    }
    // To SQLite the letters are part of a token that is none of its own.
    let letters = if dialect == Dialect::Sqlite { word_parts(&rest[length..], dialect) } else { 0 };
    let is_one = dialect != Dialect::DuckDb || is_one_number(&bytes[..length]);
    Cut { kind: TokenKind::Number, length: length + letters, fault: (has_junk || !is_one).then_some(TokenFault::Junk) }
}

/// MySQL's names may begin with digits, even with all of a number but for its exponent.
fn of_mysql(rest: &str, length: usize) -> Cut {
    let is_exact = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = &rest[..length];
    match number.split_once(['e', 'E']) {
        Some((_, digits)) if is_exact(digits) && !number.starts_with("0x") => {
            Cut { kind: TokenKind::Number, length, fault: Some(TokenFault::Junk) }
        }
        _ => Cut::sound(TokenKind::Word, word_parts(rest, Dialect::MYSQL)),
    }
}

fn word_parts(rest: &str, dialect: Dialect) -> usize {
    run_of_characters(rest, |letter| is_word_part(letter, dialect))
}

/// `0x1F`, `0o17` and `0b11`.
fn based(bytes: &[u8]) -> Option<usize> {
    let is_digit: fn(&u8) -> bool = match bytes {
        [b'0', b'x' | b'X', ..] => u8::is_ascii_hexdigit,
        [b'0', b'o' | b'O', ..] => |byte| matches!(byte, b'0'..=b'7'),
        [b'0', b'b' | b'B', ..] => |byte| matches!(byte, b'0' | b'1'),
        _ => return None,
    };
    let end = digits(bytes, 2, is_digit);
    (end > 2).then_some(end)
}

/// Digits, a point if it may have one, digits, an exponent.
fn decimal(bytes: &[u8], has_point: bool) -> usize {
    let at = digits(bytes, 0, u8::is_ascii_digit);
    let has_point = has_point && bytes.get(at) == Some(&b'.') && bytes.get(at + 1) != Some(&b'.');
    let at = if has_point { digits(bytes, at + 1, u8::is_ascii_digit) } else { at };
    exponent(bytes, at).unwrap_or(at)
}

/// What DuckDB's lexer takes for a number: any number of points and exponents, which its parser refuses.
fn of_duckdb(bytes: &[u8]) -> usize {
    let mut at = digits(bytes, 0, u8::is_ascii_digit);
    loop {
        at = match bytes.get(at) {
            Some(b'.') => digits(bytes, at + 1, u8::is_ascii_digit),
            _ => match exponent(bytes, at) {
                Some(end) => end,
                None => return at,
            },
        };
    }
}

/// Whether it has at most one point and one exponent.
fn is_one_number(bytes: &[u8]) -> bool {
    let count = |sought: u8| bytes.iter().filter(|byte| byte.to_ascii_lowercase() == sought).count();
    count(b'.') <= 1 && count(b'e') <= 1
}

/// The end of the exponent at `at`, if there is one.
fn exponent(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at..] {
        [b'e' | b'E', b'0'..=b'9', ..] => Some(digits(bytes, at + 1, u8::is_ascii_digit)),
        [b'e' | b'E', b'+' | b'-', b'0'..=b'9', ..] => Some(digits(bytes, at + 2, u8::is_ascii_digit)),
        _ => None,
    }
}

/// The end of the digits from `at` on; between two of them one underscore may stand.
fn digits(bytes: &[u8], mut at: usize, is_digit: fn(&u8) -> bool) -> usize {
    let is = |at: usize| bytes.get(at).is_some_and(is_digit);
    while is(at) || at > 0 && bytes.get(at) == Some(&b'_') && is(at - 1) && is(at + 1) {
        at += 1;
    }
    at
}
