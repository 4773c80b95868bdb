//! From a URI to a connection: the one place that knows all sources.

use std::sync::Arc;

use crate::postgres::{self, Conninfo};
use crate::{Connection, Error, ErrorKind, Keep, mysql, sqlite};

/// Connects to the database that a URI names; its scheme says of which kind it is. Keywords and values, `host=… dbname=…`, are PostgreSQL's.
///
/// # Errors
/// No source has this scheme, the URI makes no sense to its source, or no connection came about.
pub fn connect(uri: &str, keep: Keep<'_>) -> Result<Arc<dyn Connection>, Error> {
    if Conninfo::is_keywords(uri) {
        return Ok(Arc::new(postgres::connect(Conninfo::parse(uri)?, keep)?));
    }
    let scheme = uri.split(':').next().unwrap_or_default();
    match scheme {
        "postgresql" | "postgres" => Ok(Arc::new(postgres::connect(Conninfo::parse(uri)?, keep)?)),
        "mysql" | "mariadb" => Ok(Arc::new(mysql::connect(uri, keep)?)),
        "sqlite" => Ok(Arc::new(sqlite::connect(&sqlite::Location::parse(uri)?, keep)?)),
        _ => Err(Error::new(ErrorKind::Unsupported, format!("there is no source for {scheme}: in this version"))
            .with_hint("use postgresql://, mysql://, sqlite:, duckdb:, adbc: or odbc:")),
    }
}
