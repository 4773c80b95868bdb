//! The head of CREATE FUNCTION: the name, the parameters, and what is returned.

use super::clauses::Clauses;
use super::{CreateFunction, FunctionParameter, FunctionResult, FunctionSyntaxError, name, type_name};
use crate::TokenKind;
use crate::statement::parser::Parser;

/// Words behind which a result's type ends.
const CLAUSES: [&str; 17] = [
    "language",
    "as",
    "immutable",
    "stable",
    "volatile",
    "strict",
    "returns",
    "called",
    "parallel",
    "parameter",
    "scalar",
    "cost",
    "rows",
    "security",
    "set",
    "external",
    "window",
];

/// Reads a statement after CREATE; `None` if it creates something else, or is DuckDB's CREATE FUNCTION, which is a
/// macro in SQL.
pub(in crate::statement) fn create(mut parser: Parser<'_>) -> Option<Result<CreateFunction, FunctionSyntaxError>> {
    let or_replace = parser.word("or") && parser.word("replace");
    let is_aggregate = parser.word("aggregate");
    if !is_aggregate && !parser.word("function") {
        return None;
    }
    if !is_aggregate && is_macro(parser.clone()) {
        return None;
    }
    Some(function(parser, or_replace, is_aggregate))
}

/// Whether AS follows the parameters, and no language.
fn is_macro(mut parser: Parser<'_>) -> bool {
    while parser.take_if(|token| !token.is_symbol(b'(')).is_some() {}
    parser.symbol(b'(')
        && parser.closes()
        && parser.is_next("as")
        && !parser.take_while_some().any(|token| token.is_word("language"))
}

fn function(
    mut parser: Parser<'_>,
    or_replace: bool,
    is_aggregate: bool,
) -> Result<CreateFunction, FunctionSyntaxError> {
    let name = name(&mut parser)?;
    if !parser.symbol(b'(') {
        return Err(parser.error("the parameters in parentheses").into());
    }
    let parameters = parameters(&mut parser)?;
    parser.expect("returns", "RETURNS and a type")?;
    let returns = returns(&mut parser)?;
    let clauses = Clauses::read(&mut parser)?;
    Ok(CreateFunction {
        or_replace,
        is_aggregate,
        name,
        parameters,
        returns,
        language: clauses.language.ok_or_else(|| parser.error("LANGUAGE PYTHON or LANGUAGE PYTHON_MAP"))?,
        body: clauses.body.ok_or_else(|| parser.error("AS and the body in dollar quotes"))?,
        volatility: clauses.volatility,
        is_strict: clauses.is_strict.unwrap_or(false),
        parallel: clauses.parallel,
        is_arrow: clauses.is_arrow.unwrap_or(false),
        scalars: clauses.scalars.unwrap_or_default(),
    })
}

/// The parameters behind the parenthesis that opens their list.
fn parameters(parser: &mut Parser<'_>) -> Result<Option<Vec<FunctionParameter>>, FunctionSyntaxError> {
    if parser.symbol(b'*') {
        return if parser.symbol(b')') { Ok(None) } else { Err(parser.error("a parenthesis behind the *").into()) };
    }
    let mut found = Vec::new();
    if parser.symbol(b')') {
        return Ok(Some(found));
    }
    loop {
        found.push(parameter(parser)?);
        if parser.symbol(b')') {
            return Ok(Some(found));
        }
        if !parser.symbol(b',') {
            return Err(parser.error("a comma or a parenthesis").into());
        }
    }
}

fn parameter(parser: &mut Parser<'_>) -> Result<FunctionParameter, FunctionSyntaxError> {
    if let Some(mode) = parser.peek().filter(|token| token.is_one_of(&["out", "inout", "variadic"])) {
        // A parameter may be called so: a type follows its name, and a name a mode.
        let mut ahead = parser.clone();
        ahead.take();
        if ahead.name().is_some() && ahead.name().is_some() {
            let position = parser.error("").position;
            let hint = match mode.is_word("variadic") {
                true => "Write (*) for any number of arguments.",
                false => "Write RETURNS TABLE (name type, …) for several results.",
            };
            return Err(FunctionSyntaxError::Unsupported {
                what: "a parameter OUT, INOUT or VARIADIC",
                hint,
                position,
            });
        }
    }
    if parser.is_next("in") {
        parser.take();
    }
    const EXPECTED: &str = "a parameter: a name and a type";
    let error = parser.error(EXPECTED);
    let token = parser.name().ok_or_else(|| error.clone())?;
    token.name().ok_or(error)?;
    let (type_, place) = match type_name(parser, &["default"]) {
        Ok(found) => found,
        Err(_) => return Err(parser.error(EXPECTED).into()),
    };
    let default = if parser.word("default") || parser.symbol(b'=') { Some(constant(parser)?) } else { None };
    Ok(FunctionParameter { name: token.folded().into_owned(), type_, default, place })
}

/// A number, a string, TRUE, FALSE or NULL, or a type and a string.
fn constant(parser: &mut Parser<'_>) -> Result<String, FunctionSyntaxError> {
    const EXPECTED: &str = "a constant: a number, a string, TRUE, FALSE or NULL";
    let sign = parser.take_if(|token| token.is_symbol(b'-') || token.is_symbol(b'+'));
    let error = parser.error(EXPECTED);
    let mut text = String::new();
    // `.5` is two tokens.
    let point = parser.symbol(b'.');
    let token = parser.take().filter(|token| token.fault.is_none()).ok_or_else(|| error.clone())?;
    match token.kind {
        TokenKind::Number => {
            text.extend(sign.map(|sign| sign.text));
            text.push_str(if point { "." } else { "" });
            text.push_str(token.text);
        }
        TokenKind::Text if sign.is_none() && !point => text.push_str(token.text),
        TokenKind::Word if sign.is_none() && !point => {
            text.push_str(token.text);
            let string = parser.take_if(|next| next.kind == TokenKind::Text && next.fault.is_none());
            match string {
                Some(string) => text.extend([" ", string.text]),
                None if token.is_one_of(&["true", "false", "null"]) => {}
                None => return Err(error.into()),
            }
        }
        _ => return Err(error.into()),
    }
    Ok(text)
}

fn returns(parser: &mut Parser<'_>) -> Result<FunctionResult, FunctionSyntaxError> {
    if parser.is_next("setof") {
        return Err(FunctionSyntaxError::Unsupported {
            what: "RETURNS SETOF",
            hint: "Write RETURNS TABLE (name type, …).",
            position: parser.error("").position,
        });
    }
    if !parser.word("table") {
        let (type_, place) = type_name(parser, &CLAUSES)?;
        return Ok(FunctionResult::Type(type_, place));
    }
    if !parser.symbol(b'(') {
        return Err(parser.error("the columns in parentheses").into());
    }
    if parser.symbol(b'*') {
        let is_whole = parser.symbol(b')');
        return if is_whole { Ok(FunctionResult::AnyTable) } else { Err(parser.error("a parenthesis").into()) };
    }
    let mut columns = Vec::new();
    loop {
        let error = parser.error("a column: a name and a type");
        let token = parser.name().ok_or_else(|| error.clone())?;
        token.name().ok_or(error)?;
        let (type_, place) = type_name(parser, &[])?;
        columns.push((token.folded().into_owned(), type_, place));
        if parser.symbol(b')') {
            return Ok(FunctionResult::Table(columns));
        }
        if !parser.symbol(b',') {
            return Err(parser.error("a comma or a parenthesis").into());
        }
    }
}
