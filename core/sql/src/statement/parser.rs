//! Reads the tokens of a statement one after the other.

use std::fmt;
use std::ops::Range;

use crate::lexer::Lexer;
use crate::python::{self, OpenBody};
use crate::{Dialect, Token, TokenKind, tokens};

/// A statement that is not as its grammar says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is there; `None` at the end.
    pub near: Option<String>,
    /// What should be there.
    pub expected: &'static str,
    /// Where, in characters of the statement from 0.
    pub position: usize,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.near {
            Some(near) => write!(f, "syntax error at or near \"{near}\"")?,
            None => f.write_str("syntax error at end of input")?,
        }
        write!(f, ": expected {}", self.expected)
    }
}

impl std::error::Error for SyntaxError {}

/// The tokens of a statement that are still to be read. White space and comments are passed over.
#[derive(Clone, Debug)]
pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Lexer<'a>,
    next: Option<Token<'a>>,
    /// The byte after what was taken last.
    pub end: usize,
    pub dialect: Dialect,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, dialect: Dialect) -> Self {
        let mut parser = Self { text, tokens: tokens(text, dialect), next: None, end: 0, dialect };
        parser.next = parser.tokens.find(|token| !token.is_blank());
        parser
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    pub fn peek(&self) -> Option<Token<'a>> {
        self.next
    }

    /// Takes the next token.
    pub fn take(&mut self) -> Option<Token<'a>> {
        let token = self.next?;
        self.end = token.end();
        self.next = self.tokens.find(|token| !token.is_blank());
        Some(token)
    }

    /// Consumes the next token if it matches.
    pub fn take_if(&mut self, is_sought: impl FnOnce(&Token<'a>) -> bool) -> Option<Token<'a>> {
        self.next.as_ref().is_some_and(is_sought).then(|| self.take()).flatten()
    }

    /// All tokens that are left.
    pub fn take_while_some(mut self) -> impl Iterator<Item = Token<'a>> {
        std::iter::from_fn(move || self.take())
    }

    pub fn is_next(&self, keyword: &str) -> bool {
        self.next.is_some_and(|next| next.is_word(keyword))
    }

    /// Takes this keyword if it comes next.
    pub fn word(&mut self, keyword: &str) -> bool {
        self.take_if(|token| token.is_word(keyword)).is_some()
    }

    /// Takes this character if it comes next.
    pub fn symbol(&mut self, symbol: u8) -> bool {
        self.take_if(|token| token.is_symbol(symbol)).is_some()
    }

    /// Takes a body of Python in braces, if a brace comes next. Gives the bytes between the braces.
    pub fn take_python(&mut self) -> Option<Result<Range<usize>, OpenBody>> {
        let start = self.next.filter(|next| next.is_symbol(b'{'))?.end();
        let end = match python::body_end(self.text, start) {
            Ok(end) => end,
            Err(open) => return Some(Err(open)),
        };
        self.tokens.skip_to(end + 1);
        self.end = end + 1;
        self.next = self.tokens.find(|token| !token.is_blank());
        Some(Ok(start..end))
    }

    /// Takes a name, bare or quoted, if one comes next.
    pub fn name(&mut self) -> Option<Token<'a>> {
        self.take_if(|token| token.is_identifier())
    }

    /// Takes what stands in the parenthesis that was taken last, and its end; whether that is there.
    pub fn closes(&mut self) -> bool {
        let mut depth = 1_usize;
        while let Some(token) = self.take() {
            match token.kind {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return true;
            }
        }
        false
    }

    /// The last token as a name.
    pub fn last_name(self) -> String {
        self.take_while_some().last().map(|last| last.folded().into_owned()).unwrap_or_default()
    }

    /// That something else should come next.
    pub fn error(&self, expected: &'static str) -> SyntaxError {
        let place = self.next.map_or(self.text.len(), |token| token.start);
        SyntaxError {
            near: self.next.map(|token| token.text.to_owned()),
            expected,
            position: self.text[..place].chars().count(),
        }
    }

    /// Takes this keyword, which must come next.
    pub fn expect(&mut self, keyword: &str, expected: &'static str) -> Result<(), SyntaxError> {
        if self.word(keyword) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// The end of the statement must come next.
    pub fn expect_end(&self) -> Result<(), SyntaxError> {
        if self.next.is_none() { Ok(()) } else { Err(self.error("the end of the statement")) }
    }
}
