//! The grammar of COPY: what is copied, and the options in the notations of all of PostgreSQL's versions.

use super::CopyError;
use super::options::{RawOption, RawValue};
use crate::lex::{Kind, Token};

/// What is copied.
pub(super) enum Source {
    Query(String, usize),
    Table { table: String, columns: Option<String> },
}

impl Source {
    /// The query that gives its rows, and where it starts in the statement unless it was made up.
    pub fn query(self) -> (String, Option<usize>) {
        match self {
            Self::Query(query, start) => (query, Some(start)),
            Self::Table { table, columns } => {
                (format!("SELECT {} FROM {table}", columns.as_deref().unwrap_or("*")), None)
            }
        }
    }
}

/// Reads the tokens of a COPY one after the other.
pub(super) struct Parser<'a, 't> {
    sql: &'a str,
    tokens: &'t [Token<'a>],
    at: usize,
}

impl<'a, 't> Parser<'a, 't> {
    pub fn new(sql: &'a str, tokens: &'t [Token<'a>]) -> Self {
        Self { sql, tokens, at: 0 }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'t [Token<'a>] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn error(&self, expected: &'static str) -> CopyError {
        let byte = self.peek().map_or(self.sql.len(), |token| token.start);
        CopyError::Syntax { expected, position: self.sql[..byte].chars().count() }
    }

    /// Takes this keyword if it comes next.
    pub fn word(&mut self, keyword: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is_word(keyword));
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: u8) -> bool {
        let found = self.peek().is_some_and(|token| token.kind == Kind::Symbol(symbol));
        self.at += usize::from(found);
        found
    }

    pub fn expect_word(&mut self, keyword: &str, expected: &'static str) -> Result<(), CopyError> {
        if self.word(keyword) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// The text of a parenthesis whose opening has just been taken, up to its closing.
    fn parenthesis(&mut self) -> Result<(&'a str, usize), CopyError> {
        let start = self.tokens[self.at - 1].end();
        let mut depth = 1;
        while let Some(token) = self.next() {
            match token.kind {
                Kind::Symbol(b'(') => depth += 1,
                Kind::Symbol(b')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok((&self.sql[start..token.start], start));
            }
        }
        Err(self.error("a closing parenthesis"))
    }

    /// `(query)`, or `table [(columns)]`; `None` for forms that only the engine knows (`COPY FROM DATABASE`).
    pub fn source(&mut self) -> Result<Option<Source>, CopyError> {
        if self.symbol(b'(') {
            let (query, start) = self.parenthesis()?;
            return Ok(Some(Source::Query(query.to_owned(), start)));
        }
        let Some(first) = self.peek().filter(|token| matches!(token.kind, Kind::Word | Kind::Name)) else {
            return Err(self.error("a table or a query in parentheses"));
        };
        if first.is_word("from") {
            return Ok(None);
        }
        self.at += 1;
        let mut end = first.end();
        while self.symbol(b'.') {
            let part = self.peek().filter(|token| matches!(token.kind, Kind::Word | Kind::Name));
            end = part.ok_or_else(|| self.error("a name"))?.end();
            self.at += 1;
        }
        let table = self.sql[first.start..end].to_owned();
        let columns = if self.symbol(b'(') { Some(self.parenthesis()?.0.trim().to_owned()) } else { None };
        Ok(Some(Source::Table { table, columns }))
    }

    /// The options, and nothing after them.
    pub fn last_options(&mut self) -> Result<Vec<RawOption>, CopyError> {
        let raw = self.options()?;
        if self.peek().is_some() { Err(self.error("the end of the statement")) } else { Ok(raw) }
    }

    /// `[WITH] (name value, …)`, or the options of old: `[WITH] CSV HEADER DELIMITER ','`.
    fn options(&mut self) -> Result<Vec<RawOption>, CopyError> {
        // Even older: `[USING] DELIMITERS ','` before WITH.
        let mut options = Vec::new();
        if self.peek().is_some_and(|token| token.is_word("using") || token.is_word("delimiters")) {
            self.word("using");
            self.expect_word("delimiters", "DELIMITERS")?;
            options.push(self.old_text("delimiter")?);
        }
        self.word("with");
        if self.symbol(b'(') {
            loop {
                options.push(self.option()?);
                if self.symbol(b')') {
                    return Ok(options);
                }
                if !self.symbol(b',') {
                    return Err(self.error("\",\" or \")\""));
                }
            }
        }
        while let Some(token) = self.peek() {
            options.push(self.old_option(token)?);
        }
        Ok(options)
    }

    fn option(&mut self) -> Result<RawOption, CopyError> {
        let name = self.peek().filter(|token| matches!(token.kind, Kind::Word | Kind::Name));
        let name = name.ok_or_else(|| self.error("the name of an option"))?.value();
        self.at += 1;
        let value = match self.peek() {
            Some(token) if matches!(token.kind, Kind::Symbol(b',' | b')')) => RawValue::None,
            Some(token) if token.kind == Kind::Symbol(b'*') => {
                self.at += 1;
                RawValue::All
            }
            Some(token) if token.kind == Kind::Symbol(b'(') => {
                self.at += 1;
                RawValue::List(self.names()?)
            }
            Some(token) if matches!(token.kind, Kind::Symbol(b'-' | b'+')) => {
                self.at += 1;
                let number = self.next().filter(|token| token.kind == Kind::Number);
                RawValue::Text(format!("{}{}", token.text, number.ok_or_else(|| self.error("a number"))?.text))
            }
            Some(token) if !matches!(token.kind, Kind::Symbol(_)) => {
                self.at += 1;
                RawValue::Text(token.value())
            }
            _ => return Err(self.error("the value of an option")),
        };
        Ok(RawOption { name, value })
    }

    /// `a, b)` after an opening parenthesis.
    fn names(&mut self) -> Result<Vec<String>, CopyError> {
        let mut names = Vec::new();
        loop {
            let name = self.peek().filter(|token| !matches!(token.kind, Kind::Symbol(_)));
            names.push(name.ok_or_else(|| self.error("a name"))?.value());
            self.at += 1;
            if self.symbol(b')') {
                return Ok(names);
            }
            if !self.symbol(b',') {
                return Err(self.error("\",\" or \")\""));
            }
        }
    }

    fn old_option(&mut self, token: Token<'a>) -> Result<RawOption, CopyError> {
        let keyword = if token.kind == Kind::Word { token.text.to_ascii_lowercase() } else { String::new() };
        self.at += 1;
        let format = |format: &str| RawOption { name: "format".to_owned(), value: RawValue::Text(format.to_owned()) };
        match keyword.as_str() {
            "binary" | "csv" => Ok(format(&keyword)),
            "header" => Ok(RawOption { name: keyword, value: RawValue::None }),
            "delimiter" | "null" | "quote" | "escape" | "encoding" => self.old_text(&keyword),
            "force" => {
                let name = match self.word("not") {
                    true => {
                        self.expect_word("null", "NULL")?;
                        "force_not_null"
                    }
                    false if self.word("null") => "force_null",
                    false => {
                        self.expect_word("quote", "QUOTE, NULL or NOT NULL")?;
                        "force_quote"
                    }
                };
                let value = if self.symbol(b'*') { RawValue::All } else { RawValue::List(self.old_names()?) };
                Ok(RawOption { name: name.to_owned(), value })
            }
            _ => {
                self.at -= 1;
                Err(self.error("a COPY option"))
            }
        }
    }

    fn old_text(&mut self, name: &str) -> Result<RawOption, CopyError> {
        self.word("as");
        let text = self.peek().filter(|token| token.kind == Kind::Text).ok_or_else(|| self.error("a string"))?;
        self.at += 1;
        Ok(RawOption { name: name.to_owned(), value: RawValue::Text(text.value()) })
    }

    fn old_names(&mut self) -> Result<Vec<String>, CopyError> {
        let mut names = Vec::new();
        loop {
            let name = self.peek().filter(|token| matches!(token.kind, Kind::Word | Kind::Name));
            names.push(name.ok_or_else(|| self.error("a column"))?.value());
            self.at += 1;
            if !self.symbol(b',') {
                return Ok(names);
            }
        }
    }
}
