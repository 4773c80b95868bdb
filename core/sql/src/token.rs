//! A token: its kind, its place, and the value of a name or a string.

use std::borrow::Cow;
use std::ops::Range;

use crate::{Dialect, escape};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// White space.
    Space,
    /// A comment, with its delimiters but without the line break that ends it.
    Comment,
    /// A keyword or a bare name.
    Word,
    /// A quoted name: `"…"`, and `` `…` `` and `[…]` where the dialect has them.
    Name,
    /// A string in any notation, with its prefix; in MySQL `"…"` too, which `sql_mode` may make a name.
    Text,
    /// A number without a sign; a point in front of its first digit is a token of its own.
    Number,
    /// `$1`.
    Positional,
    /// `$name`.
    Named,
    /// Any other character; operators are one token a character.
    Symbol(u8),
}

/// What is wrong with a token, or uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenFault {
    /// A quote or a comment is not closed: the token reaches to the end of the text.
    Unclosed,
    /// A number or a placeholder with something after it that could belong to it, such as letters. Some versions of a
    /// database refuse it, others read two tokens, which may be other ones.
    Junk,
    /// A control character outside of quotes and comments.
    Control,
    /// A comment that MySQL or MariaDB may run, depending on its version: `/*! … */`.
    Conditional,
}

/// A token and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// As it is written.
    pub text: &'a str,
    /// Where it starts, in bytes.
    pub start: usize,
    /// What a caller that must be certain refuses.
    pub fault: Option<TokenFault>,
}

impl<'a> Token<'a> {
    /// The byte after it.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Its bytes.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end()
    }

    /// Whether it is white space or a comment.
    pub fn is_blank(&self) -> bool {
        matches!(self.kind, TokenKind::Space | TokenKind::Comment)
    }

    /// Whether it says something: it is neither white space nor a comment that no database runs.
    pub fn is_meaningful(&self) -> bool {
        !self.is_blank() || self.fault == Some(TokenFault::Conditional)
    }

    /// Whether it is this keyword, in any case.
    pub fn is_word(&self, keyword: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(keyword)
    }

    /// Whether it is one of these keywords, in any case.
    pub fn is_one_of(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is_word(keyword))
    }

    /// Whether it is this character.
    pub fn is_symbol(&self, symbol: u8) -> bool {
        self.kind == TokenKind::Symbol(symbol)
    }

    /// As it is written, if nothing encloses it and no value takes its place: a word, a number or another character.
    /// Else empty.
    pub fn bare(&self) -> &'a str {
        if matches!(self.kind, TokenKind::Word | TokenKind::Number | TokenKind::Symbol(_)) { self.text } else { "" }
    }

    /// The name of a placeholder, without the `$`: digits or a word.
    pub fn placeholder(&self) -> Option<&'a str> {
        matches!(self.kind, TokenKind::Positional | TokenKind::Named).then(|| &self.text[1..])
    }

    /// A bare name as it is written, or a quoted one without its quotes. Which case a bare name means is the database's
    /// matter. `None` if it is neither, is not closed, or is a `U&"…"`, whose value is not in the token alone.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        match self.kind {
            TokenKind::Word => Some(Cow::Borrowed(self.text)),
            TokenKind::Name if self.fault.is_none() && !self.text.starts_with(['u', 'U']) => {
                Some(escape::without_quotes(self.text))
            }
            _ => None,
        }
    }

    /// A name as PostgreSQL and DuckDB compare it: a bare one in lower case. Anything else as it is written.
    pub fn folded(&self) -> Cow<'a, str> {
        match self.kind {
            TokenKind::Word if self.text.bytes().any(|byte| byte.is_ascii_uppercase()) => {
                Cow::Owned(self.text.to_ascii_lowercase())
            }
            TokenKind::Name => self.name().unwrap_or(Cow::Borrowed(self.text)),
            _ => Cow::Borrowed(self.text),
        }
    }

    /// Whether it can be a name: a word, or what is in double quotes.
    pub fn is_identifier(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::Name)
    }

    /// Whether it is this name, which is in lower case.
    pub fn is_name(&self, name: &str) -> bool {
        self.is_identifier() && self.folded() == name
    }

    /// Whether it is one of these names as DuckDB compares names: in any case, and also in quotes.
    pub fn is_one_of_names(&self, names: &[&str]) -> bool {
        self.name().is_some_and(|own| names.iter().any(|name| own.eq_ignore_ascii_case(name)))
    }

    /// What is between the quotes of a string, with escapes undone. `None` if it is no string, is not closed, holds
    /// bytes that are no text in UTF-8, or is a bit string, a blob or a `U&'…'`, whose value is not in the token alone.
    pub fn string(&self, dialect: Dialect) -> Option<Cow<'a, str>> {
        let is_whole = self.kind == TokenKind::Text && self.fault.is_none();
        is_whole.then(|| escape::string(self.text, dialect)).flatten()
    }
}

/// The bracket that closes the one at `open`, of whatever kind they are; `None` if none does.
pub fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().enumerate().skip(open).find_map(|(at, token)| {
        match token.kind {
            TokenKind::Symbol(b'(' | b'[' | b'{') => depth += 1,
            TokenKind::Symbol(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// For each bracket that opens, the one that closes it, of whatever kind they are; `None` if none does, and for other
/// tokens.
pub fn closings(tokens: &[Token<'_>]) -> Vec<Option<usize>> {
    let (mut found, mut open) = (vec![None; tokens.len()], Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Symbol(b'(' | b'[' | b'{') => open.push(at),
            TokenKind::Symbol(b')' | b']' | b'}') => {
                if let Some(start) = open.pop() {
                    found[start] = Some(at);
                }
            }
            _ => {}
        }
    }
    found
}
