//! Cursors: DECLARE, FETCH, MOVE and CLOSE.

use std::ops::Range;

use super::parser::{Parser, SyntaxError};
use crate::TokenKind;

/// A statement about a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorStatement {
    /// DECLARE name CURSOR FOR query.
    Declare {
        /// The cursor's name.
        name: String,
        /// SCROLL: it can go back.
        is_scroll: bool,
        /// BINARY.
        is_binary: bool,
        /// WITH HOLD: it outlives its transaction.
        is_held: bool,
        /// Where the query is.
        query: Range<usize>,
    },
    /// FETCH, or MOVE, which sends nothing.
    Fetch {
        /// The cursor's name.
        name: String,
        /// Which rows.
        direction: FetchDirection,
        /// Whether it is MOVE.
        is_move: bool,
    },
    /// CLOSE; of all if there is no name.
    Close(Option<String>),
}

/// Which rows FETCH gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchDirection {
    /// So many rows after the current one, or before it if the number is negative. 0 is the current row.
    Rows(i64),
    /// All rows after the current one.
    All,
    /// All rows before the current one.
    BackwardAll,
    /// The row with this number, from 1; from the end if it is negative. 0 is before the first row.
    Absolute(i64),
    /// The row so many rows after the current one.
    Relative(i64),
}

/// Reads a statement after its first word.
pub(super) fn read(mut parser: Parser<'_>, verb: &str) -> Result<CursorStatement, SyntaxError> {
    let cursor = match verb {
        "DECLARE" => return declaration(parser),
        "CLOSE" if parser.word("all") => CursorStatement::Close(None),
        "CLOSE" => CursorStatement::Close(Some(name(&mut parser)?)),
        _ => {
            // A cursor may be called like a direction, if nothing else is said.
            let is_name = parser.clone().take_while_some().nth(1).is_none();
            let direction = if is_name { FetchDirection::Rows(1) } else { direction(&mut parser)? };
            if !parser.word("from") {
                parser.word("in");
            }
            CursorStatement::Fetch { name: name(&mut parser)?, direction, is_move: verb == "MOVE" }
        }
    };
    parser.expect_end()?;
    Ok(cursor)
}

fn name(parser: &mut Parser<'_>) -> Result<String, SyntaxError> {
    let name = parser.name().ok_or_else(|| parser.error("the name of a cursor"))?;
    Ok(name.folded().into_owned())
}

fn declaration(mut parser: Parser<'_>) -> Result<CursorStatement, SyntaxError> {
    const QUERIES: [&str; 5] = ["select", "values", "with", "table", "from"];
    let name = name(&mut parser)?;
    let (mut is_scroll, mut is_binary) = (false, false);
    loop {
        if parser.word("no") {
            parser.expect("scroll", "SCROLL")?;
        } else if parser.word("scroll") {
            is_scroll = true;
        } else if parser.word("binary") {
            is_binary = true;
        } else if !parser.word("insensitive") && !parser.word("asensitive") {
            break;
        }
    }
    parser.expect("cursor", "CURSOR")?;
    let is_held = parser.word("with");
    if is_held || parser.word("without") {
        parser.expect("hold", "HOLD")?;
    }
    parser.expect("for", "FOR")?;
    let query = parser.peek().filter(|first| first.is_symbol(b'(') || first.is_one_of(&QUERIES));
    let query = query.ok_or_else(|| parser.error("a query"))?.start..parser.text().len();
    Ok(CursorStatement::Declare { name, is_scroll, is_binary, is_held, query })
}

fn direction(parser: &mut Parser<'_>) -> Result<FetchDirection, SyntaxError> {
    for (word, direction) in [
        ("next", FetchDirection::Rows(1)),
        ("prior", FetchDirection::Rows(-1)),
        ("first", FetchDirection::Absolute(1)),
        ("last", FetchDirection::Absolute(-1)),
    ] {
        if parser.word(word) {
            return Ok(direction);
        }
    }
    if parser.word("absolute") {
        return Ok(FetchDirection::Absolute(number(parser)?.ok_or_else(|| parser.error("the number of a row"))?));
    }
    if parser.word("relative") {
        return Ok(FetchDirection::Relative(number(parser)?.ok_or_else(|| parser.error("a number of rows"))?));
    }
    let is_backward = parser.word("backward");
    if !is_backward {
        parser.word("forward");
    }
    if parser.word("all") {
        return Ok(if is_backward { FetchDirection::BackwardAll } else { FetchDirection::All });
    }
    let count = number(parser)?.unwrap_or(1);
    Ok(FetchDirection::Rows(if is_backward { -count } else { count }))
}

/// A whole number with an optional sign.
fn number(parser: &mut Parser<'_>) -> Result<Option<i64>, SyntaxError> {
    let is_negative = parser.symbol(b'-');
    if !is_negative {
        parser.symbol(b'+');
    }
    let Some(number) = parser.take_if(|token| token.kind == TokenKind::Number) else {
        return if is_negative { Err(parser.error("a whole number of rows")) } else { Ok(None) };
    };
    let number: i64 = number.text.parse().map_err(|_| parser.error("a whole number of rows"))?;
    Ok(Some(if is_negative { -number } else { number }))
}
