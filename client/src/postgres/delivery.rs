//! How a server delivers results: it announces the format, or it is PostgreSQL, whose extension must be found and
//! loaded. PROTOCOL §1.

use super::extended::text_row;
use super::message::{self, protocol, shown};
use super::request;
use super::server_connection::ServerConnection;
use crate::shared_connection::Tick;
use crate::{Error, ErrorKind, ExtensionVersions};

/// The schema of the extension's functions, as an identifier; no row without the extension. It reads one table of the
/// catalog, because a new backend takes longer to plan a join. `regnamespace` exists since PostgreSQL 9.5, and the
/// extension needs 14.
const FIND: &str =
    "SELECT extnamespace::pg_catalog.regnamespace FROM pg_catalog.pg_extension WHERE extname = 'colonnade'";

/// The extension's version in this database, and that of its files. Everybody may read both views since PostgreSQL 9.1.
const INSTALLED: &str = "SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'colonnade'";
const AVAILABLE: &str = "SELECT default_version FROM pg_catalog.pg_available_extensions WHERE name = 'colonnade'";

/// The kind of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// `colonnade serve`, which sends versions of the format up to this one.
    Served(u32),
    /// PostgreSQL with the extension, which sends versions of the format up to `format`.
    Extension {
        format: u32,
        /// The statement that loads the extension into a backend; `None` if every backend has loaded it at its start.
        load: Option<String>,
    },
    /// A server that does not know the format. It sends results in its own protocol.
    #[default]
    Stock,
}

impl Delivery {
    /// Reads a ParameterStatus of the login, if it is about the format.
    pub(crate) fn announced(parameter: &str, value: &str) -> Option<Self> {
        let format = value.trim().parse().unwrap_or(0);
        match parameter {
            "colonnade" => Some(Self::Served(format)),
            "colonnade.version" => Some(Self::Extension { format, load: None }),
            _ => None,
        }
    }

    /// Finds out how a server without an announcement delivers results. The inner error leaves the connection usable.
    ///
    /// # Errors
    /// The connection is lost. The inner error: the extension exists but cannot be loaded, or is too old.
    pub(crate) fn find(connection: &mut ServerConnection, tick: Tick<'_>) -> Result<Result<Self, Error>, Error> {
        connection.send(&question()?)?;
        let load = match found(connection, tick)? {
            Ok(Some(load)) => load,
            Ok(None) => return Ok(Ok(Self::Stock)),
            Err(error) => return Ok(Err(error)),
        };
        let version = match ask(connection, &load, tick)? {
            Ok(version) => version,
            Err(error) if is_of_the_moment(&error) => return Ok(Err(error)),
            Err(error) => return Ok(Err(not_loaded(error, &load))),
        };
        Ok(Self::loaded(load, version).check())
    }

    /// The delivery of an extension whose function has returned `version`.
    pub(crate) fn loaded(load: String, version: Option<String>) -> Self {
        let format = version.and_then(|version| version.trim().parse().ok()).unwrap_or(0);
        Self::Extension { format, load: Some(load) }
    }

    /// Checks that the server sends a version that this client reads.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn check(self) -> Result<Self, Error> {
        let format = match self {
            Self::Served(format) | Self::Extension { format, .. } => format,
            Self::Stock => return Ok(self),
        };
        if format < request::VERSION {
            let message = format!("the server sends the Colonnade format up to version {format} only");
            return Err(Error::new(ErrorKind::Unsupported, message).with_hint("update the server, or its extension"));
        }
        Ok(self)
    }

    /// The server's software; `version` is its `server_version`.
    pub(crate) fn software(&self, version: &str) -> String {
        // Packagers add their own name and number after a space.
        let number = version.split(' ').next().unwrap_or_default();
        match self {
            Self::Served(_) => version.to_owned(),
            Self::Extension { format, .. } => format!("PostgreSQL {number} with colonnade {format}"),
            Self::Stock => format!("PostgreSQL {number}"),
        }
    }

    /// The COPY for a backend in which the extension may not be loaded, because a pooler has switched to it. One
    /// message loads the extension and sends the COPY, because a pooler may switch between two messages.
    pub(crate) fn reload(&self, copy: &str) -> Option<String> {
        match self {
            Self::Extension { load: Some(load), .. } => Some(format!("{load};\n{copy}")),
            _ => None,
        }
    }
}

/// Whether this is PostgreSQL's error for an unknown COPY format. PROTOCOL §5.
pub(crate) fn is_unknown_format(error: &Error) -> bool {
    // The message is translated, but the format's name is not.
    error.sqlstate() == Some("22023") && error.message().contains("colonnade")
}

/// The message that asks PostgreSQL for the extension.
///
/// # Errors
/// None.
pub(crate) fn question() -> Result<Vec<u8>, Error> {
    message::query(FIND)
}

/// Receives the answer to [`question`]: the statement that loads the extension, if there is one. The inner error tells
/// nothing about the extension.
///
/// # Errors
/// The connection is lost.
pub(crate) fn found(connection: &mut ServerConnection, tick: Tick<'_>) -> Result<Result<Option<String>, Error>, Error> {
    Ok(match value(connection, tick)? {
        Ok(schema) => Ok(schema.map(|schema| format!("SELECT {schema}.colonnade_version()"))),
        Err(error) if is_of_the_moment(&error) => Err(error),
        // A server that only imitates PostgreSQL may lack the catalog. It has no extension.
        Err(_) => Ok(None),
    })
}

/// Whether an error tells nothing about the extension: the request was cancelled (class 57), or the server lacks
/// something now (53). The query that asks gets it.
fn is_of_the_moment(error: &Error) -> bool {
    error.sqlstate().is_some_and(|state| state.starts_with("53") || state.starts_with("57"))
}

fn not_loaded(error: Error, load: &str) -> Error {
    let schema = load.trim_start_matches("SELECT ").trim_end_matches(".colonnade_version()");
    let message = format!("the extension colonnade cannot be loaded: {}", error.message());
    let hint = error.hint().map_or_else(
        || format!("the extension's files must fit the server, and the user needs USAGE on schema {schema}"),
        str::to_owned,
    );
    let sqlstate = error.sqlstate().map(str::to_owned);
    let found = Error::new(error.kind(), message).with_hint(hint).with_cause(error);
    sqlstate.into_iter().fold(found, Error::with_sqlstate)
}

/// The versions of the extension in this database and on this server.
///
/// # Errors
/// The connection is lost. The inner error is the database's.
pub(crate) fn extension_versions(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
) -> Result<Result<ExtensionVersions, Error>, Error> {
    let (installed, available) = match (ask(connection, INSTALLED, tick)?, ask(connection, AVAILABLE, tick)?) {
        (Ok(installed), Ok(available)) => (installed, available),
        (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
    };
    Ok(Ok(ExtensionVersions { installed, available }))
}

/// The first value of a query's first row; `None` for no row and for NULL. The inner error is the database's and
/// leaves the connection usable.
pub(crate) fn ask(
    connection: &mut ServerConnection,
    sql: &str,
    tick: Tick<'_>,
) -> Result<Result<Option<String>, Error>, Error> {
    connection.send(&message::query(sql)?)?;
    value(connection, tick)
}

/// Receives the answer to a query: the first value of its first row, as [`ask`].
///
/// # Errors
/// The connection is lost.
pub(crate) fn value(connection: &mut ServerConnection, tick: Tick<'_>) -> Result<Result<Option<String>, Error>, Error> {
    let mut value = None;
    let failed = connection.simple_answer(tick, &mut |kind, bytes| match kind {
        b'D' if value.is_none() => {
            value = first_value(bytes)?;
            Ok(())
        }
        b'T' | b'D' | b'C' | b'I' | b'N' | b'A' => Ok(()),
        _ => Err(protocol(format!("a message {}", shown(kind)))),
    })?;
    Ok(failed.map(|()| value))
}

/// The first value of a DataRow in text.
fn first_value(row: &[u8]) -> Result<Option<String>, Error> {
    Ok(text_row(row)?.into_iter().next().flatten())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn both_names_announce() {
        assert_eq!(Delivery::announced("colonnade", "1"), Some(Delivery::Served(1)));
        let extension = Delivery::announced("colonnade.version", "2").unwrap();
        assert_eq!(extension, Delivery::Extension { format: 2, load: None });
        assert_eq!(extension.reload("COPY"), None);
        assert_eq!(Delivery::announced("server_version", "15"), None);
    }

    #[test]
    fn the_software_says_what_it_is() {
        let extension = Delivery::Extension { format: 1, load: None };
        assert_eq!(extension.software("15.18 (Debian 15.18-0+deb12u1)"), "PostgreSQL 15.18 with colonnade 1");
        assert_eq!(Delivery::Served(1).software("DuckDB 2.0.0"), "DuckDB 2.0.0");
    }

    #[test]
    fn loading_and_copying_are_one_message() {
        let extension = Delivery::Extension { format: 1, load: Some("SELECT s.colonnade_version()".to_owned()) };
        assert_eq!(extension.reload("COPY x").unwrap(), "SELECT s.colonnade_version();\nCOPY x");
    }

    #[test]
    fn only_an_unknown_format_is_one() {
        let error = |sqlstate: &str, message: &str| Error::new(ErrorKind::Database, message).with_sqlstate(sqlstate);
        assert!(is_unknown_format(&error("22023", "COPY format \"colonnade\" not recognized")));
        assert!(is_unknown_format(&error("22023", "COPY-ValueFormat »colonnade« nicht erkannt")));
        assert!(!is_unknown_format(&error("22023", "step size cannot equal zero")));
        assert!(!is_unknown_format(&error("42601", "COPY format \"colonnade\" not recognized")));
    }

    #[test]
    fn a_row_gives_its_first_value() {
        assert_eq!(first_value(b"\0\x02\0\0\0\x01a\xff\xff\xff\xff").unwrap().as_deref(), Some("a"));
        assert_eq!(first_value(b"\0\x01\xff\xff\xff\xff").unwrap(), None);
        assert_eq!(first_value(b"\0\0").unwrap(), None);
        assert!(first_value(b"\0\x01\0\0\0\x05a").is_err());
        assert!(first_value(b"\0").is_err());
    }
}
