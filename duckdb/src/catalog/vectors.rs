//! Rewrites subscripts of the catalog's vectors. Those of PostgreSQL's `int2vector` and `oidvector` count from 0, those of DuckDB's lists
//! from 1.
//!
//! Only columns that are certainly of `pg_catalog.pg_index` are rewritten: their qualifier is its alias, and the statement gives this alias
//! only once.

use std::borrow::Cow;

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind};

use super::{SCHEMA, qualifies};

const INDEXES: &str = "pg_index";
const VECTORS: [&str; 4] = ["indkey", "indclass", "indcollation", "indoption"];
/// The words that may follow a relation instead of an alias.
const NOT_ALIASES: [&str; 9] = ["where", "on", "using", "join", "inner", "left", "right", "full", "cross"];

/// Adds the changes of `i.indkey[n]`.
pub(super) fn count_from_0(tokens: &[Token<'_>], edits: &mut Edits) {
    let names: Vec<_> = (0..tokens.len()).filter_map(|at| index_alias(tokens, at)).collect();
    for at in 0..tokens.len() {
        if let [relation, dot, column, open, ..] = &tokens[at..]
            && dot.is_symbol(b'.')
            && open.is_symbol(b'[')
            && VECTORS.contains(&&*column.folded())
            && names.contains(&relation.folded())
            && is_first(tokens, at)
            && let Some(close) = closing(tokens, at + 3)
        {
            edits.insert(open.end(), "1 + (");
            edits.insert(tokens[close].start, ")");
        }
    }
}

/// The alias of `pg_catalog.pg_index` at `at`, if the statement has no other object with this name.
fn index_alias<'a>(tokens: &[Token<'a>], at: usize) -> Option<Cow<'a, str>> {
    let [schema, dot, relation, rest @ ..] = tokens.get(at..)? else { return None };
    if !qualifies(schema, dot, SCHEMA) || !relation.is_name(INDEXES) {
        return None;
    }
    let rest = if rest.first()?.is_word("as") { &rest[1..] } else { rest };
    let alias = rest.first().filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Name))?;
    let name = alias.folded();
    if NOT_ALIASES.contains(&&*name) {
        return None;
    }
    let given = tokens.iter().enumerate().filter(|(place, token)| {
        token.is_name(&name) && !tokens.get(place + 1).is_some_and(|next| next.is_symbol(b'.'))
    });
    (given.count() == 1).then_some(name)
}

/// The bracket that closes the one at `open`; `None` for a slice.
fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            TokenKind::Symbol(b'[' | b'(') => depth += 1,
            TokenKind::Symbol(b']' | b')') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return token.is_symbol(b']').then_some(at);
                }
            }
            TokenKind::Symbol(b':') if depth == 1 => return None,
            _ => {}
        }
    }
    None
}

/// Whether no dot is before the token.
fn is_first(tokens: &[Token<'_>], at: usize) -> bool {
    at == 0 || !tokens[at - 1].is_symbol(b'.')
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn subscripts_of_the_catalogs_vectors_count_from_0() {
        for (given, expected) in [
            (
                "select i.indkey[a.n-1] from pg_catalog.pg_index i, a where i.INDKEY[0] = 1",
                "select i.indkey[1 + (a.n-1)] from colonnade_catalog.pg.pg_index i, a where i.INDKEY[1 + (0)] = 1",
            ),
            (
                "select i.indkey[f(x)[1]] from pg_catalog.pg_index as i",
                "select i.indkey[1 + (f(x)[1])] from colonnade_catalog.pg.pg_index as i",
            ),
            // These are not certainly vectors.
            ("select i.indkey[0] from pg_index i", "select i.indkey[0] from pg_index i"),
            (
                "select i.indkey[0] from pg_catalog.pg_index where i",
                "select i.indkey[0] from colonnade_catalog.pg.pg_index where i",
            ),
            (
                "select i.indkey[0:1] from pg_catalog.pg_index i",
                "select i.indkey[0:1] from colonnade_catalog.pg.pg_index i",
            ),
            (
                "select i.indkey[0] from pg_catalog.pg_index i where exists (from mine i where i.indkey[0] = 1)",
                "select i.indkey[0] from colonnade_catalog.pg.pg_index i where exists (from mine i where i.indkey[0] = 1)",
            ),
            (
                "select i.conkey[1] from pg_catalog.pg_index i",
                "select i.conkey[1] from colonnade_catalog.pg.pg_index i",
            ),
        ] {
            assert_eq!(rewritten(given), expected, "{given}");
        }
    }
}
