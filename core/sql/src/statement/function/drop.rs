//! DROP FUNCTION and DROP AGGREGATE, and COMMENT ON a function.

use super::{CommentOnFunction, DropFunction, DroppedFunction, FunctionSyntaxError, name, type_name};
use crate::statement::SyntaxError;
use crate::statement::parser::Parser;
use crate::{Token, TokenKind};

/// Reads a statement after DROP; `None` if it drops something else.
pub(in crate::statement) fn drop(mut parser: Parser<'_>) -> Option<Result<DropFunction, FunctionSyntaxError>> {
    let is_aggregate = parser.word("aggregate");
    if !is_aggregate && !parser.word("function") {
        return None;
    }
    Some(functions(parser, is_aggregate).map_err(FunctionSyntaxError::from))
}

fn functions(mut parser: Parser<'_>, is_aggregate: bool) -> Result<DropFunction, SyntaxError> {
    let if_exists = parser.word("if");
    if if_exists {
        parser.expect("exists", "EXISTS")?;
    }
    let mut functions = Vec::new();
    loop {
        functions.push(function(&mut parser)?);
        if !parser.symbol(b',') {
            break;
        }
    }
    let cascades = parser.word("cascade");
    if !cascades {
        parser.word("restrict");
    }
    parser.expect_end()?;
    Ok(DropFunction { is_aggregate, if_exists, functions, cascades })
}

/// A function's name, and the types of its parameters. The parameters may have names and defaults.
pub(in crate::statement) fn function(parser: &mut Parser<'_>) -> Result<DroppedFunction, SyntaxError> {
    let name = name(parser)?;
    if !parser.symbol(b'(') {
        return Ok(DroppedFunction { name, types: None });
    }
    let mut types = Vec::new();
    if parser.symbol(b'*') {
        types.push("*".to_owned());
    } else if !parser.peek().is_some_and(|next| next.is_symbol(b')')) {
        loop {
            parser.word("in");
            types.push(type_name(parser, &["default"])?.0);
            if parser.word("default") || parser.symbol(b'=') {
                while parser.take_if(|token| !token.is_symbol(b',') && !token.is_symbol(b')')).is_some() {}
            }
            if !parser.symbol(b',') {
                break;
            }
        }
    }
    if !parser.symbol(b')') {
        return Err(parser.error("a comma or a parenthesis"));
    }
    Ok(DroppedFunction { name, types: Some(types) })
}

/// Reads a statement after COMMENT; `None` if it is about something else, or not as its grammar says.
pub(in crate::statement) fn comment(mut parser: Parser<'_>) -> Option<CommentOnFunction> {
    let word = parser.word("on").then(|| parser.take_if(|token| token.is_one_of(&["function", "aggregate", "macro"])));
    let is_aggregate = word.flatten()?.is_word("aggregate");
    let function = function(&mut parser).ok()?;
    parser.expect("is", "IS").ok()?;
    let value = parser.take_if(|token: &Token<'_>| token.kind == TokenKind::Text || token.is_word("null"))?;
    let text = match value.kind {
        TokenKind::Text => Some(value.string(parser.dialect)?.into_owned()),
        _ => None,
    };
    parser.expect_end().ok()?;
    Some(CommentOnFunction { is_aggregate, function, text })
}
