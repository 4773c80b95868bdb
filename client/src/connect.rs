//! From a URI to a connection: the one place that knows all sources.

use std::sync::Arc;

use crate::{Connection, Error, ErrorKind, Keep, Target, mysql, postgres};

/// Connects to the database that a URI names; its scheme says of which kind it is.
///
/// # Errors
/// No source has this scheme, the URI makes no sense to its source, or no connection came about.
pub fn connect(uri: &str, keep: Keep<'_>) -> Result<Arc<dyn Connection>, Error> {
    let scheme = uri.split(':').next().unwrap_or_default();
    match scheme {
        "postgresql" | "postgres" => Ok(Arc::new(postgres::connect(Target::parse(uri)?, keep)?)),
        "mysql" | "mariadb" => Ok(Arc::new(mysql::connect(uri, keep)?)),
        _ => Err(Error::new(ErrorKind::Unsupported, format!("there is no source for {scheme}: in this version"))
            .with_hint("use postgresql://, mysql:// or duckdb:")),
    }
}
