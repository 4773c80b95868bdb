//! Finds calls of aggregates with clauses that a macro cannot have: DISTINCT, ORDER BY and FILTER.

use std::ops::Range;

use colonnade_sql::{Dialect, Token, TokenKind, code};

/// A call with such a clause. Places are bytes of the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregateCall {
    /// The schema, if one is written.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
    /// From the name to the parenthesis that opens the arguments.
    pub head: Range<usize>,
    /// DISTINCT.
    pub distinct: Option<Range<usize>>,
    /// The arguments.
    pub arguments: Vec<Range<usize>>,
    /// Behind the last argument.
    pub end: usize,
    /// Whether an argument has the name of its parameter: `f(x => 1)`.
    pub has_names: bool,
}

/// Whether these tokens begin with a name for an argument: `x =>` or `x :=`.
pub(super) fn is_named(argument: &[Token<'_>]) -> bool {
    match argument {
        [name, first, second, ..] => {
            matches!(name.kind, TokenKind::Word | TokenKind::Name)
                && first.end() == second.start
                && (first.is_symbol(b'=') && second.is_symbol(b'>') || first.is_symbol(b':') && second.is_symbol(b'='))
        }
        _ => false,
    }
}

/// The calls of aggregates with such a clause. `is_known` says whether a name may be that of an aggregate in Python.
pub fn aggregate_calls(statement: &str, dialect: Dialect, is_known: impl Fn(&str) -> bool) -> Vec<AggregateCall> {
    let is_called = |window: &[Token<'_>]| window[1].is_symbol(b'(') && is_known(&window[0].folded().to_lowercase());
    let tokens: Vec<_> = code(statement, dialect).collect();
    let calls = tokens.windows(2).enumerate().filter(|(_, window)| is_called(window));
    calls.filter_map(|(at, _)| call(&tokens, at)).collect()
}

/// Whether a text may have such a call. It is decided without looking at all tokens.
pub fn may_call(statement: &str) -> bool {
    let has = |word: &str| {
        let (text, word) = (statement.as_bytes(), word.as_bytes());
        text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
    };
    ["distinct", "filter", "order"].into_iter().any(has)
}

/// The call whose name is the token `at`, if it has such a clause.
fn call(tokens: &[Token<'_>], at: usize) -> Option<AggregateCall> {
    let name = tokens[at];
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    let schema = before(2).filter(|_| before(1).is_some_and(|dot| dot.is_symbol(b'.')));
    let mut found = AggregateCall {
        schema: schema.map(|schema| schema.folded().into_owned()),
        name: name.folded().into_owned(),
        head: schema.map_or(name.start, |schema| schema.start)..tokens[at + 1].end(),
        distinct: None,
        arguments: Vec::new(),
        end: tokens[at + 1].end(),
        has_names: false,
    };
    let (mut depth, mut place, mut start, mut is_ordered) = (1_usize, at + 2, None, false);
    if let Some(distinct) = tokens.get(place).filter(|token| token.is_word("distinct")) {
        found.distinct = Some(distinct.range());
        place += 1;
    }
    while depth > 0 {
        let token = tokens.get(place)?;
        let is_order = depth == 1 && token.is_word("order") && tokens.get(place + 1)?.is_word("by");
        match token.kind {
            TokenKind::Symbol(b'(' | b'[' | b'{') => depth += 1,
            TokenKind::Symbol(b')' | b']' | b'}') => depth -= 1,
            _ => {}
        }
        if depth == 0 || is_order || depth == 1 && token.is_symbol(b',') {
            if !is_ordered && let Some(start) = start.take() {
                found.end = tokens[place - 1].end();
                found.arguments.push(start..found.end);
            }
            is_ordered |= is_order;
        } else if start.is_none() {
            start = Some(token.start);
            found.has_names |= !is_ordered && is_named(&tokens[place..]);
        }
        place += 1;
    }
    let is_filtered = tokens.get(place).is_some_and(|token| token.is_word("filter"))
        && tokens.get(place + 1).is_some_and(|token| token.is_symbol(b'('));
    (found.distinct.is_some() || is_ordered || is_filtered).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(sql: &str) -> Vec<(String, bool, Vec<String>)> {
        let found = aggregate_calls(sql, Dialect::WITH_PYTHON, |name| name == "m" || name == "my m");
        let shown = |call: AggregateCall| {
            let arguments = call.arguments.iter().map(|place| sql[place.clone()].to_owned()).collect();
            (sql[call.head].to_owned(), call.distinct.is_some(), arguments)
        };
        found.into_iter().map(shown).collect()
    }

    #[test]
    fn calls_with_clauses_are_found() {
        let of = |head: &str, distinct: bool, arguments: &[&str]| {
            vec![(head.to_owned(), distinct, arguments.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())]
        };
        assert_eq!(calls("select m(distinct x) from t"), of("m(", true, &["x"]));
        assert_eq!(
            calls("select s . M ( x + f(1, 2), 'a,b' ) filter (where y)"),
            of("s . M (", false, &["x + f(1, 2)", "'a,b'"])
        );
        assert_eq!(calls("select m(x, [1, 2] order by y, z) from t"), of("m(", false, &["x", "[1, 2]"]));
        assert_eq!(calls("select \"My m\"(distinct (select 1)) from t"), of("\"My m\"(", true, &["(select 1)"]));
        assert_eq!(calls("select m(order by y) from t"), of("m(", false, &[]));
        let has_names = |sql: &str| aggregate_calls(sql, Dialect::WITH_PYTHON, |name| name == "m")[0].has_names;
        assert!(has_names("select m(1, x => y order by z)") && has_names("select m(distinct \"x\" := y)"));
        assert!(!has_names("select m(x >= y order by z)") && !has_names("select m(x = > y order by z)"));
        assert!(calls("select m(x), n(distinct x), m(sum(y order by z)) from t order by m(x)").is_empty());
        assert!(calls("select m(distinct x").is_empty() && calls("select 'm(distinct x)'").is_empty());
    }
}
