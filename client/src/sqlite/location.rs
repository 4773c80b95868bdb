//! `sqlite:` URIs.

use std::ffi::CString;
use std::fmt::Write as _;
use std::time::Duration;

use super::library;
use crate::file_uri::{FileUri, MEMORY};
use crate::{Access, Error, ErrorKind};

/// The default timeout of another process's lock.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file, and how it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, or `:memory:`.
    pub path: String,
    /// The timeout of another process's lock.
    pub patience: Duration,
    /// The caller guarantees that nobody writes to the file: no locks, and no write-ahead log.
    pub immutable: bool,
    /// For a gateway's clients, or for this program.
    pub access: Access,
    uri: FileUri,
}

impl Location {
    /// Reads `sqlite:///relative/path`, `sqlite:////absolute/path` or `sqlite:path`, with the parameters `timeout`
    /// (seconds), `immutable` and `mode` (only `ro`). `sqlite:///:memory:` is an empty database.
    ///
    /// # Errors
    /// Another scheme, a host, no file, a malformed escape, or an unknown parameter.
    pub fn parse(uri: &str) -> Result<Self, Error> {
        let uri = FileUri::parse(uri)?;
        if uri.scheme != "sqlite" {
            return Err(usage("the URI does not start with sqlite:"));
        }
        if uri.path.is_empty() {
            return Err(usage("the URI names no file: write sqlite:///relative/path or sqlite:////absolute/path"));
        }
        let path = uri.path.clone();
        let mut location = Self { path, patience: PATIENCE, immutable: false, access: Access::Own, uri };
        for (key, value) in location.uri.parameters.clone() {
            location.set(&key, &value)?;
        }
        Ok(location)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        match (key, value) {
            ("timeout", seconds) => {
                let seconds = seconds.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                self.patience = seconds.ok_or_else(|| usage("timeout is not a number of seconds"))?;
            }
            ("immutable", "0" | "1") => self.immutable = value == "1",
            ("mode", "ro") => {}
            ("mode", _) => return Err(usage("an SQLite file is opened to read only: leave mode out")),
            _ => {
                return Err(usage(format!(
                    "the URI has an unknown parameter {key:?} or value: there are timeout=seconds and immutable=1"
                )));
            }
        }
        Ok(())
    }

    /// The name of the source in errors and statistics.
    pub(super) fn name(&self) -> String {
        self.uri.name()
    }

    /// The file's name; `None` if there is no file.
    pub(super) fn file_name(&self) -> Option<&str> {
        (self.path != MEMORY).then_some(&self.path)
    }

    /// The name for SQLite, and whether it is a URI of SQLite.
    pub(super) fn file(&self) -> Result<(CString, bool), Error> {
        let name = if self.immutable { self.immutable_uri() } else { self.path.clone() };
        let name = library::c_string(&name).ok_or_else(|| usage("the URI holds a NUL character"))?;
        Ok((name, self.immutable))
    }

    /// <https://www.sqlite.org/uri.html>
    fn immutable_uri(&self) -> String {
        let mut uri = "file:".to_owned();
        for byte in self.path.bytes() {
            if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
                uri.push(char::from(byte));
            } else {
                // Writing to a String cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
        uri + "?immutable=1"
    }

    /// Checks that there is a file that can be read. SQLite only reports that it could not open it.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.path == MEMORY { Ok(()) } else { self.uri.check() }
    }
}

fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn parameters() {
        let location = Location::parse("sqlite:/a?timeout=0.5&immutable=1&mode=ro").unwrap();
        assert_eq!((location.patience, location.immutable), (Duration::from_millis(500), true));
        assert_eq!(location.file().unwrap(), (CString::new("file:/a?immutable=1").unwrap(), true));
        assert_eq!(location.name(), "sqlite:////a");
        let hash = Location::parse("sqlite:a%23%25b?immutable=1").unwrap();
        assert_eq!(hash.file().unwrap().0, CString::new("file:a%23%25b?immutable=1").unwrap());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for uri in [
            "sqlite:",
            "sqlite://",
            "sqlite:///",
            "sqlite://a.db",
            "duckdb:///a.db",
            "sqlite:a%0",
            "sqlite:a?x=1",
            "sqlite:a?mode=rwc",
            "sqlite:a?timeout=-1",
        ] {
            assert_eq!(Location::parse(uri).unwrap_err().kind(), ErrorKind::Usage, "{uri}");
        }
    }
}
