//! The tokens of a text: one lexer for all dialects.
//!
//! Sources: PostgreSQL manual §4.1 and its `scan.l`; <https://www.sqlite.org/lang_keywords.html>, `lang_comment.html`
//! and SQLite's `tokenize.c`; <https://dev.mysql.com/doc/refman/8.4/en/language-structure.html> and MySQL's
//! `sql_lex.cc`; for DuckDB, whose rules are nearly PostgreSQL's, what its `tokenize` answers.
//! `tests/sql/test_parsers.py` compares the tokens with theirs.

mod blank;
mod number;
pub(crate) mod quoted;

use crate::{Dialect, Token, TokenFault, TokenKind};

pub(crate) use blank::is_space;

/// The tokens of a text, one after the other; together they are the whole text.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    sql: &'a str,
    at: usize,
    dialect: Dialect,
}

/// All tokens of a text, white space and comments included.
pub fn tokens(sql: &str, dialect: Dialect) -> Lexer<'_> {
    Lexer { sql, at: 0, dialect }
}

impl Lexer<'_> {
    /// Goes on at byte `at`, behind a part of the text that is no SQL.
    pub(crate) fn skip_to(&mut self, at: usize) {
        self.at = at;
    }
}

/// The tokens of a text without white space and comments.
pub fn code(sql: &str, dialect: Dialect) -> impl Iterator<Item = Token<'_>> + Clone {
    tokens(sql, dialect).filter(|token| !token.is_blank())
}

/// The first word of a statement, or the character or number that it begins with; empty if that is a string, a quoted
/// name or a placeholder.
pub fn first_word(sql: &str, dialect: Dialect) -> &str {
    code(sql, dialect).next().map_or("", |first| first.bare())
}

/// Whether a text has an `E'…'`, which PostgreSQL and DuckDB read as one string, but this dialect as a name and a
/// string.
pub fn has_escape_string(sql: &str, dialect: Dialect) -> bool {
    let mut before = None::<Token<'_>>;
    tokens(sql, dialect).any(|token| {
        let follows = before.is_some_and(|before| before.is_word("e"));
        before = Some(token);
        follows && token.kind == TokenKind::Text && token.text.starts_with('\'')
    })
}

/// A token's kind, length and fault.
struct Cut {
    kind: TokenKind,
    length: usize,
    fault: Option<TokenFault>,
}

impl Cut {
    fn sound(kind: TokenKind, length: usize) -> Self {
        Self { kind, length, fault: None }
    }

    /// What is closed after `length` bytes, or reaches to the end of `rest`.
    fn closed(kind: TokenKind, rest: &str, length: Option<usize>) -> Self {
        Self { kind, length: length.unwrap_or(rest.len()), fault: length.is_none().then_some(TokenFault::Unclosed) }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = &self.sql[self.at..];
        let first = *rest.as_bytes().first()?;
        let Cut { kind, length, fault } = match first {
            b'0'..=b'9' => number::cut(rest, is_fraction(&self.sql[..self.at]), self.dialect),
            b'(' | b')' | b',' | b';' | b'=' | b'.' => Cut::sound(TokenKind::Symbol(first), 1),
            _ => blank::cut(rest, self.dialect)
                .or_else(|| quoted::cut(rest, self.dialect))
                .unwrap_or_else(|| bare(rest, first, self.dialect)),
        };
        let start = self.at;
        self.at += length;
        Some(Token { kind, text: &rest[..length], start, fault })
    }
}

/// Whether a number behind this text is what follows its point. Two points are an operator.
fn is_fraction(before: &str) -> bool {
    before.bytes().rev().take_while(|byte| *byte == b'.').count() % 2 == 1
}

/// A word, a placeholder or a single character.
fn bare(rest: &str, first: u8, dialect: Dialect) -> Cut {
    let word = word(rest, dialect);
    if word > 0 {
        return Cut::sound(TokenKind::Word, word);
    }
    if first == b'$' {
        // A `$` within a word belongs to the word, so this one begins something.
        let digits = run(&rest[1..], u8::is_ascii_digit);
        let name = run_of_characters(&rest[1..], |character| is_word_start(character, dialect) || is_digit(character));
        return match (digits, name) {
            (0, 0) => Cut::sound(TokenKind::Symbol(b'$'), 1),
            (0, name) => {
                // PostgreSQL reads a sign and a string such as `E'…'`.
                let may_prefix = ["'", "&'", "&\""].iter().any(|quote| rest[1 + name..].starts_with(quote));
                let fault = may_prefix.then_some(TokenFault::Junk);
                Cut { kind: TokenKind::Named, length: 1 + name, fault }
            }
            (digits, _) => {
                let after = &rest[1 + digits..];
                // DuckDB reads a whole number there, with its point.
                let has_junk = after.starts_with(|next| is_word_part(next, dialect))
                    || dialect == Dialect::DuckDb && after.starts_with('.');
                Cut { kind: TokenKind::Positional, length: 1 + digits, fault: has_junk.then_some(TokenFault::Junk) }
            }
        };
    }
    let is_control = first.is_ascii_control();
    Cut { kind: TokenKind::Symbol(first), length: 1, fault: is_control.then_some(TokenFault::Control) }
}

/// The length of the word that `rest` begins with.
fn word(rest: &str, dialect: Dialect) -> usize {
    if !rest.starts_with(|first| is_word_start(first, dialect)) {
        return 0;
    }
    let ascii = run(rest, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
    ascii + run_of_characters(&rest[ascii..], |character| is_word_part(character, dialect))
}

/// Whether a word may begin with this character.
fn is_word_start(character: char, dialect: Dialect) -> bool {
    match character {
        'a'..='z' | 'A'..='Z' | '_' => true,
        other => !(other.is_ascii() || dialect == Dialect::DuckDb && is_space(other, dialect)),
    }
}

/// Whether a word may go on with this character.
fn is_word_part(character: char, dialect: Dialect) -> bool {
    is_digit(character) || character == '$' || is_word_start(character, dialect)
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

/// How many bytes satisfy a condition that only ASCII does.
fn run(rest: &str, belongs: impl Fn(&u8) -> bool) -> usize {
    rest.bytes().position(|byte| !belongs(&byte)).unwrap_or(rest.len())
}

/// The length, in bytes, of the characters that satisfy a condition.
fn run_of_characters(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|character| !belongs(character)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests;
