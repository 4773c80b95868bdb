//! What PostgreSQL's clients write about its catalog and DuckDB's parser does not take.
//!
//! The catalog's relations, functions and types are found by their names alone (`python/colonnade/_catalog.sql`), so that
//! `pg_catalog.` before a name is left out; `OPERATOR(pg_catalog.~)` is the operator, and the default collation none.

use std::borrow::Cow;

use crate::lex::{Kind, Lexer, Token};

const SCHEMA: &str = "pg_catalog";

/// How asyncpg asks what the types with these numbers are made of (its `introspection.py`): a recursion within another, which
/// DuckDB does not come to an end of.
const INTROSPECTION: &str = "WITH RECURSIVE typeinfo_tree(";
/// The same for types that are arrays or made of nothing, as all are here: items come first.
const TYPES: &str = "\
    SELECT t.oid, 'pg_catalog' AS ns, t.typname AS name, t.typtype::BLOB AS kind, NULL::BIGINT AS basetype, \
           t.typelem AS elemtype, CASE WHEN t.typelem <> 0 THEN ','::BLOB END AS elemdelim, \
           NULL::BIGINT AS range_subtype, NULL::VARCHAR[] AS attrtypoids, NULL::VARCHAR[] AS attrnames, \
           0 AS depth, NULL::VARCHAR AS basetype_name, e.typname AS elemtype_name, NULL::VARCHAR AS range_subtype_name \
    FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem \
    WHERE list_contains($1::BIGINT[], t.oid) \
       OR t.oid IN (SELECT a.typelem FROM pg_type a WHERE list_contains($1::BIGINT[], a.oid)) \
    ORDER BY t.typelem";

/// SHOW DATABASES without the one that the catalog is in.
const DATABASES: &str = "SELECT database_name FROM duckdb_databases() WHERE NOT internal AND database_name <> 'colonnade_catalog' \
                         ORDER BY database_name";

/// The types of a statement's parameters where DuckDB has another type than PostgreSQL's, and the client counts on that.
pub fn parameter_types(statement: &str) -> &'static [u32] {
    const OID_ARRAY: u32 = 1028;
    if statement == TYPES { &[OID_ARRAY] } else { &[] }
}

/// The statement without those.
pub fn plain(statement: &str) -> Cow<'_, str> {
    if statement.starts_with(INTROSPECTION) {
        return Cow::Borrowed(TYPES);
    }
    if statement.split_whitespace().map(str::to_ascii_lowercase).eq(["show", "databases"]) {
        return Cow::Borrowed(DATABASES);
    }
    let is_meant =
        |at: usize| statement[at..].get(..SCHEMA.len()).is_some_and(|text| text.eq_ignore_ascii_case(SCHEMA));
    if !statement.char_indices().any(|(at, c)| matches!(c, 'p' | 'P') && is_meant(at)) {
        return Cow::Borrowed(statement);
    }
    let tokens: Vec<_> = Lexer::new(statement).collect();
    let mut out = String::with_capacity(statement.len());
    let (mut copied, mut at) = (0, 0);
    while at < tokens.len() {
        let rest = &tokens[at..];
        let (length, replacement) = match rest {
            // COLLATE pg_catalog.default
            [collate, schema, dot, name, ..]
                if collate.is_word("collate") && qualifies(schema, dot) && name.value() == "default" =>
            {
                (4, "")
            }
            // OPERATOR(pg_catalog.~)
            [operator, open, schema, dot, ..]
                if operator.is_word("operator") && open.kind == Kind::Symbol(b'(') && qualifies(schema, dot) =>
            {
                let end = rest.iter().position(|token| token.kind == Kind::Symbol(b')')).unwrap_or(rest.len());
                out.push_str(&statement[copied..operator.start]);
                out.extend(rest[4..end.max(4)].iter().map(|token| token.text));
                copied = rest.get(end).map_or(statement.len(), Token::end);
                at += end + 1;
                continue;
            }
            [schema, dot, ..] if qualifies(schema, dot) => (2, ""),
            _ => {
                at += 1;
                continue;
            }
        };
        out.push_str(&statement[copied..rest[0].start]);
        out.push_str(replacement);
        copied = rest[length - 1].end();
        at += length;
    }
    out.push_str(&statement[copied..]);
    Cow::Owned(out)
}

fn qualifies(schema: &Token<'_>, dot: &Token<'_>) -> bool {
    let is_name = matches!(schema.kind, Kind::Word | Kind::Name);
    is_name && schema.value() == SCHEMA && dot.kind == Kind::Symbol(b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogs_names_stand_alone() {
        for (given, expected) in [
            ("select 1", "select 1"),
            ("select * from pg_catalog.pg_class c", "select * from pg_class c"),
            ("SELECT PG_CATALOG.version(), 'pg_catalog.x'", "SELECT version(), 'pg_catalog.x'"),
            ("c.relname OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default", "c.relname ~ '^(t)$' "),
            ("x OPERATOR(pg_catalog.!~~) y", "x !~~ y"),
            ("'1'::pg_catalog.regclass::\"pg_catalog\".text", "'1'::regclass::text"),
            ("where n.nspname <> 'pg_catalog'", "where n.nspname <> 'pg_catalog'"),
            ("operator(pg_catalog.", ""),
        ] {
            assert_eq!(plain(given), expected, "{given}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_statement_is_rewritten(given in "(pg_catalog|OPERATOR|COLLATE|default|[.()~' é\"a]){0,12}") {
            let _ = plain(&given);
        }
    }
}
