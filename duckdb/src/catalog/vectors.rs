//! Rewrites subscripts of the catalog's vectors. Those of PostgreSQL's `int2vector` and `oidvector` count from 0, those of DuckDB's lists
//! from 1.
//!
//! A column is found by its name, and its type decides when the statement is bound: a user's column may have the same name. Clients write
//! `pg_index` with and without its schema, and read its columns from subqueries too.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind};

pub(super) const VECTORS: [&str; 4] = ["indkey", "indclass", "indcollation", "indoption"];

/// Adds the changes of `i.indkey[n]`.
pub(super) fn count_from_0(tokens: &[Token<'_>], edits: &mut Edits) {
    for at in 0..tokens.len() {
        if let [column, open, ..] = &tokens[at..]
            && open.is_symbol(b'[')
            && VECTORS.iter().any(|name| column.is_name(name))
            && let Some(qualifier) = qualifier(&tokens[..at])
            && let Some(close) = closing(tokens, at + 1)
        {
            let column = format!("{qualifier}{}", column.text);
            let first = format!(
                "CASE system.main.typeof({column}) WHEN 'USMALLINT[]' THEN 1 WHEN 'UINTEGER[]' THEN 1 ELSE 0 END"
            );
            edits.insert(open.end(), format!("{first} + ("));
            edits.insert(tokens[close].start, ")");
        }
    }
}

/// The relation before a column, with its dot. `None` for a field of a value.
fn qualifier(before: &[Token<'_>]) -> Option<String> {
    match before {
        [.., relation, dot] if dot.is_symbol(b'.') => {
            matches!(relation.kind, TokenKind::Word | TokenKind::Name).then(|| format!("{}.", relation.text))
        }
        _ => Some(String::new()),
    }
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

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn subscripts_of_the_catalogs_vectors_count_from_0() {
        let first = |column| {
            format!("CASE system.main.typeof({column}) WHEN 'USMALLINT[]' THEN 1 WHEN 'UINTEGER[]' THEN 1 ELSE 0 END")
        };
        assert_eq!(
            rewritten("select i.indkey[a.n-1], INDKEY[0] from pg_index i, a"),
            format!(
                "select i.indkey[{} + (a.n-1)], INDKEY[{} + (0)] from pg_index i, a",
                first("i.indkey"),
                first("INDKEY")
            )
        );
        assert_eq!(
            rewritten("select x.pg_index.indclass[f(y)[1]]"),
            format!("select x.pg_index.indclass[{} + (f(y)[1])]", first("pg_index.indclass"))
        );
        for given in ["select i.indkey[0:1] from pg_index i", "select i.conkey[1]", "select (i).indkey[0]", "indkey[0"]
        {
            assert_eq!(rewritten(given), given);
        }
    }
}
