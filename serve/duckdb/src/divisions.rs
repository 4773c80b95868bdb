//! Divisions of a number by zero, which are errors in PostgreSQL (22012). DuckDB's `%` and `//` give this error, but its
//! `/` gives infinity, unless the session sets `ieee_floating_point_ops` to false.
//!
//! In `1 / 0`, and in `1 / $1` if the parameter is zero, the divisor becomes `(0 + 0 % 0)`. It is the error when it is
//! computed, and leaves the quotient its type. The dividend must be a number: a NULL divided by zero is NULL.

use colonnade_server::Parameter;
use colonnade_server::parameter::ParameterValue;
use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, Reading, Token, TokenKind};

/// The changes of a statement without regard to its parameters.
pub(crate) fn edits(statement: &Reading<'_>) -> Edits {
    of(statement, |divisor| divisor.kind == TokenKind::Number && divisor.fault.is_none() && is_zero(divisor.text))
}

/// The changes of a statement with these values of its parameters.
pub(crate) fn of_parameters(statement: &str, parameters: &[Parameter]) -> Edits {
    let is_zero = |value: &ParameterValue| matches!(value, ParameterValue::Text(text) if is_zero(text.trim()));
    let zeros: Vec<_> = parameters.iter().filter(|parameter| is_zero(&parameter.value)).collect();
    if zeros.is_empty() {
        return Edits::default();
    }
    of(&Reading::new(statement, Dialect::DuckDb), |divisor| {
        let number = divisor.placeholder().and_then(|number| number.parse().ok());
        number.is_some_and(|number: usize| zeros.iter().any(|parameter| parameter.number == number))
    })
}

fn of(statement: &Reading<'_>, is_zero: impl Fn(&Token<'_>) -> bool) -> Edits {
    let mut edits = Edits::default();
    if !statement.text().contains('/') {
        return edits;
    }
    let tokens = statement.tokens();
    for (at, group) in tokens.windows(3).enumerate() {
        let [dividend, slash, divisor] = group else { continue };
        let is_division = dividend.kind == TokenKind::Number && slash.is_symbol(b'/') && is_zero(divisor);
        if is_division && begins(&tokens[..at]) && ends(&tokens[at + 3..]) {
            edits.insert(divisor.start, "(");
            edits.insert(divisor.end(), " + 0 % 0)");
        }
    }
    edits
}

/// Whether a number is all of an operand, after these tokens: no operator before it takes it first.
fn begins(before: &[Token<'_>]) -> bool {
    let is_operator = |token: &Token<'_>| matches!(token.kind, TokenKind::Symbol(symbol) if !matches!(symbol, b'(' | b')' | b',' | b']'));
    match before {
        // A sign, or an operator that takes the quotient.
        [rest @ .., sign] if sign.is_symbol(b'-') || sign.is_symbol(b'+') => !rest.last().is_some_and(is_operator),
        _ => !before.last().is_some_and(is_operator),
    }
}

/// Whether a number is all of an operand, before these tokens: no operator after it takes it first.
fn ends(after: &[Token<'_>]) -> bool {
    let is_power = matches!(after, [first, second, ..] if first.is_symbol(b'*') && second.is_symbol(b'*'));
    let is_end = |token: &Token<'_>| {
        let symbols = matches!(token.kind, TokenKind::Symbol(b')' | b',' | b';' | b']'));
        let operators =
            matches!(token.kind, TokenKind::Symbol(b'+' | b'-' | b'*' | b'/' | b'%' | b'=' | b'<' | b'>' | b'|'));
        token.kind == TokenKind::Word || symbols || operators
    };
    after.first().is_none_or(is_end) && !is_power
}

/// Whether a text is a number that is zero: `0`, `-0.00`, `0e5`.
fn is_zero(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    digits.contains('0')
        && digits.bytes().all(|byte| matches!(byte, b'0' | b'.'))
        && !exponent.is_empty()
        && exponent.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use colonnade_server::value::types::Type;

    use super::*;

    fn rewritten(statement: &str) -> String {
        edits(&Reading::new(statement, Dialect::DuckDb)).apply(statement).text.into_owned()
    }

    #[test]
    fn a_number_divided_by_zero_is_an_error() {
        for (given, expected) in [
            ("select 1/0", "select 1/(0 + 0 % 0)"),
            ("SELECT -1 / 0.00 as a", "SELECT -1 / (0.00 + 0 % 0) as a"),
            ("select f(1.5/0e1, 2)", "select f(1.5/(0e1 + 0 % 0), 2)"),
            ("select case when a then 1 / 0 + 2 end", "select case when a then 1 / (0 + 0 % 0) + 2 end"),
            ("select (1/0)::int", "select (1/(0 + 0 % 0))::int"),
            ("select a - 1/0", "select a - 1/(0 + 0 % 0)"),
        ] {
            assert_eq!(rewritten(given), expected);
        }
    }

    #[test]
    fn other_divisions_stay() {
        for statement in [
            "select 1/2, 1//0, 1 % 0, 10/0.5, 1/0x10",
            "select a/0, null/0, (1)/0, f(1)/0",
            "select a * 1/0, a * -1/0, 2^1/0, a || 1/0, .1/0, a -> 1/0",
            "select 1/0 ^ 0, 1/0 ** 0, 1/0::int ^ 0, 1/0[1]",
            "select '1/0', \"1/0\", 1 -- /0",
            "select 1/$1",
        ] {
            assert_eq!(rewritten(statement), statement);
        }
    }

    #[test]
    fn a_parameter_may_be_zero() {
        let with = |statement: &str, values: &[&str]| {
            let parameter = |(at, text): (usize, &&str)| Parameter {
                number: at + 1,
                type_: Type::text(),
                value: ParameterValue::Text((*text).to_owned()),
            };
            let parameters: Vec<_> = values.iter().enumerate().map(parameter).collect();
            of_parameters(statement, &parameters).apply(statement).text.into_owned()
        };
        assert_eq!(with("select 1 / $1, 1 / $2", &["0", "1"]), "select 1 / ($1 + 0 % 0), 1 / $2");
        assert_eq!(with("select 1 / $1", &["-0.0"]), "select 1 / ($1 + 0 % 0)");
        for (statement, value) in [("select 1 / $1", "a"), ("select 1 / $1", ""), ("select $1 / $1", "0")] {
            assert_eq!(with(statement, &[value]), statement);
        }
    }
}
