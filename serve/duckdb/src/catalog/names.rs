//! The objects that clients name with PostgreSQL's schema `pg_catalog`.
//!
//! Clients write this schema so that no object of a user with the same name is found. So its place is taken by the
//! schema that has the object: the catalog's own, or DuckDB's. Most types are found without a schema: users cannot
//! create types with the names of DuckDB's, except for JSON's. A name that is neither keeps the schema, so that it is
//! not found.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use colonnade_sql::Token;

/// The schema of the catalog's relations and functions, before a name.
pub(super) const CATALOG: &str = "colonnade_catalog.pg.";

/// What a client writes: DuckDB's schema with this name has no objects of users.
const UNKNOWN: &str = "pg_catalog.";

/// The names of the catalog's objects and of DuckDB's functions, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogNames(Arc<Names>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    /// The catalog's tables and views.
    relations: HashSet<String>,
    /// Functions, with their schema and a dot.
    functions: HashMap<String, String>,
    /// Types, with their schema and a dot, or nothing.
    types: HashMap<String, &'static str>,
}

/// Types that DuckDB's parser knows, or `casts.rs`, and no catalog.
const OTHER_TYPES: [&str; 7] = ["character", "nchar", "regclass", "regtype", "regnamespace", "regproc", "regprocedure"];

impl CatalogNames {
    /// The catalog's `relations`, `functions` and `types`, and DuckDB's own functions with the schemas that have them,
    /// and types.
    pub fn new(
        relations: impl IntoIterator<Item = String>,
        functions: impl IntoIterator<Item = String>,
        engine: impl IntoIterator<Item = (String, String)>,
        types: impl IntoIterator<Item = String>,
        engine_types: impl IntoIterator<Item = String>,
    ) -> Self {
        let engine = engine.into_iter().map(|(name, schema)| (name, format!("system.{schema}.")));
        // The catalog's functions replace those of DuckDB's with the same names.
        let functions = engine.chain(functions.into_iter().map(|name| (name, CATALOG.to_owned()))).collect();
        let engine_types = engine_types.into_iter().map(|name| name.to_lowercase()).map(|name| {
            let schema = if name == "json" { "system.main." } else { "" };
            (name, schema)
        });
        let others = OTHER_TYPES.map(|name| (name.to_owned(), ""));
        let types = types.into_iter().map(|name| (name, CATALOG)).chain(others).chain(engine_types).collect();
        Self(Arc::new(Names { relations: relations.into_iter().collect(), functions, types }))
    }

    /// What takes the place of `pg_catalog.` before the name at `at`: a schema with a dot, or nothing.
    ///
    /// DuckDB stores the text of a view or a default, and a database must not depend on this catalog. So CREATE gets no
    /// schema.
    pub(super) fn schema_of(&self, tokens: &[Token<'_>], at: usize) -> &str {
        let Some(token) = tokens.get(at).filter(|token| token.is_identifier()) else {
            return "";
        };
        let name = token.folded().to_lowercase();
        let is_call = tokens.get(at + 1).is_some_and(|next| next.is_symbol(b'('));
        let found = if is_call {
            // Also a type with a length.
            Some(self.0.functions.get(&name).map_or("", String::as_str))
        } else if self.0.relations.contains(&name) {
            Some(CATALOG)
        } else {
            self.0.types.get(&name).copied()
        };
        match found {
            Some(schema) if schema != CATALOG && !is_call || !tokens[0].is_word("create") => schema,
            Some(_) => "",
            None => UNKNOWN,
        }
    }

    /// The same for a name after `::`.
    pub(super) fn schema_of_type(&self, tokens: &[Token<'_>], at: usize) -> &str {
        let Some(token) = tokens.get(at).filter(|token| token.is_identifier()) else {
            return "";
        };
        match self.0.types.get(&token.folded().to_lowercase()) {
            Some(&CATALOG) if tokens[0].is_word("create") => "",
            Some(schema) => schema,
            None => UNKNOWN,
        }
    }
}

/// Some names, for tests.
#[cfg(test)]
pub(crate) fn some() -> CatalogNames {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let relations = owned(&["pg_class", "pg_index"]);
    let functions = owned(&["version", "pg_get_expr", "generate_subscripts"]);
    let engine = [("version", "main"), ("lower", "main"), ("pg_typeof", "pg_catalog"), ("generate_series", "main")];
    let engine = engine.map(|(name, schema)| (name.to_owned(), schema.to_owned()));
    CatalogNames::new(
        relations,
        functions,
        engine,
        owned(&["name"]),
        owned(&["JSON", "oid", "text", "int8", "int4", "numeric"]),
    )
}
