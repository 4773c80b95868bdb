//! Names, texts and bytes as a dialect writes them.
//!
//! What is written is one expression that means exactly the value, whatever the session's settings are. No database has
//! a character NUL in a name, and most have none in a text: callers refuse it before.

use std::fmt::Write as _;

use crate::Dialect;

/// A name in the dialect's quotes.
pub fn identifier(name: &str, dialect: Dialect) -> String {
    let quote = if dialect.is_mysql() { '`' } else { '"' };
    enclosed(name, quote)
}

/// A name in double quotes, or as it is if it needs none: lower-case letters, digits and underscores, but no digit
/// first. A keyword is not known as one, so this is for lists that are no SQL.
pub fn plain_or_quoted(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.bytes().all(is_plain) && name.starts_with(|first: char| !first.is_ascii_digit()) {
        name.to_owned()
    } else {
        enclosed(name, '"')
    }
}

/// A text as a string.
pub fn string(text: &str, dialect: Dialect) -> String {
    let mut sql = String::with_capacity(text.len() + 2);
    push_string(&mut sql, text, dialect);
    sql
}

/// Appends a text as a string.
pub fn push_string(sql: &mut String, text: &str, dialect: Dialect) {
    match dialect {
        // With standard_conforming_strings off, a backslash in a plain string escapes; behind an E it always does.
        Dialect::Postgres { .. } if text.contains('\\') => {
            sql.push('E');
            sql.push_str(&enclosed(&text.replace('\\', "\\\\"), '\''));
        }
        // In hexadecimal nothing can escape, if something would, and nothing is read in another character set.
        Dialect::MySql { .. } if !is_plain(text) => {
            sql.push_str("_utf8mb4 X'");
            push_hexadecimal(sql, text.as_bytes());
            sql.push('\'');
        }
        _ => sql.push_str(&enclosed(text, '\'')),
    }
}

/// Appends bytes as a blob.
pub fn push_bytes(sql: &mut String, bytes: &[u8], dialect: Dialect) {
    let (open, close) = match dialect {
        Dialect::Postgres { .. } => ("CAST(E'\\\\x", "' AS BYTEA)"),
        Dialect::MySql { .. } => ("_binary X'", "'"),
        Dialect::Sqlite | Dialect::Unknown => ("X'", "'"),
        Dialect::DuckDb => ("CAST('", "' AS BLOB)"),
    };
    sql.push_str(open);
    if dialect == Dialect::DuckDb {
        for byte in bytes {
            sql.push_str("\\x");
            push_hexadecimal(sql, &[*byte]);
        }
    } else {
        push_hexadecimal(sql, bytes);
    }
    sql.push_str(close);
}

/// Appends two digits a byte.
pub fn push_hexadecimal(sql: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(sql, "{byte:02X}");
    }
}

/// Whether a text is the same in all character sets, and holds nothing that ends a string or escapes in one.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -:.,+_/@".contains(&byte))
}

fn enclosed(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for letter in text.chars() {
        if letter == quote {
            out.push(quote);
        }
        out.push(letter);
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{TokenKind, tokens};

    const MYSQL: Dialect = Dialect::MySql { backslashes: true };

    #[test]
    fn each_dialect_has_its_quotes() {
        assert_eq!(identifier("a\"b`c", Dialect::POSTGRES), "\"a\"\"b`c\"");
        assert_eq!(identifier("a\"b`c", MYSQL), "`a\"b``c`");
        assert_eq!(plain_or_quoted("plain_1"), "plain_1");
        assert_eq!(plain_or_quoted("1"), "\"1\"");
        assert_eq!(plain_or_quoted(""), "\"\"");
        assert_eq!(string(r"it's \", Dialect::POSTGRES), r"E'it''s \\'");
        assert_eq!(string(r"it's \", Dialect::DuckDb), r"'it''s \'");
        assert_eq!(string("it is", MYSQL), "'it is'");
        assert_eq!(string("it's", MYSQL), "_utf8mb4 X'69742773'");
    }

    #[test]
    fn bytes_are_hexadecimal() {
        let blob = |dialect| {
            let mut sql = String::new();
            push_bytes(&mut sql, &[0, 39, 255], dialect);
            sql
        };
        assert_eq!(blob(Dialect::DuckDb), r"CAST('\x00\x27\xFF' AS BLOB)");
        assert_eq!(blob(Dialect::POSTGRES), r"CAST(E'\\x0027FF' AS BYTEA)");
        assert_eq!(blob(Dialect::Sqlite), "X'0027FF'");
        assert_eq!(blob(MYSQL), "_binary X'0027FF'");
    }

    proptest! {
        #[test]
        fn what_is_quoted_is_one_token_with_the_value(text in "[^\\x00]{0,30}") {
            for dialect in [Dialect::DuckDb, Dialect::POSTGRES, Dialect::Postgres { backslashes: true }, Dialect::Sqlite] {
                let quoted = string(&text, dialect);
                let found: Vec<_> = tokens(&quoted, dialect).collect();
                prop_assert_eq!(found.len(), 1);
                prop_assert_eq!(found[0].string(dialect).unwrap(), text.as_str());
            }
            for dialect in [Dialect::DuckDb, Dialect::POSTGRES, Dialect::Sqlite, MYSQL] {
                let quoted = identifier(&text, dialect);
                let found: Vec<_> = tokens(&quoted, dialect).collect();
                prop_assert_eq!((found.len(), found[0].kind), (1, TokenKind::Name));
                prop_assert_eq!(found[0].name().unwrap(), text.as_str());
            }
        }
    }
}
