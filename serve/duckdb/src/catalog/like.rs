//! Gives LIKE and ILIKE PostgreSQL's escape character. Without ESCAPE, it is the backslash in PostgreSQL, and DuckDB
//! has none.
//!
//! `ESCAPE '\'` is written behind the pattern, so that a stored view or condition means the same in every program that
//! opens the database. A constant pattern without a backslash means the same in both, and stays as it is: DuckDB
//! searches faster without ESCAPE.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind};

use super::operands::Operands;

const ESCAPE: &str = r" ESCAPE '\'";

/// Adds the change of a LIKE or ILIKE at `at`, if it is one with a pattern and without ESCAPE.
pub(super) fn escape(operands: &Operands<'_, '_>, at: usize, edits: &mut Edits) {
    let tokens = operands.tokens;
    // In `SHOW TABLES LIKE`, it is no operator.
    if !tokens[at].is_one_of(&["like", "ilike"]) || tokens[0].is_word("show") || !has_left_operand(&tokens[..at]) {
        return;
    }
    let Some(end) = operands.operand(at + 1) else { return };
    if !operands.is_word(end, "escape") && !is_plain(&tokens[at + 1..end]) {
        edits.insert(tokens[end - 1].end(), ESCAPE);
    }
}

/// `CREATE TABLE t (LIKE other)` has no operand before it, and a name of a column is behind AS or a point.
fn has_left_operand(before: &[Token<'_>]) -> bool {
    before.last().is_some_and(|last| match last.kind {
        TokenKind::Symbol(symbol) => matches!(symbol, b')' | b']' | b'}'),
        _ => !last.is_word("as"),
    })
}

/// Whether a pattern is a constant without a backslash, or a cast of one.
fn is_plain(pattern: &[Token<'_>]) -> bool {
    let texts = pattern.iter().take_while(|token| token.kind == TokenKind::Text).count();
    // This comes first, because patterns within patterns are looked at again with each one around them.
    if texts == 0 || pattern.get(texts).is_some_and(|next| !next.is_symbol(b':')) {
        return false;
    }
    let has_operator =
        pattern[texts..].iter().any(|token| matches!(token.kind, TokenKind::Text | TokenKind::Positional));
    !has_operator && !pattern[..texts].iter().any(|token| token.text.contains('\\'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn patterns_that_may_have_a_backslash_get_the_escape_character() {
        for (given, pattern, rest) in [
            ("a LIKE ", r"'x\_y'", ""),
            ("a not ilike ", "$1", " and b"),
            ("a like ", "b", " or c like 'd'"),
            ("a like ", r"'x\_' 'y'", " or c"),
            ("a like ", r"E'x\\_'", ")"),
            ("a like ", "$1::varchar(10)", " = true"),
            ("a like ", "$1::character varying[]", ", b"),
            ("a like ", "b::timestamp(3) with time zone", " is null"),
            ("a like ", "'%' || $1 || '%'", " order by a"),
            ("a like ", "'%' ||-b", ""),
            ("a like ", "b", "=-1"),
            ("a like ", "b <-> c", " <= d"),
            ("a like ", "- b", " then c"),
            ("a like ", "t.\"b\"[1:2].c", " from t"),
            ("a like ", "(b).c", " group by d"),
            ("a like ", "f(b, c).g(d)", " limit 1"),
            ("a like ", "array[b, c][1]", ""),
            ("a like ", "[b for c in d if c like 'e'][1]", ""),
            ("a like ", "map {'x': b}['x']", ""),
            ("a like ", "{'x': b}.x", " is not null"),
            ("a like ", "case when b then case c when d then e end end || f", " end"),
            ("a like ", "cast(b as text)", " alias"),
            ("a like ", "(select b where c like 'd')", ";"),
            ("a like ", "max(b) filter (where c) over (partition by d)", " as e"),
            ("a like ", "max(b) over w", " as e"),
            ("a like ", "string_agg(b) within group (order by c)", " e"),
            ("a like ", "b collate nocase.noaccent || c", " as c"),
            ("a like ", "b at time zone 'x' || c", ""),
            ("a like ", "b operator(pg.||) c", " union all"),
            ("a like ", r"text 'a\b'", " c"),
            ("create view v as select f(a) ilike ", "b", " as c"),
            ("a like ", "f(b.case)", " or c"),
            ("a like ", "(select b as case)", " or c"),
            ("a like ", "f({case: b}.case)", " or c"),
            ("a like ", "case when b.end then c.case end || d", " end"),
        ] {
            let escaped = format!(r"{given}{pattern} ESCAPE '\'{rest}");
            assert_eq!(rewritten(&format!("{given}{pattern}{rest}")), escaped);
            assert_eq!(rewritten(&escaped), escaped);
        }
    }

    #[test]
    fn patterns_within_patterns_get_it_too() {
        assert_eq!(
            rewritten("a like (select b where c like $1)"),
            r"a like (select b where c like $1 ESCAPE '\') ESCAPE '\'"
        );
    }

    #[test]
    fn other_statements_stay() {
        for given in [
            "a like '%x%'",
            "a like 'x' 'y'::text and b",
            "a like b escape '!'",
            "a like 'x' || b escape ''",
            "create table t (like other)",
            "create table t (a int, like other including all)",
            "select a as like, b as ilike from t",
            "select t.like from t",
            "select \"like\" from t",
            "show tables like b",
            "a like (b",
            "a like",
            "like b",
            "a like )",
            "a like case b",
        ] {
            assert_eq!(rewritten(given), given);
        }
    }
}
