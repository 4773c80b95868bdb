//! Rewrites subscripts of the catalog's vectors. Those of PostgreSQL's `int2vector` and `oidvector` count from 0, those
//! of DuckDB's lists from 1.
//!
//! A column is found by its name, and its type decides when the statement is bound: a user's column may have the same
//! name. Clients write `pg_index` with and without its schema, and read its columns from subqueries too.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind};

pub(super) const VECTORS: [&str; 4] = ["indkey", "indclass", "indcollation", "indoption"];

/// Adds the changes of `i.indkey[n]`. Slices stay.
pub(super) fn count_from_0(tokens: &[Token<'_>], edits: &mut Edits) {
    // For each open bracket: behind which token it is, if it is of a subscript, and the column.
    let mut open: Vec<Option<(usize, String)>> = Vec::new();
    let is_colon = |at: usize| tokens.get(at).is_some_and(|token| token.is_symbol(b':'));
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Symbol(b'[') => open.push(column(&tokens[..at]).map(|column| (at, column))),
            TokenKind::Symbol(b'(' | b'{') => open.push(None),
            TokenKind::Symbol(b':') if !(is_colon(at + 1) || at > 0 && is_colon(at - 1)) => {
                if let Some(last) = open.last_mut() {
                    *last = None;
                }
            }
            TokenKind::Symbol(b']' | b')' | b'}') => {
                if let Some((start, column)) = open.pop().flatten()
                    && at > start + 1
                {
                    let first = format!(
                        "CASE system.main.typeof({column}) WHEN 'USMALLINT[]' THEN 1 WHEN 'UINTEGER[]' THEN 1 ELSE 0 END"
                    );
                    edits.insert(tokens[start].end(), format!("{first} + ("));
                    edits.insert(token.start, ")");
                }
            }
            _ => {}
        }
    }
}

/// The column with a vector's name at the end, and the relation in front of it. `None` for a field of a value.
fn column(before: &[Token<'_>]) -> Option<String> {
    let (column, before) = before.split_last()?;
    if !VECTORS.iter().any(|name| column.is_name(name)) {
        return None;
    }
    match before {
        [.., relation, dot] if dot.is_symbol(b'.') => {
            let is_name = relation.is_identifier();
            is_name.then(|| format!("{}.{}", relation.text, column.text))
        }
        _ => Some(column.text.to_owned()),
    }
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
            rewritten("select i.indkey[a.n::int-1], INDKEY[0] from pg_index i, a"),
            format!(
                "select i.indkey[{} + (a.n::int-1)], INDKEY[{} + (0)] from pg_index i, a",
                first("i.indkey"),
                first("INDKEY")
            )
        );
        assert_eq!(
            rewritten("select x.pg_index.indclass[f(y)[1]]"),
            format!("select x.pg_index.indclass[{} + (f(y)[1])]", first("pg_index.indclass"))
        );
        for given in [
            "select i.indkey[0:1] from pg_index i",
            "select i.conkey[1]",
            "select (i).indkey[0]",
            "indkey[0",
            "x::indkey[]",
        ] {
            assert_eq!(rewritten(given), given);
        }
    }
}
