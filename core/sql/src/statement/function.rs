//! CREATE, DROP and COMMENT ON of functions and aggregates in Python.
//!
//! The clauses are those of PostgreSQL's CREATE FUNCTION. LANGUAGE PYTHON and PYTHON_MAP, and a body in braces, are
//! MonetDB's.

mod clauses;
mod create;
mod drop;

use std::fmt;
use std::ops::Range;

use super::SyntaxError;
use super::parser::Parser;
use crate::TokenKind;

pub(super) use create::create;
pub(super) use drop::{comment, drop, function as dropped_function};

/// CREATE FUNCTION or CREATE AGGREGATE. Names are as PostgreSQL folds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateFunction {
    /// OR REPLACE.
    pub or_replace: bool,
    /// AGGREGATE.
    pub is_aggregate: bool,
    /// The function's name.
    pub name: FunctionName,
    /// `None` for `*`: any number of arguments of any types.
    pub parameters: Option<Vec<FunctionParameter>>,
    /// What it returns.
    pub returns: FunctionResult,
    /// LANGUAGE.
    pub language: FunctionLanguage,
    /// The Python text.
    pub body: FunctionBody,
    /// IMMUTABLE, STABLE or VOLATILE; `None` if not said.
    pub volatility: Option<Volatility>,
    /// STRICT, or RETURNS NULL ON NULL INPUT.
    pub is_strict: bool,
    /// PARALLEL.
    pub parallel: Option<ParallelSafety>,
    /// PARAMETER STYLE ARROW.
    pub is_arrow: bool,
    /// SCALAR (…): the parameters that have one value for the whole query.
    pub scalars: Vec<String>,
}

/// A name with its schema, if one is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionName {
    /// The schema.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
    /// Where it stands, in bytes of the statement.
    pub place: Range<usize>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionParameter {
    /// Its name.
    pub name: String,
    /// Its type, as it is written.
    pub type_: String,
    /// A constant, as it is written.
    pub default: Option<String>,
    /// Where the type stands, in bytes of the statement.
    pub place: Range<usize>,
}

/// What a function returns. Types are as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionResult {
    /// A value for each row, or for each group.
    Type(String, Range<usize>),
    /// Rows with these columns: name, type, and where the type stands.
    Table(Vec<(String, String, Range<usize>)>),
    /// Rows whose columns the function decides.
    AnyTable,
}

/// LANGUAGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionLanguage {
    /// One call gets all rows, or many groups.
    Python,
    /// One call gets any part of the rows, or one group.
    PythonMap,
}

/// How much a function's results may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// The same arguments always give the same result.
    Immutable,
    /// Within one statement they do.
    Stable,
    /// They may not.
    Volatile,
}

/// PARALLEL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParallelSafety {
    /// Any part of the rows may be computed anywhere.
    Safe,
    /// In one process only.
    Restricted,
    /// In one process only.
    Unsafe,
}

/// A body, with the way from its characters to those of the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionBody {
    /// The Python text.
    pub source: String,
    /// Where its first character stands, in bytes of the statement.
    pub start: usize,
    /// How it is written.
    pub quoting: BodyQuoting,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyQuoting {
    /// Between dollar quotes or in braces: character by character.
    Verbatim,
    /// In single quotes, which are doubled within.
    Doubled,
    /// With other escapes.
    Escaped,
}

impl FunctionBody {
    /// The position of the body's character `at` in the statement, both in characters from 0. In a text with escapes,
    /// where the text begins.
    pub fn position(&self, statement: &str, at: usize) -> usize {
        let before = statement.get(..self.start).map_or(0, |before| before.chars().count());
        match self.quoting {
            BodyQuoting::Verbatim => before + at,
            BodyQuoting::Doubled => before + at + self.source.chars().take(at).filter(|one| *one == '\'').count(),
            BodyQuoting::Escaped => before,
        }
    }
}

/// Why a statement about a function is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionSyntaxError {
    /// It is not as its grammar says.
    Syntax(SyntaxError),
    /// It asks for something that PostgreSQL has and this server has not.
    Unsupported {
        /// What.
        what: &'static str,
        /// What to do instead.
        hint: &'static str,
        /// Where, in characters of the statement from 0.
        position: usize,
    },
    /// LANGUAGE is none that there is.
    UnknownLanguage {
        /// Its name.
        name: String,
        /// Where, in characters of the statement from 0.
        position: usize,
    },
    /// A body in braces has no end.
    OpenBody {
        /// What is not closed.
        what: &'static str,
        /// Where that begins, in characters of the statement from 0.
        position: usize,
    },
}

impl FunctionSyntaxError {
    /// Where, in characters of the statement from 0.
    pub fn position(&self) -> usize {
        match self {
            Self::Syntax(error) => error.position,
            Self::Unsupported { position, .. }
            | Self::UnknownLanguage { position, .. }
            | Self::OpenBody { position, .. } => *position,
        }
    }
}

impl fmt::Display for FunctionSyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(f),
            Self::Unsupported { what, .. } => write!(f, "{what} is not supported"),
            Self::UnknownLanguage { name, .. } => write!(f, "language \"{name}\" does not exist"),
            Self::OpenBody { what, .. } => write!(f, "syntax error: {what}"),
        }
    }
}

impl std::error::Error for FunctionSyntaxError {}

impl From<SyntaxError> for FunctionSyntaxError {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

/// DROP FUNCTION or DROP AGGREGATE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropFunction {
    /// AGGREGATE.
    pub is_aggregate: bool,
    /// IF EXISTS.
    pub if_exists: bool,
    /// The functions.
    pub functions: Vec<DroppedFunction>,
    /// CASCADE.
    pub cascades: bool,
}

/// A function to drop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedFunction {
    /// Its name.
    pub name: FunctionName,
    /// The types of its parameters, as they are written; `None` if there is no list. A list `(*)` is `["*"]`.
    pub types: Option<Vec<String>>,
}

/// COMMENT ON FUNCTION, AGGREGATE or MACRO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommentOnFunction {
    /// AGGREGATE.
    pub is_aggregate: bool,
    /// The function.
    pub function: DroppedFunction,
    /// The comment; `None` removes it.
    pub text: Option<String>,
}

/// A name with a schema in front.
fn name(parser: &mut Parser<'_>) -> Result<FunctionName, SyntaxError> {
    const EXPECTED: &str = "the name of a function";
    let mut found = FunctionName::default();
    loop {
        let error = parser.error(EXPECTED);
        let token = parser.name().ok_or_else(|| error.clone())?;
        // A name whose value is not in the token alone, such as U&"…".
        token.name().ok_or(error)?;
        let start = if found.name.is_empty() { token.start } else { found.place.start };
        let before = std::mem::replace(&mut found.name, token.folded().into_owned());
        if !before.is_empty() {
            if found.schema.is_some() {
                return Err(parser.error("a schema and a name, without a database"));
            }
            found.schema = Some(before);
        }
        found.place = start..token.end();
        if !parser.symbol(b'.') {
            return Ok(found);
        }
    }
}

/// A type up to a comma, a parenthesis that closes what is outside, or one of these words: its tokens with single
/// spaces. Of a type's tokens, none can end an expression around it.
fn type_name(parser: &mut Parser<'_>, ends: &[&str]) -> Result<(String, Range<usize>), SyntaxError> {
    const EXPECTED: &str = "a type";
    let (mut text, mut depth, mut place) = (String::new(), 0_usize, None::<Range<usize>>);
    while let Some(token) = parser.peek() {
        let is_end = match token.kind {
            TokenKind::Symbol(b',' | b')') => depth == 0,
            TokenKind::Symbol(b'(' | b'[' | b']' | b'.') => false,
            TokenKind::Word => depth == 0 && place.is_some() && token.is_one_of(ends),
            TokenKind::Name | TokenKind::Number | TokenKind::Text => token.fault.is_some(),
            _ => true,
        };
        if is_end {
            break;
        }
        match token.kind {
            TokenKind::Symbol(b'(') => depth += 1,
            TokenKind::Symbol(b')') => depth -= 1,
            _ => {}
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(token.text);
        place = Some(place.map_or(token.start, |place| place.start)..token.end());
        parser.take();
    }
    match place {
        Some(place) if depth == 0 => Ok((text, place)),
        _ => Err(parser.error(EXPECTED)),
    }
}

#[cfg(test)]
mod tests;
