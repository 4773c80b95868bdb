//! The objects that clients name with PostgreSQL's schema `pg_catalog`.
//!
//! Clients write this schema so that no object of a user with the same name is found. So its place is taken by the schema that has the object:
//! the catalog's own, or DuckDB's. Types are found without a schema: users cannot create types with the names of DuckDB's, except for JSON's.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use colonnade_sql::{Token, TokenKind};

/// The schema of the catalog's relations and functions, before a name.
pub(super) const CATALOG: &str = "colonnade_catalog.pg.";

/// The names of the catalog's objects and of DuckDB's functions, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogNames(Arc<Names>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    /// The catalog's tables and views.
    relations: HashSet<String>,
    /// Functions, with their schema and a dot.
    functions: HashMap<String, String>,
}

impl CatalogNames {
    /// The catalog's `relations` and `functions`, and DuckDB's own functions with the schemas that have them.
    pub fn new(
        relations: impl IntoIterator<Item = String>,
        functions: impl IntoIterator<Item = String>,
        engine: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let engine = engine.into_iter().map(|(name, schema)| (name, format!("system.{schema}.")));
        // The catalog's functions replace those of DuckDB's with the same names.
        let functions = engine.chain(functions.into_iter().map(|name| (name, CATALOG.to_owned()))).collect();
        Self(Arc::new(Names { relations: relations.into_iter().collect(), functions }))
    }

    /// What takes the place of `pg_catalog.` before the name at `at`: a schema with a dot, or nothing.
    ///
    /// DuckDB stores the text of a view or a default, and a database must not depend on this catalog. So CREATE gets no schema.
    pub(super) fn schema_of(&self, tokens: &[Token<'_>], at: usize) -> &str {
        let Some(token) = tokens.get(at).filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Name)) else {
            return "";
        };
        if tokens[0].is_word("create") {
            return "";
        }
        let name = token.folded().to_lowercase();
        let found = if tokens.get(at + 1).is_some_and(|next| next.is_symbol(b'(')) {
            self.0.functions.get(&name).map(String::as_str)
        } else {
            self.0.relations.contains(&name).then_some(CATALOG)
        };
        found.unwrap_or_default()
    }
}

/// Some names, for tests.
#[cfg(test)]
pub(super) fn some() -> CatalogNames {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let relations = owned(&["pg_class", "pg_index"]);
    let functions = owned(&["version", "pg_get_expr", "generate_subscripts"]);
    let engine = [("version", "main"), ("lower", "main"), ("pg_typeof", "pg_catalog"), ("generate_series", "main")];
    CatalogNames::new(relations, functions, engine.map(|(name, schema)| (name.to_owned(), schema.to_owned())))
}
