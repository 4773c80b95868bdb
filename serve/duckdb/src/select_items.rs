//! Functions that give rows among the columns of a SELECT. DuckDB's `generate_series` gives a list there, and `unnest`
//! makes rows of it.

use colonnade_server::functions::calls::AFTER_LIST;
use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind, closing};

const FUNCTION: &str = "generate_series";

/// Adds the changes of a statement.
pub(crate) fn rows(tokens: &[Token<'_>], edits: &mut Edits) {
    if !tokens.iter().any(|token| token.is_one_of_names(&[FUNCTION])) {
        return;
    }
    // Whether a column is where we are, within each of the parentheses that are open.
    let mut columns = vec![false];
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Symbol(b'(') => columns.push(false),
            TokenKind::Symbol(b')') if columns.len() > 1 => drop(columns.pop()),
            TokenKind::Word if token.is_word("select") => *columns.last_mut().unwrap_or(&mut false) = true,
            TokenKind::Word if ends_columns(token) => *columns.last_mut().unwrap_or(&mut false) = false,
            _ if columns.last() == Some(&true) && token.is_one_of_names(&[FUNCTION]) => item(tokens, at, edits),
            _ => {}
        }
    }
}

/// Gives subqueries without columns one, as in `EXISTS (SELECT FROM t)`.
pub(crate) fn nothing(tokens: &[Token<'_>], edits: &mut Edits) {
    for group in tokens.windows(3) {
        let [open, select, from] = group else { continue };
        if open.is_symbol(b'(') && select.is_word("select") && from.is_one_of(&["from", "where"]) {
            edits.insert(select.end(), " NULL");
        }
    }
}

/// Whether it ends the columns of a SELECT.
fn ends_columns(token: &Token<'_>) -> bool {
    token.is_one_of(&AFTER_LIST) || token.is_word("for")
}

/// Changes a call that begins a column.
fn item(tokens: &[Token<'_>], at: usize, edits: &mut Edits) {
    let begins = at > 0 && {
        let before = &tokens[at - 1];
        before.is_symbol(b',') || before.is_one_of(&["select", "distinct", "all"])
    };
    let is_call = begins && tokens.get(at + 1).is_some_and(|open| open.is_symbol(b'('));
    let Some(close) = closing(tokens, at + 1).filter(|_| is_call) else { return };
    let next = tokens.get(close + 1);
    // Who writes these means a list.
    if next.is_some_and(|next| next.is_symbol(b'[') || next.is_symbol(b'.')) {
        return;
    }
    let is_end =
        |next: &Token<'_>| next.is_symbol(b',') || next.is_symbol(b')') || next.is_symbol(b';') || ends_columns(next);
    let name = if next.is_none_or(is_end) { format!(") AS {FUNCTION}") } else { ")".to_owned() };
    edits.insert(tokens[at].start, "unnest(");
    edits.insert(tokens[close].end(), name);
}

#[cfg(test)]
mod tests {
    use colonnade_sql::{Dialect, Reading};

    use super::*;

    fn rewritten(statement: &str) -> String {
        let (reading, mut edits) = (Reading::new(statement, Dialect::DuckDb), Edits::default());
        rows(reading.tokens(), &mut edits);
        edits.apply(statement).text.into_owned()
    }

    #[test]
    fn series_among_columns_are_rows() {
        for (given, expected) in [
            ("select generate_series(1, f(3))", "select unnest(generate_series(1, f(3))) AS generate_series"),
            (
                "SELECT a, Generate_Series(1, 3) AS i, b FROM t",
                "SELECT a, unnest(Generate_Series(1, 3)) AS i, b FROM t",
            ),
            ("select \"generate_series\"(1, 3)", "select unnest(\"generate_series\"(1, 3)) AS generate_series"),
            ("select generate_series(1, 3) * 2 from t", "select unnest(generate_series(1, 3)) * 2 from t"),
            ("select generate_series(1, 3)::text", "select unnest(generate_series(1, 3))::text"),
            (
                "insert into t select distinct generate_series(1, 3) order by 1; ",
                "insert into t select distinct unnest(generate_series(1, 3)) AS generate_series order by 1; ",
            ),
            (
                "select x from (select generate_series(1, 3)) t(x), (select 1, generate_series(1, 2) i)",
                "select x from (select unnest(generate_series(1, 3)) AS generate_series) t(x), \
                 (select 1, unnest(generate_series(1, 2)) i)",
            ),
        ] {
            assert_eq!(rewritten(given), expected);
        }
    }

    #[test]
    fn a_subquery_without_columns_gets_one() {
        let (statement, mut edits) = ("select exists (select from t), (select a from b)", Edits::default());
        nothing(Reading::new(statement, Dialect::DuckDb).tokens(), &mut edits);
        assert_eq!(edits.apply(statement).text, "select exists (select NULL from t), (select a from b)");
    }

    #[test]
    fn other_places_stay() {
        for statement in [
            "select * from generate_series(1, 3), generate_series(1, 2)",
            "select unnest(generate_series(1, 3)), len(generate_series(1, 3)), f(1, generate_series(1, 3))",
            "select generate_series(1, 3)[2], generate_series(1, 3).len()",
            "select 1 where 2 in generate_series(1, 3)",
            "select a from t group by a, generate_series(1, 3)",
            "select generate_series, 1",
            "select generate_series(1, 3",
            "select (1, generate_series(1, 3))",
        ] {
            assert_eq!(rewritten(statement), statement);
        }
    }
}
