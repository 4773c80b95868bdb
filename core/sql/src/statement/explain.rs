//! EXPLAIN, and EXPLAIN (INPUTS …), which gives the inputs of a function in Python.

use std::ops::Range;

use super::function::{DroppedFunction, dropped_function};
use super::parser::{Parser, SyntaxError};
use crate::{Dialect, TokenKind};

/// `EXPLAIN (INPUTS name [, CALL n] [, SAMPLE n [ROWS | GROUPS] [, SEED n]]) query`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainInputs {
    /// The function.
    pub function: DroppedFunction,
    /// Which of the query's calls, from 1.
    pub call: u32,
    /// How much of the inputs.
    pub sample: Option<InputSample>,
    /// The beginning of the sample's random numbers.
    pub seed: Option<u64>,
    /// The query, in bytes of the statement.
    pub query: Range<usize>,
}

/// SAMPLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputSample {
    /// The number of rows or groups.
    pub count: u32,
    /// GROUPS: whole groups of an aggregate.
    pub by_groups: bool,
}

/// Reads a statement after EXPLAIN; `None` if it does not ask for inputs.
pub(super) fn inputs(mut parser: Parser<'_>) -> Option<Result<ExplainInputs, SyntaxError>> {
    let asks = parser.dialect == Dialect::WITH_PYTHON && parser.symbol(b'(') && parser.word("inputs");
    asks.then(|| read(parser))
}

fn read(mut parser: Parser<'_>) -> Result<ExplainInputs, SyntaxError> {
    let function = dropped_function(&mut parser)?;
    let (mut call, mut sample, mut seed) = (None, None, None);
    while !parser.symbol(b')') {
        if !parser.symbol(b',') {
            return Err(parser.error("\",\" or \")\""));
        }
        if call.is_none() && parser.word("call") {
            call = Some(number(&mut parser, 1)?);
        } else if sample.is_none() && parser.word("sample") {
            let count = number(&mut parser, 1)?;
            let by_groups = parser.word("groups");
            if !by_groups {
                parser.word("rows");
            }
            sample = Some(InputSample { count, by_groups });
        } else if seed.is_none() && parser.word("seed") {
            seed = Some(number(&mut parser, 0)?);
        } else {
            return Err(parser.error("CALL, SAMPLE or SEED, each once"));
        }
    }
    let start = parser.peek().ok_or_else(|| parser.error("a query"))?.start;
    if seed.is_some() && sample.is_none() {
        return Err(parser.error("SAMPLE, which SEED needs"));
    }
    let query = start..parser.text().len();
    Ok(ExplainInputs { function, call: call.unwrap_or(1), sample, seed, query })
}

/// A whole number of at least this.
fn number<T: std::str::FromStr + PartialOrd>(parser: &mut Parser<'_>, least: T) -> Result<T, SyntaxError> {
    let error = parser.error("a whole number");
    let token = parser.take_if(|token| token.kind == TokenKind::Number).ok_or_else(|| error.clone())?;
    token.text.parse().ok().filter(|number| *number >= least).ok_or(error)
}

/// Whether EXPLAIN runs its statement. A parenthesis that begins a query is taken for one of options.
pub(super) fn runs(mut parser: Parser<'_>) -> bool {
    loop {
        if parser.word("analyze") {
            return true;
        }
        if parser.symbol(b'(') {
            return parser
                .take_while_some()
                .take_while(|token| !token.is_symbol(b')'))
                .any(|token| token.is_word("analyze"));
        }
        if !parser.word("verbose") {
            return false;
        }
    }
}
