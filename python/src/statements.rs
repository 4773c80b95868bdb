//! How many statements a text has, for a source whose driver does not tell.

use colonnade_sql::certain::{self, Uncertain};
use colonnade_sql::{Dialect, split};
use pyo3::prelude::*;

/// The number of statements in a text of `product`'s SQL, by the name that its driver gives it; None if it may have
/// several and nobody but the database can tell.
#[pyfunction]
pub(crate) fn count_statements(sql: &str, product: &str) -> Option<usize> {
    count(sql, Dialect::of_name(&product.to_ascii_lowercase())).ok()
}

fn count(sql: &str, dialect: Dialect) -> Result<usize, Uncertain> {
    let count = |dialect| split::split(sql, dialect).count();
    // Whether a backslash escapes is a setting of the session's.
    let (one, other) = match dialect {
        Dialect::Unknown => return certain::split(sql).map(|statements| statements.len()),
        Dialect::Postgres { .. } => (Dialect::Postgres { backslashes: false }, Dialect::Postgres { backslashes: true }),
        Dialect::MySql { .. } => (Dialect::MySql { backslashes: false }, Dialect::MySql { backslashes: true }),
        Dialect::DuckDb | Dialect::Sqlite => return Ok(count(dialect)),
    };
    let found = count(one);
    if found == count(other) { Ok(found) } else { Err(Uncertain) }
}
