//! Rewrites PostgreSQL's qualified operators, such as `OPERATOR(pg_catalog.~)`.
//!
//! Clients write the schema so that no operator of a user is found. DuckDB's operators are functions, and it accepts no
//! qualified ones. So operators for regular expressions between simple operands become calls of DuckDB's own function.
//! Others become plain operators.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind};

use super::casts::Casts;
use super::{SCHEMA, qualifies};

/// Adds the changes of a qualified operator at `at`. Gives the number of tokens that they cover.
pub(super) fn rewrite(tokens: &[Token<'_>], at: usize, casts: &mut Casts<'_, '_>, edits: &mut Edits) -> Option<usize> {
    let rest = &tokens[at..];
    let [operator, open, schema, dot, ..] = rest else { return None };
    if !operator.is_word("operator") || !open.is_symbol(b'(') || !qualifies(schema, dot, SCHEMA) {
        return None;
    }
    let length = rest.iter().position(|token| token.is_symbol(b')')).unwrap_or(rest.len());
    let symbols: String = rest[4..length.max(4)].iter().map(|token| token.text).collect();
    let whole = operator.start..rest[length.min(rest.len() - 1)].end();
    let (before, after) = match symbols.as_str() {
        "~" => ("system.main.regexp_matches(", ")"),
        "~*" => ("system.main.regexp_matches(", ", 'i')"),
        "!~" => ("(NOT system.main.regexp_matches(", "))"),
        "!~*" => ("(NOT system.main.regexp_matches(", ", 'i'))"),
        _ => ("", ""),
    };
    let operands = (!before.is_empty()).then(|| operands(tokens, at, at + length + 1, casts)).flatten();
    if let Some((left, right)) = operands {
        edits.insert(tokens[left].start, before);
        edits.replace(whole, ",");
        edits.insert(tokens[right].end(), after);
    } else {
        edits.replace(whole, symbols);
    }
    Some(length + 1)
}

/// The first token of the operand before the operator at `at`, and the constant at `right`, if these are the whole
/// operands: no operator with the same or a higher precedence is beside them.
fn operands(tokens: &[Token<'_>], at: usize, right: usize, casts: &mut Casts<'_, '_>) -> Option<(usize, usize)> {
    let left = casts.operand(at)?;
    let is_constant = matches!(tokens.get(right)?.kind, TokenKind::Text | TokenKind::Positional);
    let ends = |token: &Token<'_>| {
        matches!(token.kind, TokenKind::Word | TokenKind::Symbol(b'(' | b')' | b',' | b';' | b'[' | b']'))
    };
    let is_alone =
        left.checked_sub(1).is_none_or(|before| ends(&tokens[before])) && tokens.get(right + 1).is_none_or(ends);
    (is_constant && is_alone).then_some((left, right))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn operators_are_those_of_the_engine() {
        for (given, expected) in [
            (
                "where c.relname OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default and x",
                "where system.main.regexp_matches(c.relname , '^(t)$')  and x",
            ),
            (
                "(pg_catalog.lower(a) operator( pg_catalog.!~* ) $1)",
                "((NOT system.main.regexp_matches(system.main.lower(a) , $1, 'i')))",
            ),
            ("a::text operator(pg_catalog.!~) 'b'", "(NOT system.main.regexp_matches(a::text , 'b'))"),
            ("a || b OPERATOR(pg_catalog.~) 'c'", "a || b ~ 'c'"),
            ("a OPERATOR(pg_catalog.~) 'c' || d", "a ~ 'c' || d"),
            ("a OPERATOR(pg_catalog.~) b", "a ~ b"),
            ("x OPERATOR(pg_catalog.!~~) y", "x !~~ y"),
            ("OPERATOR(pg_catalog.~) 'b'", "~ 'b'"),
            ("operator(pg_catalog.", ""),
            ("operator(mine.~)", "operator(mine.~)"),
        ] {
            assert_eq!(rewritten(given), expected, "{given}");
        }
    }
}
