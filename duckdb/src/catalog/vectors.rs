//! Subscripts of the catalog's vectors, which count from 0 (PostgreSQL's `int2vector` and `oidvector`), where the engine's lists
//! count from 1.
//!
//! Only what is certainly `pg_catalog.pg_index`, by a name that the statement gives to nothing else, is counted so.

use colonnade_sql::edit::Edits;

use super::{SCHEMA, qualifies};
use crate::lex::{Kind, Token};

const INDEXES: &str = "pg_index";
const VECTORS: [&str; 4] = ["indkey", "indclass", "indcollation", "indoption"];
/// What may stand where an alias would.
const NO_ALIASES: [&str; 9] = ["where", "on", "using", "join", "inner", "left", "right", "full", "cross"];

/// Notes what becomes of `i.indkey[n]`.
pub(super) fn count_from_0(tokens: &[Token<'_>], edits: &mut Edits) {
    let names: Vec<String> = (0..tokens.len()).filter_map(|at| named(tokens, at)).collect();
    for at in 0..tokens.len() {
        if let [relation, dot, column, open, ..] = &tokens[at..]
            && dot.is_symbol(b'.')
            && open.is_symbol(b'[')
            && VECTORS.contains(&column.value().as_str())
            && names.contains(&relation.value())
            && is_first(tokens, at)
            && let Some(close) = closing(tokens, at + 3)
        {
            edits.insert(open.end(), "1 + (".to_owned());
            edits.insert(tokens[close].start, ")".to_owned());
        }
    }
}

/// The name by which a statement knows `pg_catalog.pg_index`, which stands at `at`, if it calls nothing else so.
fn named(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let [schema, dot, relation, rest @ ..] = tokens.get(at..)? else { return None };
    if !qualifies(schema, dot, SCHEMA) || relation.value() != INDEXES {
        return None;
    }
    let rest = if rest.first()?.is_word("as") { &rest[1..] } else { rest };
    let alias = rest.first().filter(|token| matches!(token.kind, Kind::Word | Kind::Name))?;
    let name = alias.value();
    if NO_ALIASES.contains(&name.as_str()) {
        return None;
    }
    let given = tokens.iter().enumerate().filter(|(place, token)| {
        matches!(token.kind, Kind::Word | Kind::Name)
            && token.value() == name
            && !tokens.get(place + 1).is_some_and(|next| next.is_symbol(b'.'))
    });
    (given.count() == 1).then_some(name)
}

/// The bracket that closes the one at `open`, of a subscript that is no slice.
fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Symbol(b'[' | b'(') => depth += 1,
            Kind::Symbol(b']' | b')') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return token.is_symbol(b']').then_some(at);
                }
            }
            Kind::Symbol(b':') if depth == 1 => return None,
            _ => {}
        }
    }
    None
}

/// Whether nothing with a dot is in front.
fn is_first(tokens: &[Token<'_>], at: usize) -> bool {
    at == 0 || !tokens[at - 1].is_symbol(b'.')
}

#[cfg(test)]
mod tests {
    use super::super::plain;

    #[test]
    fn subscripts_of_the_catalogs_vectors_count_from_0() {
        for (given, expected) in [
            (
                "select i.indkey[a.n-1] from pg_catalog.pg_index i, a where i.INDKEY[0] = 1",
                "select i.indkey[1 + (a.n-1)] from pg_index i, a where i.INDKEY[1 + (0)] = 1",
            ),
            (
                "select i.indkey[f(x)[1]] from pg_catalog.pg_index as i",
                "select i.indkey[1 + (f(x)[1])] from pg_index as i",
            ),
            // What is not certainly a vector.
            ("select i.indkey[0] from pg_index i", "select i.indkey[0] from pg_index i"),
            ("select i.indkey[0] from pg_catalog.pg_index where i", "select i.indkey[0] from pg_index where i"),
            ("select i.indkey[0:1] from pg_catalog.pg_index i", "select i.indkey[0:1] from pg_index i"),
            (
                "select i.indkey[0] from pg_catalog.pg_index i where exists (from mine i where i.indkey[0] = 1)",
                "select i.indkey[0] from pg_index i where exists (from mine i where i.indkey[0] = 1)",
            ),
            ("select i.conkey[1] from pg_catalog.pg_index i", "select i.conkey[1] from pg_index i"),
        ] {
            assert_eq!(plain(given).text, expected, "{given}");
        }
    }
}
