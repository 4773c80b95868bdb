//! `json_agg` with an order, DISTINCT, a FILTER or a window, which belong to an aggregate of DuckDB. Other calls are macros
//! of the catalog (`postgres_functions.sql`).

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, closing};

const FUNCTIONS: [&str; 2] = ["json_agg", "jsonb_agg"];
/// What is before the arguments of DuckDB's aggregate.
const AGGREGATE: &str = "system.main.to_json(system.main.list";

/// Adds the change of the call that may begin at a token.
pub(crate) fn call(tokens: &[Token<'_>], at: usize, edits: &mut Edits) {
    let is_one = tokens[at].is_one_of_names(&FUNCTIONS);
    let Some(close) = is_one.then(|| closing(tokens, at + 1)).flatten() else { return };
    let mut last = close;
    // FILTER (…), OVER (…), and OVER name
    for word in ["filter", "over"] {
        if tokens.get(last + 1).is_some_and(|next| next.is_word(word)) {
            last = closing(tokens, last + 2).unwrap_or(last + 2).min(tokens.len() - 1);
        }
    }
    if last > close || has_clause(&tokens[at + 2..close]) {
        edits.replace(tokens[at].range(), AGGREGATE);
        edits.insert(tokens[last].end(), ")");
    }
}

/// Whether arguments have DISTINCT before them, or an order after them.
fn has_clause(arguments: &[Token<'_>]) -> bool {
    let mut depth = 0usize;
    let is_order =
        |at: usize| arguments[at].is_word("order") && arguments.get(at + 1).is_some_and(|by| by.is_word("by"));
    arguments.first().is_some_and(|first| first.is_word("distinct"))
        || (0..arguments.len()).any(|at| {
            depth = depth + usize::from(arguments[at].is_symbol(b'('))
                - usize::from(depth > 0 && arguments[at].is_symbol(b')'));
            depth == 0 && is_order(at)
        })
}

#[cfg(test)]
mod tests {
    use colonnade_sql::{Dialect, Reading};

    use crate::spellings;

    #[test]
    fn clauses_belong_to_the_engines_aggregate() {
        for (given, expected) in [
            (
                "select json_agg(a order by b desc), 1 from t",
                "select system.main.to_json(system.main.list(a order by b desc)), 1 from t",
            ),
            (
                "select coalesce(JSONB_AGG(distinct f(a)) filter (where a > 0), '[]') from t",
                "select coalesce(system.main.to_json(system.main.list(distinct f(a)) filter (where a > 0)), '[]') from t",
            ),
            (
                "select json_agg(a) over (partition by b), json_agg(a) over w from t",
                "select system.main.to_json(system.main.list(a) over (partition by b)), \
                 system.main.to_json(system.main.list(a) over w) from t",
            ),
            (
                "select \"json_agg\"(a order by b) from t",
                "select system.main.to_json(system.main.list(a order by b)) from t",
            ),
            (
                "select json_agg(json_build_array(a) order by b) from t",
                "select system.main.to_json(system.main.list(system.main.json_array(a) order by b)) from t",
            ),
        ] {
            let found = spellings::edits(&Reading::new(given, Dialect::DuckDb)).apply(given).text.into_owned();
            assert_eq!(found, expected);
        }
        for given in [
            "select json_agg(a), json_agg((select b from c order by d)), json_object_agg(a, b order by a)",
            "select s.json_agg(a order by b), json_agg",
            "select json_agg(a order by b",
            "select json_agg(",
        ] {
            assert!(spellings::edits(&Reading::new(given, Dialect::DuckDb)).is_empty(), "{given}");
        }
    }
}
