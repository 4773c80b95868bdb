//! The statements of a result in parts: `colonnade_spool`, `colonnade_release` and `colonnade_part` (PROTOCOL §11).
//!
//! They look like calls of functions, because clients can then send them like any query, but the server answers them
//! itself. So they are read as statements, by tokens: letter case, comments and white space do not matter.

use super::parser::{Parser, SyntaxError};
use crate::TokenKind;

/// A statement about spooled results that gives rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpoolStatement {
    /// `SELECT * FROM colonnade_spool(query, option => value, …)`.
    Spool {
        /// The query to run.
        query: Argument,
        /// The options, in lower case unless quoted, and their values.
        options: Vec<(String, Argument)>,
    },
    /// `SELECT * FROM colonnade_release(ticket)`.
    Release {
        /// The ticket.
        ticket: Argument,
    },
}

/// An argument of these statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A string without its quotes, or a number as it is written.
    Literal(String),
    /// `$n`, by its number from 1.
    Parameter(usize),
}

impl Argument {
    fn number(&self) -> usize {
        match self {
            Self::Literal(_) => 0,
            Self::Parameter(number) => *number,
        }
    }
}

impl SpoolStatement {
    /// The largest number of a placeholder; 0 if there is none.
    pub fn placeholders(&self) -> usize {
        match self {
            Self::Spool { query, options } => largest(options).max(query.number()),
            Self::Release { ticket } => ticket.number(),
        }
    }
}

/// What COPY sends of a spooled result: `colonnade_part(ticket, part, option => value, …)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSource {
    /// The ticket.
    pub ticket: Argument,
    /// The part's number, from 1.
    pub part: Argument,
    /// The options, in lower case unless quoted, and their values.
    pub options: Vec<(String, Argument)>,
}

impl PartSource {
    /// The largest number of a placeholder; 0 if there is none.
    pub fn placeholders(&self) -> usize {
        largest(&self.options).max(self.ticket.number()).max(self.part.number())
    }
}

/// The largest number of a placeholder in options.
fn largest(options: &[(String, Argument)]) -> usize {
    options.iter().map(|(_, value)| value.number()).max().unwrap_or_default()
}

/// Reads a query after SELECT or FROM. `None` if it is not about spooled results.
pub(super) fn read(mut parser: Parser<'_>, is_select: bool) -> Option<Result<SpoolStatement, SyntaxError>> {
    if is_select && !(parser.symbol(b'*') && parser.word("from")) {
        return None;
    }
    let name = parser.name()?;
    let is_release = name.is_name("colonnade_release");
    if !(is_release || name.is_name("colonnade_spool")) || !parser.symbol(b'(') {
        return None;
    }
    Some(if is_release { release(parser) } else { spool(parser) })
}

fn spool(mut parser: Parser<'_>) -> Result<SpoolStatement, SyntaxError> {
    let query = argument(&mut parser, "the query as a string, or $1")?;
    let options = options(&mut parser)?;
    parser.expect_end()?;
    Ok(SpoolStatement::Spool { query, options })
}

/// Reads `, option => value …)`.
fn options(parser: &mut Parser<'_>) -> Result<Vec<(String, Argument)>, SyntaxError> {
    let mut options = Vec::new();
    while !parser.symbol(b')') {
        if !parser.symbol(b',') {
            return Err(parser.error("\",\" or \")\""));
        }
        let name = parser.name().ok_or_else(|| parser.error("the name of an option"))?;
        let is_named = (parser.symbol(b'=') && parser.symbol(b'>')) || (parser.symbol(b':') && parser.symbol(b'='));
        if !is_named {
            return Err(parser.error("\"=>\" and a value"));
        }
        options.push((name.folded().into_owned(), argument(parser, "a number, a string, or a placeholder")?));
    }
    Ok(options)
}

fn release(mut parser: Parser<'_>) -> Result<SpoolStatement, SyntaxError> {
    let ticket = argument(&mut parser, "a ticket as a string, or $1")?;
    if !parser.symbol(b')') {
        return Err(parser.error("\")\""));
    }
    parser.expect_end()?;
    Ok(SpoolStatement::Release { ticket })
}

/// Reads `(ticket, part, …)` after the name `colonnade_part` in COPY. `None` if a list of columns is there, which has
/// names.
pub(super) fn part(parser: &mut Parser<'_>) -> Option<Result<PartSource, SyntaxError>> {
    let mut ahead = parser.clone();
    let is_part = ahead.symbol(b'(')
        && ahead.peek().is_some_and(|first| matches!(first.kind, TokenKind::Text | TokenKind::Positional));
    if !is_part {
        return None;
    }
    parser.symbol(b'(');
    Some(part_arguments(parser))
}

fn part_arguments(parser: &mut Parser<'_>) -> Result<PartSource, SyntaxError> {
    let ticket = argument(parser, "a ticket as a string, or $1")?;
    if !parser.symbol(b',') {
        return Err(parser.error("\",\" and the number of a part"));
    }
    let part = argument(parser, "the number of a part")?;
    Ok(PartSource { ticket, part, options: options(parser)? })
}

pub(super) fn argument(parser: &mut Parser<'_>, expected: &'static str) -> Result<Argument, SyntaxError> {
    let error = parser.error(expected);
    let dialect = parser.dialect;
    let Some(token) = parser.take() else { return Err(error) };
    let argument = match token.kind {
        TokenKind::Number => Some(Argument::Literal(token.text.to_owned())),
        TokenKind::Text => token.string(dialect).map(|text| Argument::Literal(text.into_owned())),
        TokenKind::Positional if token.fault.is_none() => {
            token.placeholder().and_then(|number| number.parse().ok()).filter(|n| *n > 0).map(Argument::Parameter)
        }
        _ => None,
    };
    argument.ok_or(error)
}
