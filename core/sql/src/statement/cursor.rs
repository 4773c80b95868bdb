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
    /// The next rows: so many, or all.
    Forward(Option<u64>),
    /// Any other, the current one included.
    Other,
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
            let direction = if is_name { FetchDirection::Forward(Some(1)) } else { direction(&mut parser)? };
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
    const ELSEWHERE: [&str; 6] = ["prior", "first", "last", "absolute", "relative", "backward"];
    if parser.word("next") {
        return Ok(FetchDirection::Forward(Some(1)));
    }
    let is_elsewhere = parser.take_if(|token| token.is_one_of(&ELSEWHERE)).is_some();
    if !is_elsewhere {
        parser.word("forward");
    }
    let (is_all, is_negative) = (parser.word("all"), parser.symbol(b'-'));
    let number = if is_all { None } else { parser.take_if(|token| token.kind == TokenKind::Number) };
    let count: u64 = match number {
        Some(number) => number.text.parse().map_err(|_| parser.error("a whole number of rows"))?,
        None => 1,
    };
    Ok(match is_elsewhere || is_negative || count == 0 {
        true => FetchDirection::Other,
        false => FetchDirection::Forward((!is_all).then_some(count)),
    })
}
