//! What stands between quotes, with doubled quotes and backslashes undone.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use crate::Dialect;
use crate::lexer::quoted;

/// What a backslash means within quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslash {
    /// Itself.
    Plain,
    /// PostgreSQL manual §4.1.2.2.
    Postgres,
    /// As PostgreSQL's, but without `\u` and `\U`.
    DuckDb,
    /// <https://dev.mysql.com/doc/refman/8.4/en/string-literals.html>
    MySql,
}

/// A quoted token without its quotes; doubled quotes are made single.
pub(crate) fn without_quotes(text: &str) -> Cow<'_, str> {
    let Some(quote) = text.chars().next() else { return Cow::Borrowed("") };
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    // Brackets cannot be doubled.
    if quote == '[' || !inner.contains(quote) {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        out.push(letter);
        if letter == quote {
            letters.next();
        }
    }
    Cow::Owned(out)
}

/// The value of a string that is closed.
pub(crate) fn string(text: &str, dialect: Dialect) -> Option<Cow<'_, str>> {
    let plain = match (dialect.has_backslashes(), dialect.is_mysql()) {
        (false, _) => Backslash::Plain,
        (true, false) => Backslash::Postgres,
        (true, true) => Backslash::MySql,
    };
    match *text.as_bytes() {
        [b'$', ..] => {
            let tag = 2 + text[1..].find('$')?;
            Some(Cow::Borrowed(text.get(tag..text.len().checked_sub(tag)?)?))
        }
        [b'\'' | b'"', ..] => pieces(text, dialect, plain),
        [b'n' | b'N', b'\'', ..] => pieces(&text[1..], dialect, plain),
        [b'e' | b'E', b'\'', ..] if dialect == Dialect::DuckDb => pieces(&text[1..], dialect, Backslash::DuckDb),
        [b'e' | b'E', b'\'', ..] => pieces(&text[1..], dialect, Backslash::Postgres),
        _ => None,
    }
}

/// The values of all pieces of a string, joined: a line break may part them.
fn pieces(text: &str, dialect: Dialect, backslash: Backslash) -> Option<Cow<'_, str>> {
    let length = |rest: &str| quoted::length(rest.as_bytes(), backslash != Backslash::Plain);
    let (first, mut rest) = text.split_at(length(text)?);
    let mut joined = piece(first, backslash)?;
    while dialect.joins_lines()
        && let Some(gap) = quoted::continuation(rest.as_bytes())
    {
        let (next, after) = rest[gap..].split_at(length(&rest[gap..])?);
        joined.to_mut().push_str(&piece(next, backslash)?);
        rest = after;
    }
    Some(joined)
}

fn piece(text: &str, backslash: Backslash) -> Option<Cow<'_, str>> {
    if backslash == Backslash::Plain || !text.contains('\\') {
        return Some(without_quotes(text));
    }
    let quote = text.chars().next()?;
    let mut letters = text.get(1..text.len() - 1)?.chars().peekable();
    // Octal and hexadecimal escapes are bytes, of which several may make a character.
    let mut bytes = Vec::with_capacity(text.len());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if backslash == Backslash::MySql => of_mysql(letters.next()?, &mut bytes),
            '\\' => of_postgres(&mut letters, backslash == Backslash::Postgres, &mut bytes)?,
            _ => {
                push(letter, &mut bytes);
                if letter == quote {
                    letters.next();
                }
            }
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn push(letter: char, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

fn of_mysql(letter: char, bytes: &mut Vec<u8>) {
    match letter {
        '0' => bytes.push(0),
        'b' => bytes.push(8),
        'n' => bytes.push(b'\n'),
        'r' => bytes.push(b'\r'),
        't' => bytes.push(b'\t'),
        'Z' => bytes.push(26),
        // LIKE reads these two with their backslash.
        '%' | '_' => bytes.extend_from_slice(&[b'\\', letter as u8]),
        other => push(other, bytes),
    }
}

/// `None` if it names no character; `unicode` is whether `\u` and `\U` do.
fn of_postgres(letters: &mut Peekable<Chars<'_>>, unicode: bool, bytes: &mut Vec<u8>) -> Option<()> {
    let letter = letters.next()?;
    match letter {
        'b' => bytes.push(8),
        'f' => bytes.push(12),
        'n' => bytes.push(b'\n'),
        'r' => bytes.push(b'\r'),
        't' => bytes.push(b'\t'),
        '0'..='7' => {
            let more = digits(letters, 8, 2);
            let number = more.iter().fold(letter.to_digit(8)?, |number, digit| number * 8 + digit);
            // Three octal digits hold nine bits; PostgreSQL takes the lower eight.
            bytes.push((number & 0xff) as u8);
        }
        'x' => match digits(letters, 16, 2)[..] {
            [] => bytes.push(b'x'),
            ref found => bytes.push(found.iter().fold(0, |number, digit| number * 16 + *digit as u8)),
        },
        'u' | 'U' if unicode => {
            let length = if letter == 'u' { 4 } else { 8 };
            let found = digits(letters, 16, length);
            // Two halves of a surrogate pair are left to the database.
            let number = found.iter().try_fold(0u32, |number, digit| number.checked_mul(16)?.checked_add(*digit))?;
            push(char::from_u32(number).filter(|_| found.len() == length)?, bytes);
        }
        other => push(other, bytes),
    }
    Some(())
}

/// At most `most` digits.
fn digits(letters: &mut Peekable<Chars<'_>>, radix: u32, most: usize) -> Vec<u32> {
    let mut found = Vec::new();
    while found.len() < most
        && let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(radix))
    {
        letters.next();
        found.push(digit);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: Dialect = Dialect::MySql { backslashes: true };

    #[test]
    fn quotes_and_escapes_are_undone() {
        for (text, dialect, expected) in [
            ("'it''s'", Dialect::DuckDb, Some("it's")),
            (r"'a\'", Dialect::Sqlite, Some(r"a\")),
            ("$x$ $$ $x$", Dialect::DuckDb, Some(" $$ ")),
            (r"E'a\tb\\\x41\101\u00e9\''''", Dialect::POSTGRES, Some("a\tb\\AAé''")),
            (r"e'\303\251\xe2\x82\xac'", Dialect::DuckDb, Some("é€")),
            (r"E'\xff'", Dialect::POSTGRES, None),
            (r"E'\u12'", Dialect::POSTGRES, None),
            ("'a' -- c\n 'b''c'", Dialect::POSTGRES, Some("ab'c")),
            ("E'a'\n'\\n'", Dialect::POSTGRES, Some("a\n")),
            (r"'\'\0\%\q'", MYSQL, Some("'\0\\%q")),
            (r#""a""b\"""#, MYSQL, Some("a\"b\"")),
            ("n'a'", MYSQL, Some("a")),
            (r"'\t'", Dialect::Postgres { backslashes: true }, Some("\t")),
            ("x'00'", Dialect::POSTGRES, None),
            ("U&'\\0041'", Dialect::POSTGRES, None),
        ] {
            assert_eq!(string(text, dialect).as_deref(), expected, "{text}");
        }
        assert_eq!(without_quotes("[a]"), "a");
        assert_eq!(without_quotes("`a``b`"), "a`b");
    }
}
