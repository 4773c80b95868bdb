//! Finds calls of aggregates with clauses that a macro cannot have: DISTINCT, ORDER BY and FILTER.

use std::ops::Range;

use colonnade_sql::{Dialect, Token, TokenKind, closings, code};

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
    /// Behind the call and its clauses, if it is a whole item of a SELECT list and has no alias.
    pub alias_at: Option<usize>,
}

/// The words after a SELECT list.
pub const AFTER_LIST: [&str; 14] = [
    "from",
    "where",
    "group",
    "having",
    "window",
    "qualify",
    "order",
    "limit",
    "offset",
    "fetch",
    "union",
    "intersect",
    "except",
    "using",
];

/// Whether these tokens begin with a name for an argument: `x =>` or `x :=`.
pub(super) fn is_named(argument: &[Token<'_>]) -> bool {
    match argument {
        [name, first, second, ..] => {
            name.is_identifier()
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
    let (items, closings) = (begins_item(&tokens), closings(&tokens));
    calls.filter_map(|(at, _)| call(&tokens, at, &items, &closings)).collect()
}

/// For each token, whether it is the first one of an item of a SELECT list. An item after DISTINCT ON is not found.
fn begins_item(tokens: &[Token<'_>]) -> Vec<bool> {
    // For each open bracket, whether its tokens are those of a SELECT list.
    let mut lists = vec![false];
    let mut begins = false;
    let found = tokens.iter().map(|token| {
        let is_first = begins;
        let in_list = lists.last().is_some_and(|in_list| *in_list);
        begins = match token.kind {
            TokenKind::Symbol(b'(' | b'[' | b'{') => {
                lists.push(false);
                false
            }
            TokenKind::Symbol(b')' | b']' | b'}') => {
                lists.pop();
                false
            }
            TokenKind::Symbol(b',') => in_list,
            TokenKind::Word if token.is_word("select") => {
                lists.pop();
                lists.push(true);
                true
            }
            TokenKind::Word if is_first && (token.is_word("distinct") || token.is_word("all")) => true,
            TokenKind::Word if AFTER_LIST.iter().any(|word| token.is_word(word)) => {
                lists.pop();
                lists.push(false);
                false
            }
            _ => false,
        };
        is_first
    });
    found.collect()
}

/// Where an alias goes behind a call whose closing parenthesis is before `place`, if there is none.
fn alias_at(tokens: &[Token<'_>], mut place: usize, closings: &[Option<usize>]) -> Option<usize> {
    for clause in ["filter", "over"] {
        if tokens.get(place).is_some_and(|token| token.is_word(clause)) {
            let is_name = tokens.get(place + 1).is_some_and(|token| !token.is_symbol(b'('));
            let close = closings.get(place + 1).copied().flatten();
            place = if is_name { place + 2 } else { close.map_or(tokens.len(), |close| close + 1) };
        }
    }
    let ends = |token: &Token<'_>| match token.kind {
        TokenKind::Symbol(symbol) => matches!(symbol, b',' | b')' | b';'),
        TokenKind::Word => AFTER_LIST.iter().any(|word| token.is_word(word)),
        _ => false,
    };
    let last = tokens.get(place.checked_sub(1)?)?;
    tokens.get(place).is_none_or(ends).then(|| last.end())
}

/// Whether a text may have such a call. It is decided without looking at all tokens.
pub fn may_call(statement: &str) -> bool {
    let has = |word: &str| {
        let (text, word) = (statement.as_bytes(), word.as_bytes());
        text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
    };
    ["distinct", "filter", "order"].into_iter().any(has)
}

/// The call whose name is the token `at`, if it has such a clause. Brackets within its arguments are skipped, so that
/// the time for calls in calls is linear.
fn call(tokens: &[Token<'_>], at: usize, items: &[bool], closings: &[Option<usize>]) -> Option<AggregateCall> {
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
        alias_at: None,
    };
    let close = closings[at + 1]?;
    let (mut place, mut start, mut is_ordered) = (at + 2, None, false);
    if let Some(distinct) = tokens.get(place).filter(|token| token.is_word("distinct")) {
        found.distinct = Some(distinct.range());
        place += 1;
    }
    while place <= close {
        let token = &tokens[place];
        let is_order = token.is_word("order") && tokens[place + 1].is_word("by");
        if place == close || is_order || token.is_symbol(b',') {
            if !is_ordered && let Some(start) = start.take() {
                found.end = tokens[place - 1].end();
                found.arguments.push(start..found.end);
            }
            is_ordered |= is_order;
        } else if start.is_none() {
            start = Some(token.start);
            found.has_names |= !is_ordered && is_named(&tokens[place..]);
        }
        place = closings[place].unwrap_or(place) + 1;
    }
    let is_filtered = tokens.get(place).is_some_and(|token| token.is_word("filter"))
        && tokens.get(place + 1).is_some_and(|token| token.is_symbol(b'('));
    if items[if schema.is_some() { at - 2 } else { at }] {
        found.alias_at = alias_at(tokens, place, closings);
    }
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
    fn whole_items_without_an_alias_get_one() {
        for (sql, expected) in [
            ("select m(distinct x)", "select m(distinct x)<>"),
            ("select all s.m(distinct x), 1", "select all s.m(distinct x)<>, 1"),
            (
                "select 1, m(x order by y) filter (where z) over (w) from t",
                "select 1, m(x order by y) filter (where z) over (w)<> from t",
            ),
            ("select m(distinct x) over w;", "select m(distinct x) over w<>;"),
            ("from t select distinct m(distinct x) ", "from t select distinct m(distinct x)<> "),
            ("with a as (select m(distinct x) from t) from a", "with a as (select m(distinct x)<> from t) from a"),
            ("select f(1, m(distinct x)) from t", ""),
            ("select m(distinct x) y from t", ""),
            ("select m(distinct x) as y from t", ""),
            ("select m(distinct x) + 1 from t", ""),
            ("select 1 + m(distinct x) from t", ""),
            ("select case when a then m(distinct x) end, [1, m(distinct x)]", ""),
            ("select a from t group by b, m(distinct x) order by m(distinct x)", ""),
            ("select (m(distinct x)) from t", ""),
            ("select a in (1, m(distinct x)) from t where (select b) < m(distinct x)", ""),
            ("select x from (values (1), m(distinct x)) t", ""),
            ("select m(distinct x)::text, m(distinct x)[1]", ""),
            ("select ), m(distinct x)", ""),
        ] {
            let calls = aggregate_calls(sql, Dialect::WITH_PYTHON, |name| name == "m");
            let mut shown = sql.to_owned();
            for at in calls.iter().rev().filter_map(|call| call.alias_at) {
                shown.insert_str(at, "<>");
            }
            assert_eq!(shown, if expected.is_empty() { sql } else { expected });
        }
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
