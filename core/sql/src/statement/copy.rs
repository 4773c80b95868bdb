//! COPY: what is copied, where, and the options in the notations of all of PostgreSQL's versions.

use std::ops::Range;

use super::parser::{Parser, SyntaxError};
use super::spool::{self, PartSource};
use crate::{Dialect, Token, TokenKind};

/// A COPY statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyStatement {
    /// Rows to the client.
    ToStdout(CopySource, Vec<CopyOption>),
    /// Rows from the client.
    FromStdin {
        /// The table's name.
        table: Range<usize>,
        /// The columns' names; `None` for all.
        columns: Option<Range<usize>>,
        /// The options; `None` if there is a WHERE.
        options: Option<Vec<CopyOption>>,
    },
    /// Between the database and a file.
    Other,
}

/// Where the rows come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopySource {
    /// A query, without its parentheses.
    Query(Range<usize>),
    /// A table.
    Table {
        /// Its name.
        table: Range<usize>,
        /// The columns' names; `None` for all.
        columns: Option<Range<usize>>,
    },
    /// A part of a spooled result.
    Part(PartSource),
}

/// An option as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOption {
    /// Its name, in lower case unless quoted.
    pub name: String,
    /// Its value.
    pub value: OptionValue,
}

/// The value of an option as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// None at all.
    None,
    /// `*`
    All,
    /// A word, a number or a string.
    Text(String),
    /// Names in parentheses.
    List(Vec<String>),
}

/// Reads a statement after COPY. The query may be written in a dialect that is not known well; then it reaches to the
/// last parenthesis that TO STDOUT and options follow.
pub(super) fn read(parser: Parser<'_>, text: &str, dialect: Dialect) -> Result<CopyStatement, SyntaxError> {
    let is_query = parser.peek().is_some_and(|first| first.is_symbol(b'('));
    if dialect != Dialect::DuckDb
        && is_query
        && let Some(copy) = passed(parser.clone(), text)
    {
        return Ok(copy);
    }
    copy(parser)
}

fn copy(mut parser: Parser<'_>) -> Result<CopyStatement, SyntaxError> {
    // DuckDB's COPY FROM DATABASE.
    if parser.is_next("from") {
        return Ok(CopyStatement::Other);
    }
    let source = source(&mut parser)?;
    if parser.word("from") {
        return Ok(match source {
            CopySource::Table { table, columns } if parser.word("stdin") => {
                let has_condition = parser.clone().take_while_some().any(|token| token.is_word("where"));
                let options = if has_condition { None } else { Some(options(parser)?) };
                CopyStatement::FromStdin { table, columns, options }
            }
            _ => CopyStatement::Other,
        });
    }
    let is_to_client = parser.word("to") && parser.word("stdout");
    if is_to_client { Ok(CopyStatement::ToStdout(source, options(parser)?)) } else { Ok(CopyStatement::Other) }
}

fn passed(mut parser: Parser<'_>, text: &str) -> Option<CopyStatement> {
    /// Options have no more parentheses.
    const MOST: usize = 64;
    parser.take();
    text.rmatch_indices(')').map(|(close, _)| close).take_while(|close| *close >= parser.end).take(MOST).find_map(
        |close| {
            let mut tail = Parser::new(text.get(close + 1..)?, Dialect::POSTGRES);
            let options = (tail.word("to") && tail.word("stdout")).then(|| options(tail))?.ok()?;
            Some(CopyStatement::ToStdout(CopySource::Query(parser.end..close), options))
        },
    )
}

/// `(query)`, `table [(columns)]`, or `colonnade_part(ticket, part)`.
fn source(parser: &mut Parser<'_>) -> Result<CopySource, SyntaxError> {
    if parser.symbol(b'(') {
        return Ok(CopySource::Query(parenthesis(parser)?));
    }
    let first = parser.name().ok_or_else(|| parser.error("a table or a query in parentheses"))?;
    if first.is_name("colonnade_part")
        && let Some(part) = spool::part(parser)
    {
        return part.map(CopySource::Part);
    }
    while parser.symbol(b'.') {
        parser.name().ok_or_else(|| parser.error("a name"))?;
    }
    let table = first.start..parser.end;
    let columns = if parser.symbol(b'(') { Some(parenthesis(parser)?) } else { None };
    Ok(CopySource::Table { table, columns })
}

/// The inside of a parenthesis whose opening has just been taken.
fn parenthesis(parser: &mut Parser<'_>) -> Result<Range<usize>, SyntaxError> {
    let start = parser.end;
    if parser.closes() { Ok(start..parser.end - 1) } else { Err(parser.error("a closing parenthesis")) }
}

/// `[WITH] (name value, …)`, or the options of old, `[WITH] CSV HEADER DELIMITER ','`; and nothing after them.
fn options(mut parser: Parser<'_>) -> Result<Vec<CopyOption>, SyntaxError> {
    // Even older: `[USING] DELIMITERS ','` before WITH.
    let mut options = Vec::new();
    if parser.is_next("using") || parser.is_next("delimiters") {
        parser.word("using");
        parser.expect("delimiters", "DELIMITERS")?;
        options.push(old_text(&mut parser, "delimiter")?);
    }
    parser.word("with");
    if parser.symbol(b'(') {
        loop {
            options.push(option(&mut parser)?);
            if parser.symbol(b')') {
                break;
            }
            if !parser.symbol(b',') {
                return Err(parser.error("\",\" or \")\""));
            }
        }
    } else {
        while parser.peek().is_some() {
            options.push(old_option(&mut parser)?);
        }
    }
    parser.expect_end()?;
    Ok(options)
}

fn option(parser: &mut Parser<'_>) -> Result<CopyOption, SyntaxError> {
    let name = parser.name().ok_or_else(|| parser.error("the name of an option"))?.folded().into_owned();
    let value = match parser.peek().map(|next| next.kind) {
        Some(TokenKind::Symbol(b',' | b')')) => OptionValue::None,
        Some(TokenKind::Symbol(b'*')) => {
            parser.take();
            OptionValue::All
        }
        Some(TokenKind::Symbol(b'(')) => {
            parser.take();
            OptionValue::List(names(parser)?)
        }
        Some(TokenKind::Symbol(sign @ (b'-' | b'+'))) => {
            parser.take();
            let number =
                parser.take_if(|token| token.kind == TokenKind::Number).ok_or_else(|| parser.error("a number"))?;
            OptionValue::Text(format!("{}{}", char::from(sign), number.text))
        }
        _ => {
            let is_value = |token: &Token<'_>| !matches!(token.kind, TokenKind::Symbol(_));
            let value = parser.take_if(is_value).ok_or_else(|| parser.error("the value of an option"))?;
            OptionValue::Text(text(&value, parser.dialect))
        }
    };
    Ok(CopyOption { name, value })
}

/// What a string holds; a word in lower case, a number as it is written.
fn text(token: &Token<'_>, dialect: Dialect) -> String {
    token.string(dialect).unwrap_or_else(|| token.folded()).into_owned()
}

/// `a, b)` after an opening parenthesis.
fn names(parser: &mut Parser<'_>) -> Result<Vec<String>, SyntaxError> {
    let mut names = Vec::new();
    loop {
        let is_name = |token: &Token<'_>| !matches!(token.kind, TokenKind::Symbol(_));
        let name = parser.take_if(is_name).ok_or_else(|| parser.error("a name"))?;
        names.push(text(&name, parser.dialect));
        if parser.symbol(b')') {
            return Ok(names);
        }
        if !parser.symbol(b',') {
            return Err(parser.error("\",\" or \")\""));
        }
    }
}

fn old_option(parser: &mut Parser<'_>) -> Result<CopyOption, SyntaxError> {
    const WORDS: [&str; 9] = ["binary", "csv", "header", "delimiter", "null", "quote", "escape", "encoding", "force"];
    let Some(keyword) = parser.take_if(|token| token.is_one_of(&WORDS)) else {
        return Err(parser.error("a COPY option"));
    };
    let name = keyword.text.to_ascii_lowercase();
    match name.as_str() {
        "binary" | "csv" => Ok(CopyOption { name: "format".to_owned(), value: OptionValue::Text(name) }),
        "header" => Ok(CopyOption { name, value: OptionValue::None }),
        "force" => {
            let name = if parser.word("not") {
                parser.expect("null", "NULL")?;
                "force_not_null"
            } else if parser.word("null") {
                "force_null"
            } else {
                parser.expect("quote", "QUOTE, NULL or NOT NULL")?;
                "force_quote"
            };
            let value = if parser.symbol(b'*') { OptionValue::All } else { OptionValue::List(old_names(parser)?) };
            Ok(CopyOption { name: name.to_owned(), value })
        }
        _ => old_text(parser, &name),
    }
}

fn old_text(parser: &mut Parser<'_>, name: &str) -> Result<CopyOption, SyntaxError> {
    parser.word("as");
    let value = parser.take_if(|token| token.kind == TokenKind::Text).ok_or_else(|| parser.error("a string"))?;
    Ok(CopyOption { name: name.to_owned(), value: OptionValue::Text(text(&value, parser.dialect)) })
}

fn old_names(parser: &mut Parser<'_>) -> Result<Vec<String>, SyntaxError> {
    let mut names = Vec::new();
    loop {
        let name = parser.name().ok_or_else(|| parser.error("a column"))?;
        names.push(name.folded().into_owned());
        if !parser.symbol(b',') {
            return Ok(names);
        }
    }
}
