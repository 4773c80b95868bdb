//! Just enough of SQL's lexical structure to tell code from quotes and comments.
//! <https://www.postgresql.org/docs/current/sql-syntax-lexical.html>; DuckDB's is the same. SQLite's
//! (<https://www.sqlite.org/lang_keywords.html>, `lang_comment.html`) has more quotes for names, no dollar quotes, and comments
//! that do not nest. MySQL's differs: <https://dev.mysql.com/doc/refman/8.4/en/language-structure.html>

use crate::Dialect;

/// A run of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Keywords, names, numbers, operators.
    Code(&'a str),
    /// White space or a comment.
    Blank(&'a str),
    /// A string, a quoted name or a dollar quote. It reaches to the end of the text if it is not closed.
    Quoted(&'a str),
    /// `$1`: a number from 1 on, as written after the `$`.
    Positional(&'a str),
    /// `$name`, without the `$`.
    Named(&'a str),
}

/// The runs of `sql`, in order; together they are the whole text.
pub(crate) struct Tokens<'a> {
    rest: &'a str,
    dialect: Dialect,
}

pub(crate) fn tokens(sql: &str, dialect: Dialect) -> Tokens<'_> {
    Tokens { rest: sql, dialect }
}

/// The first word of a statement.
pub(crate) fn first_word(sql: &str, dialect: Dialect) -> &str {
    let code = tokens(sql, dialect).find_map(|token| match token {
        Token::Blank(_) => None,
        Token::Code(text) => Some(text),
        _ => Some(""),
    });
    code.unwrap_or_default()
}

/// Whether a statement has an `E'…'`, a string of PostgreSQL's, which others read as a name `E` and a string.
pub fn has_escape_string(sql: &str, dialect: Dialect) -> bool {
    let mut before = "";
    tokens(sql, dialect).any(|token| {
        let follows =
            before.eq_ignore_ascii_case("e") && matches!(token, Token::Quoted(text) if text.starts_with('\''));
        before = if let Token::Code(text) = token { text } else { "" };
        follows
    })
}

/// `sql` without what ends a statement: semicolons, comments and white space. A statement that stands inside another
/// one, such as PostgreSQL's COPY, must not carry them.
pub(crate) fn statement(sql: &str) -> &str {
    statement_in(sql, Dialect::Postgres)
}

/// The same in another dialect, whose strings and comments end elsewhere.
pub(crate) fn statement_in(sql: &str, dialect: Dialect) -> &str {
    if dialect == Dialect::Unknown {
        // Nothing is known but that neither begins or ends a string.
        return sql.trim_end_matches(|last: char| last == ';' || last.is_whitespace());
    }
    let (mut position, mut end) = (0, 0);
    for token in tokens(sql, dialect) {
        position += token.len();
        if !matches!(token, Token::Blank(_) | Token::Code(";")) {
            end = position;
        }
    }
    &sql[..end]
}

impl Token<'_> {
    /// Bytes of the text.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Code(text) | Self::Blank(text) | Self::Quoted(text) => text.len(),
            Self::Positional(text) | Self::Named(text) => text.len() + 1,
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let (kind, len) = match self.dialect {
            Dialect::MySql { backslashes } => mysql_token(self.rest, backslashes)?,
            dialect => token(self.rest, dialect)?,
        };
        let (text, rest) = self.rest.split_at(len);
        self.rest = rest;
        Some(match kind {
            Kind::Code => Token::Code(text),
            Kind::Blank => Token::Blank(text),
            Kind::Quoted => Token::Quoted(text),
            Kind::Positional => Token::Positional(&text[1..]),
            Kind::Named => Token::Named(&text[1..]),
        })
    }
}

enum Kind {
    Code,
    Blank,
    Quoted,
    Positional,
    Named,
}

/// The kind and length of the first token. Every branch looks at ASCII only, so a length never splits a character.
fn token(text: &str, dialect: Dialect) -> Option<(Kind, usize)> {
    let bytes = text.as_bytes();
    let first = *bytes.first()?;
    let sqlite = dialect == Dialect::Sqlite;
    Some(match first {
        b'`' if sqlite => (Kind::Quoted, quoted(bytes, 0, false)),
        b'[' if sqlite => (Kind::Quoted, bytes.len().min(run(bytes, |byte| byte != b']') + 1)),
        b'\'' => (Kind::Quoted, quoted(bytes, 0, false)),
        b'"' => (Kind::Quoted, quoted(bytes, 0, false)),
        b'e' | b'E' if !sqlite && bytes.get(1) == Some(&b'\'') => (Kind::Quoted, quoted(bytes, 1, true)),
        b'-' if bytes.get(1) == Some(&b'-') => {
            (Kind::Blank, run(bytes, |byte| byte != b'\n' && (sqlite || byte != b'\r')))
        }
        b'/' if bytes.get(1) == Some(&b'*') => (Kind::Blank, comment(bytes, !sqlite)),
        b'$' => dollar(text, !sqlite),
        _ if first.is_ascii_whitespace() || first == 0x0b => {
            (Kind::Blank, run(bytes, |byte| byte.is_ascii_whitespace() || byte == 0x0b))
        }
        _ if is_word(first) => word(bytes),
        _ => (Kind::Code, 1),
    })
}

/// The same in MySQL, where backslashes escape unless `sql_mode` has NO_BACKSLASH_ESCAPES.
fn mysql_token(text: &str, backslashes: bool) -> Option<(Kind, usize)> {
    let bytes = text.as_bytes();
    let first = *bytes.first()?;
    let ends_line = |byte: u8| byte == b'\n';
    Some(match first {
        b'\'' | b'"' => (Kind::Quoted, quoted(bytes, 0, backslashes)),
        b'`' => (Kind::Quoted, quoted(bytes, 0, false)),
        b'#' => (Kind::Blank, run(bytes, |byte| !ends_line(byte))),
        b'-' if bytes.get(1) == Some(&b'-') && bytes.get(2).is_none_or(|byte| *byte <= b' ') => {
            (Kind::Blank, run(bytes, |byte| !ends_line(byte)))
        }
        b'/' if bytes.get(1) == Some(&b'*') => {
            let end = text[2..].find("*/").map_or(text.len(), |at| at + 4);
            (Kind::Blank, end)
        }
        b'$' => match (run(&bytes[1..], |byte| byte.is_ascii_digit()), run(&bytes[1..], is_word)) {
            (0, 0) => (Kind::Code, 1),
            (0, name) => (Kind::Named, 1 + name),
            (digits, _) => (Kind::Positional, 1 + digits),
        },
        b'-' | b'/' => (Kind::Code, 1),
        _ => {
            return token(text, Dialect::Postgres)
                .map(|(kind, len)| if is_word(first) { word(bytes) } else { (kind, len) });
        }
    })
}

/// A `$` after a word belongs to the word.
fn word(bytes: &[u8]) -> (Kind, usize) {
    (Kind::Code, run(bytes, |byte| is_word(byte) || byte == b'$'))
}

/// A `$` after a word belongs to the word, so here it starts a placeholder, a dollar quote if there are `quotes`, or nothing.
fn dollar(text: &str, quotes: bool) -> (Kind, usize) {
    let bytes = text.as_bytes();
    let digits = run(&bytes[1..], |byte| byte.is_ascii_digit());
    if digits > 0 {
        return (Kind::Positional, 1 + digits);
    }
    let name = run(&bytes[1..], is_word);
    if quotes && bytes.get(1 + name) == Some(&b'$') {
        let tag = &text[..name + 2];
        let end = text[tag.len()..].find(tag).map_or(text.len(), |at| tag.len() + at + tag.len());
        return (Kind::Quoted, end);
    }
    if name > 0 { (Kind::Named, 1 + name) } else { (Kind::Code, 1) }
}

/// The end of what is quoted by `bytes[start]`. A doubled quote stands for itself, as does one after a backslash in
/// an `E''` string.
fn quoted(bytes: &[u8], start: usize, backslashes: bool) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        if backslashes && bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at] != quote {
            at += 1;
        } else if bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return at + 1;
        }
    }
    bytes.len()
}

/// The end of a comment.
fn comment(bytes: &[u8], nest: bool) -> usize {
    let (mut at, mut depth) = (2, 1);
    while at < bytes.len() && depth > 0 {
        match &bytes[at..] {
            [b'/', b'*', ..] if nest => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !belongs(*byte)).unwrap_or(bytes.len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MYSQL: Dialect = Dialect::MySql { backslashes: true };

    fn placeholders(sql: &str) -> Vec<&str> {
        placeholders_in(sql, Dialect::Postgres)
    }

    fn placeholders_in(sql: &str, dialect: Dialect) -> Vec<&str> {
        tokens(sql, dialect)
            .filter_map(|token| match token {
                Token::Positional(text) | Token::Named(text) => Some(text),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn placeholders_are_found_in_code_only() {
        assert_eq!(placeholders("select $1, $22+$name::int,($käse)"), ["1", "22", "name", "käse"]);
        assert_eq!(placeholders("'$1' \"$2\" $$ $3 $$ $t$ $4 $$ $t$ $5"), ["5"]);
        assert_eq!(placeholders("-- $1\n$2 /* $3 /* $4 */ $5 */ $6 --$7\r$8"), ["2", "6", "8"]);
        assert_eq!(placeholders(r"E'it\'s $1' 'a\' $2 e'\\' $3"), ["2", "3"]);
        assert_eq!(placeholders("'it''s $1' a$2 x'41' $3"), ["3"]);
        assert_eq!(placeholders("'never closed $1"), Vec::<&str>::new());
        assert_eq!(placeholders("$ $1 $"), ["1"]);
    }

    #[test]
    fn sqlite_has_quotes_and_comments_of_its_own() {
        let placeholders = |sql| placeholders_in(sql, Dialect::Sqlite);
        assert_eq!(placeholders("`$1``$2` [$3] $4 \"$5\"\"$6\" '$7''$8'$9"), ["4", "9"]);
        assert_eq!(placeholders("/* $1 /* $2 */ $3 --$4\r$5\n$6"), ["3", "6"]);
        assert_eq!(placeholders(r"'a\' $1 e'\' $2 $a$ $3"), ["1", "2", "a", "3"]);
        assert_eq!(placeholders("[never closed $1"), Vec::<&str>::new());
    }

    #[test]
    fn mysql_has_rules_of_its_own() {
        assert_eq!(placeholders_in("select $1, `$2`, \"$3\" # $4\n+$name -- $5\n$6", MYSQL), ["1", "name", "6"]);
        assert_eq!(placeholders_in(r"'it\'s $1' 'a\\' $2 `\` $3 e'\' $4'", MYSQL), ["2", "3"]);
        assert_eq!(placeholders_in("1--$1 /* $2 /* */ $3 /*! $4 */ a$5 $$ $6 --", MYSQL), ["1", "3", "6"]);
        let plain = Dialect::MySql { backslashes: false };
        assert_eq!(placeholders_in(r"'\' $1 'it''s $2'", plain), ["1"]);
        assert_eq!(first_word(" /* x */ # y\n call p()", MYSQL), "call");
        assert_eq!(first_word("(select 1)", MYSQL), "(");
    }

    #[test]
    fn a_statement_loses_its_tail() {
        assert_eq!(statement("select 1 ; -- done\n /* x */ ;; "), "select 1");
        assert_eq!(statement("select ';' -- ;"), "select ';'");
        assert_eq!(statement("select 1; select 2;"), "select 1; select 2");
        assert_eq!(statement(" -- nothing\n;"), "");
    }

    #[test]
    fn escape_strings_are_found_where_they_are_none() {
        for dialect in [MYSQL, Dialect::MySql { backslashes: false }, Dialect::Sqlite] {
            for sql in ["select E'a'", "where s = e'\\\\'' or 1", "(1,E'')"] {
                assert!(has_escape_string(sql, dialect), "{sql}");
            }
            for sql in ["select 'E' ''", "select E 'a'", "select name'a'", "-- E'a'", "\"E\"'a'", "select '\\\\E'"] {
                assert!(!has_escape_string(sql, dialect), "{sql}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_tokens_are_the_text(sql in "[-a$1'\"`#\\\\/*;eE\\[\\]\n é]{0,40}") {
            for dialect in [Dialect::Postgres, Dialect::Sqlite, MYSQL, Dialect::MySql { backslashes: false }] {
                let mut back = String::new();
                for token in tokens(&sql, dialect) {
                    match token {
                        Token::Code(text) | Token::Blank(text) | Token::Quoted(text) => back.push_str(text),
                        Token::Positional(text) | Token::Named(text) => { back.push('$'); back.push_str(text); }
                    }
                }
                prop_assert_eq!(&back, &sql);
            }
            prop_assert!(sql.starts_with(statement(&sql)));
        }
    }
}
