//! Operators of jsonb, as far as a statement's text shows them. In DuckDB, jsonb is a text.
//!
//! - `->` gets parentheses, because DuckDB gives it the lowest precedence: `j -> 'a' = '5'` would be `j -> ('a' =
//!   '5')`.
//! - `a || b` becomes a call of `jsonb_concat` (`postgres_functions.sql`), and both sides of `=` and `<>` are
//!   normalized, where one operand is cast to jsonb, is a function's jsonb, or is what `->` gives: PostgreSQL has these
//!   operators for jsonb only, and not for json.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Reading, Token, TokenKind};

use super::operands::{Operands, operator};

const CONCAT: &str = "colonnade_catalog.pg.jsonb_concat(";
const NORMALIZE: &str = "system.main.json_normalize(CAST(";
const NORMALIZED: &str = " AS system.main.json))";
/// Functions that give jsonb.
const FUNCTIONS: [&str; 5] = ["to_jsonb", "jsonb_build_object", "jsonb_agg", "jsonb_object_agg", "jsonb_concat"];
const COMPARISONS: [&str; 3] = ["=", "<>", "!="];
/// Words before an operand that is not a part of an expression with operators.
const BEGINNINGS: [&str; 4] = ["select", "distinct", "all", "set"];

/// Adds parentheses around chains of `->` and `->>`.
pub(crate) fn arrows(statement: &Reading<'_>) -> Edits {
    let mut edits = Edits::default();
    if !statement.text().contains("->") {
        return edits;
    }
    let tokens = statement.tokens();
    let operands = Operands::new(tokens);
    let mut done = 0;
    for at in 1..tokens.len() {
        if at < done || !begins_arrow(&operands, at) {
            continue;
        }
        let Some((start, end, is_needed)) = chain(&operands, at) else { continue };
        done = end;
        if is_needed && !is_alone(tokens, start, end) && !follows_operator(tokens, start) {
            edits.insert(tokens[start].start, "(");
            edits.insert(tokens[end - 1].end(), ")");
        }
    }
    edits
}

/// A chain of arrows of which the first is at `at`: its start, its end, and whether it has one with a low precedence.
fn chain(operands: &Operands<'_, '_>, at: usize) -> Option<(usize, usize, bool)> {
    let (start, mut end, mut is_needed) = (operands.start_of_single(at)?, at, false);
    loop {
        let arrow = operator(&operands.tokens[end..]);
        match arrow.as_str() {
            "->" => is_needed = true,
            "->>" => {}
            _ => return Some((start, end, is_needed)),
        }
        end = operands.single(end + arrow.len())?;
    }
}

fn begins_arrow(operands: &Operands<'_, '_>, at: usize) -> bool {
    operands.is_symbol(at, b'-') && matches!(operator(&operands.tokens[at..]).as_str(), "->" | "->>")
}

/// Whether nothing with a higher precedence is beside an expression.
fn is_alone(tokens: &[Token<'_>], start: usize, end: usize) -> bool {
    let ends = tokens.get(end).is_none_or(|next| {
        matches!(next.kind, TokenKind::Symbol(b')' | b',' | b']' | b';')) || next.is_one_of(&["as", "from"])
    });
    let begins = start.checked_sub(1).map(|before| &tokens[before]).is_none_or(|before| {
        matches!(before.kind, TokenKind::Symbol(b'(' | b',' | b'[')) || before.is_one_of(&BEGINNINGS)
    });
    ends && begins
}

/// Whether an operator that PostgreSQL computes first is before an operand.
fn follows_operator(tokens: &[Token<'_>], start: usize) -> bool {
    /// No operator here is longer.
    const LONGEST: usize = 4;
    let first = (0..start).rev().take(LONGEST).take_while(|at| !operator(&tokens[*at..start]).is_empty()).last();
    first.is_some_and(|first| is_higher(&operator(&tokens[first..start])))
}

fn is_higher(operator: &str) -> bool {
    !matches!(operator, "" | "=" | "==" | "<" | ">" | "<=" | ">=" | "<>" | "!=")
}

/// Changes `||`, `=` and `<>` of jsonb.
pub(crate) fn operators(statement: &Reading<'_>) -> Edits {
    let mut edits = Edits::default();
    let mentions = statement.text().as_bytes().windows(5).any(|part| part.eq_ignore_ascii_case(b"jsonb"));
    if !mentions && !statement.text().contains("->") {
        return edits;
    }
    let tokens = statement.tokens();
    let operands = Operands::new(tokens);
    let assignments = assignments(tokens);
    let mut done = 0;
    for at in 1..tokens.len() {
        let is_first = at >= done && matches!(tokens[at].kind, TokenKind::Symbol(b'|' | b'=' | b'<' | b'!'));
        let name = if is_first { operator(&tokens[at..]) } else { String::new() };
        let end = match name.as_str() {
            "||" => concatenation(&operands, at, &mut edits),
            name if COMPARISONS.contains(&name) && !assignments[at] => {
                comparison(&operands, at, at + name.len(), &mut edits)
            }
            _ => None,
        };
        done = end.unwrap_or(done.max(at + name.len()));
    }
    edits
}

/// Changes the concatenations that begin with the one at `at`. Gives their end.
fn concatenation(operands: &Operands<'_, '_>, at: usize, edits: &mut Edits) -> Option<usize> {
    let tokens = operands.tokens;
    let start = operands.start_of_single(at)?;
    let (mut is_jsonb, mut places, mut end) = (is_jsonb(operands, start, at), Vec::new(), at);
    while operator(&tokens[end..]) == "||" {
        let next = operands.single(end + 2)?;
        is_jsonb |= self::is_jsonb(operands, end + 2, next);
        places.push((end, next));
        end = next;
    }
    if is_jsonb && !follows_operator(tokens, start) {
        edits.insert(tokens[start].start, CONCAT.repeat(places.len()));
        for (bars, next) in places {
            edits.replace(tokens[bars].start..tokens[bars + 1].end(), ",");
            edits.insert(tokens[next - 1].end(), ")");
        }
    }
    Some(end)
}

/// Normalizes both sides of a comparison at `at`, whose right side is at `right`. Gives its end.
fn comparison(operands: &Operands<'_, '_>, at: usize, right: usize, edits: &mut Edits) -> Option<usize> {
    let tokens = operands.tokens;
    let (start, end) = (operands.start_of_single(at)?, operands.single(right)?);
    let is_jsonb = is_jsonb(operands, start, at) || is_jsonb(operands, right, end);
    let is_number = |at: usize| tokens[at].kind == TokenKind::Number;
    let is_quantified = tokens[right].is_one_of(&["any", "all", "some"]);
    if !is_jsonb
        || is_quantified
        || is_number(start)
        || is_number(end - 1)
        || follows_operator(tokens, start)
        || is_higher(&operator(&tokens[end..]))
    {
        return None;
    }
    for (start, end) in [(start, at), (right, end)] {
        edits.insert(tokens[start].start, NORMALIZE);
        edits.insert(tokens[end - 1].end(), NORMALIZED);
    }
    Some(end)
}

/// Whether an operand is visibly jsonb.
fn is_jsonb(operands: &Operands<'_, '_>, start: usize, end: usize) -> bool {
    let tokens = &operands.tokens[start..end];
    match tokens {
        [.., colon, name] if colon.is_symbol(b':') => return name.is_name("jsonb"),
        [jsonb, text] if jsonb.is_word("jsonb") => return text.kind == TokenKind::Text,
        [cast, .., as_, name, _] if cast.is_word("cast") && operands.closings[start + 1] == Some(end - 1) => {
            return as_.is_word("as") && name.is_name("jsonb");
        }
        [name, open, ..] if name.is_one_of(&FUNCTIONS) && open.is_symbol(b'(') => {
            return operands.closings[start + 1] == Some(end - 1);
        }
        [open, ..] if open.is_symbol(b'(') && operands.closings[start] == Some(end - 1) => {}
        _ => return false,
    }
    // What is in the parentheses: a chain whose last arrow gives jsonb, or such an operand.
    let (inner, close) = (start + 1, end - 1);
    let Some(mut at) = operands.single(inner).filter(|at| *at <= close) else { return false };
    if at == close {
        return is_jsonb(operands, inner, close);
    }
    loop {
        let arrow = operator(&operands.tokens[at..close]);
        let next = matches!(arrow.as_str(), "->" | "->>").then(|| operands.single(at + arrow.len())).flatten();
        match next {
            Some(next) if next == close => return arrow == "->",
            Some(next) if next < close => at = next,
            _ => return false,
        }
    }
}

/// For each token, whether it is the `=` of SET.
fn assignments(tokens: &[Token<'_>]) -> Vec<bool> {
    const OTHERS: [&str; 8] = ["where", "from", "returning", "when", "select", "on", "values", "do"];
    // For each open bracket, and for what is outside of them, whether a column of SET comes next, or its value.
    let (mut around, mut is_set, mut is_column) = (Vec::new(), false, false);
    let is_assignment = tokens.iter().map(|token| {
        let is_assignment = is_set && is_column && token.is_symbol(b'=');
        match token.kind {
            TokenKind::Symbol(b'(' | b'[' | b'{') => around.push((std::mem::take(&mut is_set), is_column)),
            TokenKind::Symbol(b')' | b']' | b'}') => (is_set, is_column) = around.pop().unwrap_or_default(),
            TokenKind::Symbol(b'=') if is_assignment => is_column = false,
            TokenKind::Symbol(b',') => is_column = is_set,
            TokenKind::Word if token.is_word("set") => (is_set, is_column) = (true, true),
            TokenKind::Word if token.is_one_of(&OTHERS) => is_set = false,
            _ => {}
        }
        is_assignment
    });
    is_assignment.collect()
}

#[cfg(test)]
mod tests {
    use colonnade_sql::Dialect;

    use super::*;

    fn with_arrows(statement: &str) -> String {
        arrows(&Reading::new(statement, Dialect::DuckDb)).apply(statement).text.into_owned()
    }

    fn rewritten(statement: &str) -> String {
        let text = with_arrows(statement);
        operators(&Reading::new(&text, Dialect::DuckDb)).apply(&text).text.into_owned()
    }

    #[test]
    fn arrows_come_before_comparisons() {
        for (given, expected) in [
            ("select 1 where j->'a' is null", "select 1 where (j->'a') is null"),
            ("where not t.j->'a' -> 0->>'b' in ('x')", "where not (t.j->'a' -> 0->>'b') in ('x')"),
            ("where f(x)::json->-1 < '5'", "where (f(x)::json->-1) < '5'"),
            ("where 'x' = j->>'a' and (j->$1::text) is null", "where 'x' = j->>'a' and (j->$1::text) is null"),
            ("select case when j->'a' then j[1]->'b' end", "select case when (j->'a') then (j[1]->'b') end"),
            ("select j->'a' || 'x'", "select (j->'a') || 'x'"),
            ("select 'x' || j->'a', j->'b' from t", "select 'x' || j->'a', j->'b' from t"),
            ("select '->', j->>'a' = 'b'", "select '->', j->>'a' = 'b'"),
        ] {
            let text = with_arrows(given);
            assert_eq!(text, expected, "{given}");
            assert_eq!(with_arrows(&text), expected);
        }
    }

    #[test]
    fn operators_of_jsonb_are_its_own() {
        let same = |left: &str, name: &str, right: &str| {
            format!("{NORMALIZE}{left}{NORMALIZED} {name} {NORMALIZE}{right}{NORMALIZED}")
        };
        for (given, expected) in [
            ("select a || $1::jsonb", format!("select {CONCAT}a , $1::jsonb)")),
            (
                "update t set j = t.j || '{}' || cast(x as JSONB) where a = b",
                format!("update t set j = {CONCAT}{CONCAT}t.j , '{{}}') , cast(x as JSONB)) where a = b"),
            ),
            ("where j = '{}'::jsonb and k = 1", format!("where {} and k = 1", same("j", "=", "'{}'::jsonb"))),
            ("where j->'a' <> $1", format!("where {}", same("(j->'a')", "<>", "$1"))),
            ("where to_jsonb(a) = b", format!("where {}", same("to_jsonb(a)", "=", "b"))),
            ("where jsonb '[1]' <> b", format!("where {}", same("jsonb '[1]'", "<>", "b"))),
            ("update t set k = 1, j = x::jsonb where j = 'y'::jsonb", {
                format!("update t set k = 1, j = x::jsonb where {}", same("j", "=", "'y'::jsonb"))
            }),
        ] {
            assert_eq!(rewritten(given), expected, "{given}");
        }
        for given in [
            "select a || b::jsonb::text, j->>'a' = 'b', x::json = y",
            "select (j->'a') = 5, f(x::jsonb) = g(y)",
            "merge into t using s on a = b when matched then update set j = s.j::jsonb, k = jsonb '1'",
            "insert into t values (1) on conflict (id) do update set j = excluded.j::jsonb",
        ] {
            assert_eq!(rewritten(given), given);
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_statements_never_panic(given in "(->|->>|\\|\\||=|<>|::jsonb|cast\\(|as jsonb|jsonb|set |case | end|[,.()\\[\\]t1'$ ]){0,16}") {
            let _ = rewritten(&given);
        }
    }
}
