//! Rewrites PostgreSQL's schema `public` as DuckDB's `main`, and names that begin with the database.
//!
//! If a database has no schema `public`, clients see its `main` with this name. If a statement uses `public` as another
//! name, such as an alias or a column, it is not changed: no dot follows such a name.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, Reading, Token, quote};

use super::{CATALOG_INFORMATION, CatalogNames, INFORMATION, SCHEMA, begins};

const PUBLIC: &str = "public";
const MAIN: &str = "main";
/// Functions whose argument is the name of a sequence.
const SEQUENCE_FUNCTIONS: [&str; 3] = ["nextval", "currval", "setval"];

/// The served database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedDatabase {
    /// Its name.
    pub database: String,
    /// Whether it has a schema `public`.
    pub has_public: bool,
    /// What clients may name with the schema `pg_catalog`.
    pub catalog: CatalogNames,
}

impl ServedDatabase {
    /// The changes after which a statement has DuckDB's names of the database's objects.
    pub(crate) fn edits(&self, statement: &Reading<'_>) -> Edits {
        edits(statement, &self.database, self.has_public, &self.catalog)
    }
}

fn edits(reading: &Reading<'_>, database: &str, has_public: bool, names: &CatalogNames) -> Edits {
    let (mut edits, statement) = (Edits::default(), reading.text());
    let may_match = |at: usize| [PUBLIC, SCHEMA, INFORMATION].iter().any(|name| begins(&statement[at..], name));
    if !statement.bytes().enumerate().any(|(at, b)| matches!(b | 0x20, b'p' | b'i') && may_match(at)) {
        return edits;
    }
    let database = database.to_lowercase();
    let is_database = |token: &Token<'_>| token.is_identifier() && token.folded() == database;
    let tokens = reading.tokens();
    let keeps_public = has_public || tokens.iter().enumerate().any(|(at, _)| is_other(tokens, at));
    for (at, token) in tokens.iter().enumerate() {
        let starts = !is_dot(tokens, at.wrapping_sub(1));
        if starts && is_database(token) && is_dot(tokens, at + 1) {
            edit_qualified(tokens, at, names, &mut edits);
        }
        if keeps_public {
            continue;
        }
        // Also `database.public.x`.
        let is_first = starts || at >= 2 && is_database(&tokens[at - 2]) && !is_dot(tokens, at.wrapping_sub(3));
        if is_public(token) && (is_first && is_dot(tokens, at + 1) || is_schema(tokens, at)) {
            edits.replace(token.range(), MAIN);
        } else if is_sequence(tokens, at) {
            edit_sequence_name(token, &mut edits);
        }
    }
    if is_search_path(tokens) && !has_public {
        for token in &tokens[2..] {
            edit_search_path(token, &mut edits);
        }
    }
    edits
}

/// Rewrites `database.information_schema.x` and `database.pg_catalog.x`. The database's name is at `at`.
fn edit_qualified(tokens: &[Token<'_>], at: usize, names: &CatalogNames, edits: &mut Edits) {
    let Some([database, _, schema, dot]) = tokens.get(at..at + 4) else { return };
    if !schema.is_identifier() || !is_dot(tokens, at + 3) {
        return;
    }
    let place = database.start..dot.end();
    match schema.folded().to_lowercase().as_str() {
        INFORMATION if !tokens[0].is_word("create") => edits.replace(place, CATALOG_INFORMATION),
        SCHEMA => edits.replace(place, names.schema_of(tokens, at + 4)),
        _ => {}
    }
}

/// Whether `public` at `at` is a name, but not of a schema.
fn is_other(tokens: &[Token<'_>], at: usize) -> bool {
    is_public(&tokens[at]) && !is_dot(tokens, at + 1) && !is_schema(tokens, at)
}

/// Whether the name at `at` is a schema's, because it follows SCHEMA or USE.
fn is_schema(tokens: &[Token<'_>], at: usize) -> bool {
    let word = |back: usize, word: &str| at >= back && tokens[at - back].is_word(word);
    let is_alone = tokens.get(at + 1).is_none_or(|next| next.is_word("cascade") || next.is_word("restrict"));
    word(1, "use") && at == 1
        || is_alone
            && (word(1, "schema")
                || word(1, "exists") && (word(3, "schema") && word(2, "if") || word(4, "schema") && word(2, "not")))
}

/// Whether the statement sets the search path in the form that the server writes.
fn is_search_path(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [set, name, ..] if set.is_word("set") && name.is_word("search_path"))
}

/// Rewrites a search path in a string.
fn edit_search_path(token: &Token<'_>, edits: &mut Edits) {
    let Some(value) = token.string(Dialect::DuckDb) else { return };
    let names = value.split(',').map(|name| {
        let bare = name.trim().trim_matches('"');
        if bare == PUBLIC { MAIN } else { name.trim() }
    });
    edits.replace(token.range(), quote::string(&names.collect::<Vec<_>>().join(","), Dialect::DuckDb));
}

/// Whether the string at `at` is the argument of a function of sequences.
fn is_sequence(tokens: &[Token<'_>], at: usize) -> bool {
    at >= 2 && tokens[at - 1].is_symbol(b'(') && SEQUENCE_FUNCTIONS.iter().any(|name| tokens[at - 2].is_word(name))
}

/// Rewrites the name of a sequence in a string.
fn edit_sequence_name(token: &Token<'_>, edits: &mut Edits) {
    let Some(value) = token.string(Dialect::DuckDb) else { return };
    if let Some(rest) = value.strip_prefix("public.").or_else(|| value.strip_prefix("\"public\".")) {
        edits.replace(token.range(), quote::string(&format!("{MAIN}.{rest}"), Dialect::DuckDb));
    }
}

fn is_public(token: &Token<'_>) -> bool {
    token.is_name(PUBLIC)
}

fn is_dot(tokens: &[Token<'_>], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token.is_symbol(b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten_for(statement: &str, database: &str, has_public: bool) -> String {
        let (reading, names) = (Reading::new(statement, Dialect::DuckDb), super::super::names::some());
        edits(&reading, database, has_public, &names).apply(statement).text.into_owned()
    }

    #[test]
    fn public_is_main() {
        for (given, expected) in [
            ("select * from public.t", "select * from main.t"),
            ("select * from \"public\" . t, PUBLIC.u", "select * from main . t, main.u"),
            ("select public.t.i from shop.public.t", "select main.t.i from shop.main.t"),
            ("drop table if exists public.t", "drop table if exists main.t"),
            ("select 'public.t', \"Public\".i", "select 'public.t', \"Public\".i"),
            ("select public.i from t as public", "select public.i from t as public"),
            ("select t.public.i from t", "select t.public.i from t"),
            ("create table t (public int)", "create table t (public int)"),
            ("create schema if not exists public", "create schema if not exists main"),
            ("drop schema if exists public cascade", "drop schema if exists main cascade"),
            ("use public", "use main"),
            ("select nextval('public.s')", "select nextval('main.s')"),
            ("SET search_path = 'x, public'", "SET search_path = 'x,main'"),
            ("select * from Shop.Information_Schema.tables", "select * from colonnade_catalog.information.tables"),
            ("select * from \"shop\".pg_catalog.pg_class", "select * from colonnade_catalog.pg.pg_class"),
            ("select * from other.information_schema.tables", "select * from other.information_schema.tables"),
            ("select other.public.i from other", "select other.public.i from other"),
        ] {
            assert_eq!(rewritten_for(given, "shop", false), expected, "{given}");
        }
    }

    #[test]
    fn a_database_with_a_schema_public_is_not_rewritten() {
        for statement in ["select * from public.t", "create schema public", "SET search_path = 'public'"] {
            assert_eq!(rewritten_for(statement, "shop", true), statement);
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_statements_never_panic(given in "(public|shop|pg_catalog|information_schema|schema|use|exists|set|search_path|\
                                                 nextval|[.()' é\"a:$1]){0,16}") {
            let _ = rewritten_for(&given, "shop", false);
        }
    }
}
