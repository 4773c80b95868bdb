//! Rewrites what PostgreSQL's clients write and DuckDB refuses or reads differently, about the catalog above all.
//!
//! - `pg_catalog.` before a name becomes the schema of the catalog's relations and functions
//!   (`serve/colonnade_serve/_duckdb/catalog.sql`), or that of DuckDB's functions (`names.rs`). Before the name of a
//!   type it is removed.
//! - `information_schema.` becomes the schema of the catalog that has these views. DuckDB does not allow another schema
//!   with this name, and its own shows all databases. A CREATE statement is not changed, because DuckDB stores its
//!   text.
//! - `OPERATOR(pg_catalog.~)` becomes a call or an operator (`operators.rs`), and the default collation is removed.
//! - Casts to `regclass` and similar types become calls of functions (`casts.rs`).
//! - Subscripts of vectors count from 0 (`vectors.rs`), and a series of subscripts gives rows (`series.rs`).
//! - The method and the operator classes of CREATE INDEX are removed (`index.rs`).
//! - LIKE gets PostgreSQL's escape character (`like.rs`), and ANY and ALL behind it (`like_any.rs`).
//! - `->` gets its precedence, and `||` and `=` their meaning for jsonb (`jsonb.rs`).
//! - UNNEST of several arrays becomes that of one list (`unnest.rs`).
//! - `public` becomes `main`, and the database's own name before a schema is accepted (`served_database.rs`).

mod casts;
mod index;
mod jsonb;
mod like;
mod like_any;
mod names;
mod operands;
mod operators;
mod series;
mod served_database;
mod unnest;
mod vectors;

use casts::Casts;
use colonnade_sql::edit::Edits;
use colonnade_sql::{Reading, Token, TokenKind};
pub(crate) use jsonb::{arrows, operators as jsonb_operators};
pub use names::CatalogNames;
#[cfg(test)]
pub(crate) use names::some as some_names;
use operands::Operands;
pub use served_database::ServedDatabase;

const SCHEMA: &str = "pg_catalog";
const INFORMATION: &str = "information_schema";
/// The schema with the views of `information_schema.sql`.
const CATALOG_INFORMATION: &str = "colonnade_catalog.information.";

/// asyncpg's query for the parts of types (its `introspection.py`). It nests one recursion in another, and DuckDB does
/// not finish it.
const INTROSPECTION: &str = "WITH RECURSIVE typeinfo_tree(";
/// A query with the same result: the types, the types of which they are made, and so on. Parts are before their wholes.
const TYPES: &str = "\
    WITH RECURSIVE known AS (\
        SELECT t.*, r.rngsubtype AS subtype, a.types, a.names \
        FROM colonnade_catalog.pg.pg_type t \
        LEFT JOIN colonnade_catalog.pg.pg_range r ON t.oid IN (r.rngtypid, r.rngmultitypid) \
        LEFT JOIN (SELECT relid, system.main.list(type ORDER BY number) AS types, system.main.list(name ORDER BY number) AS names \
                   FROM colonnade_catalog.pg.attributes GROUP BY relid) a ON a.relid = t.typrelid), \
    parts AS (\
        SELECT oid AS whole, typelem AS part FROM known WHERE typelem <> 0 \
        UNION ALL SELECT oid, subtype FROM known WHERE subtype IS NOT NULL \
        UNION ALL SELECT oid, unnest(types) FROM known), \
    reached AS (\
        SELECT oid, 0 AS level FROM known WHERE system.main.list_contains($1::BIGINT[], oid) \
        UNION SELECT part, level + 1 FROM reached JOIN parts ON whole = reached.oid) \
    SELECT t.oid, 'pg_catalog' AS ns, t.typname AS name, t.typtype::BLOB AS kind, NULL::BIGINT AS basetype, \
           t.typelem AS elemtype, CASE WHEN t.typelem <> 0 THEN ','::BLOB END AS elemdelim, \
           t.subtype AS range_subtype, colonnade_catalog.pg.as_oids(t.types) AS attrtypoids, t.names AS attrnames, \
           0 AS depth, NULL::VARCHAR AS basetype_name, e.typname AS elemtype_name, s.typname AS range_subtype_name \
    FROM known t JOIN (SELECT oid, system.main.max(level) AS level FROM reached GROUP BY oid) AS found ON found.oid = t.oid \
    LEFT JOIN known e ON e.oid = t.typelem LEFT JOIN known s ON s.oid = t.subtype \
    ORDER BY found.level DESC";

/// DuckDB's lists of databases and tables, without the catalog's own database.
const LISTS: [(&[&str], &str); 3] = [
    (
        &["show", "databases"],
        "SELECT database_name FROM system.main.duckdb_databases() \
         WHERE NOT internal AND database_name <> 'colonnade_catalog' ORDER BY database_name",
    ),
    (
        &["show", "tables"],
        "SELECT name FROM (SELECT database_name, schema_name, table_name AS name FROM system.main.duckdb_tables() \
         UNION ALL SELECT database_name, schema_name, view_name FROM system.main.duckdb_views() WHERE NOT internal) AS relations \
         WHERE system.main.in_search_path(database_name, schema_name) AND database_name <> 'colonnade_catalog' ORDER BY name",
    ),
    (&["show", "all", "tables"], "SELECT * FROM (SHOW ALL TABLES) WHERE database <> 'colonnade_catalog'"),
];

/// The types of a statement's parameters, if the client depends on PostgreSQL's types and DuckDB would infer others.
pub fn parameter_types(statement: &str) -> &'static [u32] {
    const OID_ARRAY: u32 = 1028;
    if statement == TYPES { &[OID_ARRAY] } else { &[] }
}

/// The changes after which DuckDB accepts a statement. A changed statement is not changed again.
pub fn edits(reading: &Reading<'_>, names: &CatalogNames) -> Edits {
    let (mut edits, statement) = (Edits::default(), reading.text());
    if statement.starts_with(INTROSPECTION) {
        edits.replace(0..statement.len(), TYPES);
        return edits;
    }
    let words = || statement.split_whitespace().map(str::to_ascii_lowercase);
    if let Some((_, list)) = LISTS.iter().find(|(show, _)| words().eq(show.iter().copied())) {
        edits.replace(0..statement.len(), *list);
        return edits;
    }
    let may_match = |at: usize| {
        [
            SCHEMA,
            INFORMATION,
            "array",
            "unnest",
            "index",
            "like",
            "ilike",
            "~~",
            series::SUBSCRIPTS,
            casts::TYPE_FUNCTION,
        ]
        .iter()
        .chain(&casts::TYPES)
        .chain(&vectors::VECTORS)
        .any(|name| begins(&statement[at..], name))
    };
    if !statement
        .bytes()
        .enumerate()
        .any(|(at, b)| matches!(b | 0x20, b'a' | b'g' | b'p' | b'i' | b'l' | b'r' | b'u' | b'~') && may_match(at))
    {
        return edits;
    }
    let tokens = reading.tokens();
    let mut casts = Casts::new(tokens);
    let operands = Operands::new(tokens);
    let from = unnest::commas_of_from(tokens);
    remove_quantified_arrays(tokens, &mut edits);
    vectors::count_from_0(tokens, &mut edits);
    index::methods(tokens, &mut edits);
    let mut at = 0;
    while at < tokens.len() {
        series::subscripts(tokens, at, &mut edits);
        unnest::of_several(tokens, at, &from, &mut edits);
        like::escape(&operands, at, &mut edits);
        like_any::rewrite(&operands, at, &mut edits);
        at += casts
            .rewrite(at, &mut edits)
            .or_else(|| operators::rewrite(tokens, at, &mut casts, &mut edits))
            .or_else(|| rewrite(tokens, at, names, &mut edits))
            .unwrap_or(1);
    }
    edits
}

/// Adds the changes at a token. Gives the number of tokens that they cover.
fn rewrite(tokens: &[Token<'_>], at: usize, names: &CatalogNames, edits: &mut Edits) -> Option<usize> {
    let rest = &tokens[at..];
    match rest {
        // COLLATE pg_catalog.default
        [collate, schema, dot, name, ..]
            if collate.is_word("collate") && qualifies(schema, dot, SCHEMA) && name.is_name("default") =>
        {
            edits.remove(collate.start..name.end());
            Some(4)
        }
        // A schema after a dot belongs to another database.
        _ if at > 0 && tokens[at - 1].is_symbol(b'.') => None,
        [schema, dot, ..] if qualifies(schema, dot, SCHEMA) => {
            // `::` is before a type.
            let schema_name = match at.checked_sub(1).map(|before| &tokens[before]) {
                _ if series::is_call(tokens, at + 2) => "",
                Some(colon) if colon.is_symbol(b':') => names.schema_of_type(tokens, at + 2),
                // Collations are no objects of users.
                Some(collate) if collate.is_word("collate") => "",
                _ => names.schema_of(tokens, at + 2),
            };
            edits.replace(schema.start..dot.end(), schema_name);
            Some(2)
        }
        [schema, dot, ..] if qualifies(schema, dot, INFORMATION) && !tokens[0].is_word("create") => {
            edits.replace(schema.start..dot.end(), CATALOG_INFORMATION);
            Some(2)
        }
        _ => None,
    }
}

/// Changes `= ANY (ARRAY(SELECT …))` to `= ANY (SELECT …)`. In DuckDB an ARRAY in this place is a single value.
fn remove_quantified_arrays(tokens: &[Token<'_>], edits: &mut Edits) {
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Symbol(b'(') => open.push(at),
            TokenKind::Symbol(b')') => {
                let Some([sign, quantifier, any, array]) =
                    open.pop().and_then(|start: usize| tokens.get(start.checked_sub(4)?..start))
                else {
                    continue;
                };
                let is_quantified = ["any", "some", "all"].iter().any(|word| quantifier.is_word(word));
                let is_whole = tokens.get(at + 1).is_some_and(|next| next.is_symbol(b')'));
                let is_compared = matches!(sign.kind, TokenKind::Symbol(b'=' | b'<' | b'>'));
                if is_compared && is_quantified && any.is_symbol(b'(') && array.is_word("array") && is_whole {
                    edits.remove(array.range());
                }
            }
            _ => {}
        }
    }
}

fn qualifies(schema: &Token<'_>, dot: &Token<'_>, name: &str) -> bool {
    schema.is_name(name) && dot.is_symbol(b'.')
}

fn begins(text: &str, name: &str) -> bool {
    text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use colonnade_sql::Dialect;

    use super::*;

    /// The statement after its changes.
    pub fn rewritten(statement: &str) -> String {
        edits(&Reading::new(statement, Dialect::DuckDb), &names::some()).apply(statement).text.into_owned()
    }

    #[test]
    fn qualifiers_of_the_catalog_name_the_schema_of_the_object() {
        for (given, expected) in [
            ("select 1", "select 1"),
            ("select * from pg_catalog.pg_class c", "select * from colonnade_catalog.pg.pg_class c"),
            ("SELECT PG_CATALOG.version(), 'pg_catalog.x'", "SELECT colonnade_catalog.pg.version(), 'pg_catalog.x'"),
            (
                "select pg_catalog.lower(x), pg_catalog.\"Lower\" (y)",
                "select system.main.lower(x), system.main.\"Lower\" (y)",
            ),
            (
                "select pg_catalog.pg_typeof(x::pg_catalog.numeric(3))",
                "select system.pg_catalog.pg_typeof(x::numeric(3))",
            ),
            (
                "select pg_catalog.pg_class.oid, pg_catalog.lower",
                "select colonnade_catalog.pg.pg_class.oid, pg_catalog.lower",
            ),
            ("x::pg_catalog.mood, cast(x as pg_catalog.mood)", "x::pg_catalog.mood, cast(x as pg_catalog.mood)"),
            ("create table t (a pg_catalog.mood, b pg_catalog.int4)", "create table t (a pg_catalog.mood, b int4)"),
            (
                "x::pg_catalog.json, cast(y as pg_catalog.Name)",
                "x::system.main.json, cast(y as colonnade_catalog.pg.Name)",
            ),
            (
                "create view v as select x::pg_catalog.json, y::pg_catalog.name",
                "create view v as select x::system.main.json, y::name",
            ),
            ("a COLLATE pg_catalog.\"C\"", "a COLLATE \"C\""),
            (
                "create view v as select pg_catalog.lower(x) from pg_catalog.pg_class",
                "create view v as select lower(x) from pg_class",
            ),
            ("'1'::pg_catalog.int4::\"pg_catalog\".text", "'1'::int4::text"),
            ("where n.nspname <> 'pg_catalog'", "where n.nspname <> 'pg_catalog'"),
            ("select system.pg_catalog.f(x)", "select system.pg_catalog.f(x)"),
            ("from INFORMATION_SCHEMA.tables t", "from colonnade_catalog.information.tables t"),
            ("select (information_schema.f(x)).n", "select (colonnade_catalog.information.f(x)).n"),
            ("from shop.information_schema.tables", "from shop.information_schema.tables"),
            ("i = any(array(select 1))", "i = any((select 1))"),
            ("i = any(array(select 1) || j), array(select 1)", "i = any(array(select 1) || j), array(select 1)"),
            ("create view v as from information_schema.tables", "create view v as from information_schema.tables"),
        ] {
            assert_eq!(rewritten(given), expected, "{given}");
            assert_eq!(rewritten(expected), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_statements_never_panic(given in "(pg_catalog|information_schema|from unnest|create index|x_ops| like | ilike |case | end|OPERATOR|COLLATE|default|::regclass|cast|\
                                                 as regtype|[,.()~' é\"a:$1]|\\[|\\]){0,16}") {
            let _ = rewritten(&given);
        }
    }
}
