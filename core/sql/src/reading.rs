//! A text and its tokens, which are found once however many readers it has.

use std::cell::OnceCell;

use crate::{Dialect, Token, code};

/// A text with its tokens, without white space and comments. They are found when they are first asked for.
#[derive(Debug)]
pub struct Reading<'a> {
    text: &'a str,
    dialect: Dialect,
    tokens: OnceCell<Vec<Token<'a>>>,
}

impl<'a> Reading<'a> {
    /// A text that nobody has read yet.
    pub fn new(text: &'a str, dialect: Dialect) -> Self {
        Self { text, dialect, tokens: OnceCell::new() }
    }

    /// The text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Its tokens.
    pub fn tokens(&self) -> &[Token<'a>] {
        self.tokens.get_or_init(|| code(self.text, self.dialect).collect())
    }
}
