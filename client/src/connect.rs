//! Connects to the source of a URI. Only this file knows all sources of this crate. The package's other sources are in
//! Python, `colonnade._sources`.

use std::sync::Arc;

use crate::postgres::{self, Conninfo};
use crate::{Access, Connection, ContinueCheck, Error, ErrorKind, mysql, sqlite};

/// Whom to log in as, in place of what a URI and the environment say.
#[derive(Clone, Default)]
pub struct Login {
    /// The user's name.
    pub user: Option<String>,
    /// The password. Never shown.
    pub password: Option<String>,
}

/// Connects to the database of a URI, by its scheme. Keywords and values, `host=… dbname=…`, mean PostgreSQL.
///
/// # Errors
/// No source has this scheme, the URI is wrong for its source, or no connection could be made.
pub fn connect(uri: &str, keep: ContinueCheck<'_>) -> Result<Arc<dyn Connection>, Error> {
    connect_for(Access::Own, uri, keep)
}

/// The same for a gateway's clients, or for this program.
///
/// # Errors
/// As for [`connect`]; for a gateway, also if the source cannot get the settings that the gateway announces.
pub fn connect_for(access: Access, uri: &str, keep: ContinueCheck<'_>) -> Result<Arc<dyn Connection>, Error> {
    open(access, uri, &Login::default(), keep)
}

/// The same as a user who is named outside of the URI.
///
/// # Errors
/// As for [`connect`]; the source has no users.
pub fn connect_as(login: &Login, uri: &str, keep: ContinueCheck<'_>) -> Result<Arc<dyn Connection>, Error> {
    open(Access::Own, uri, login, keep)
}

fn open(access: Access, uri: &str, login: &Login, keep: ContinueCheck<'_>) -> Result<Arc<dyn Connection>, Error> {
    let postgres =
        |keep| Ok(Arc::new(postgres::connect(Conninfo::parse_as(uri, login)?.for_access(access), keep)?) as Arc<_>);
    if Conninfo::is_keywords(uri) {
        return postgres(keep);
    }
    let scheme = uri.split(':').next().unwrap_or_default();
    match scheme {
        "postgresql" | "postgres" | "colonnade" => postgres(keep),
        "mysql" | "mariadb" => Ok(Arc::new(mysql::connect_with(access, uri, login, keep)?)),
        "sqlite" if login.user.is_some() || login.password.is_some() => {
            Err(Error::new(ErrorKind::Usage, "an SQLite file has no users: leave out the user name and the password"))
        }
        "sqlite" => {
            let mut location = sqlite::Location::parse(uri)?;
            location.access = access;
            Ok(Arc::new(sqlite::connect(&location, keep)?))
        }
        _ => Err(Error::new(ErrorKind::Unsupported, format!("there is no source for {scheme}: in this version"))
            .with_hint("use postgresql://, colonnade://, mysql://, sqlite:, duckdb:, adbc: or odbc:")),
    }
}
