//! `sqlite:` URIs.

use std::ffi::CString;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::library;
use crate::uri::decode;
use crate::{Access, Error, ErrorKind};

const MEMORY: &str = ":memory:";
/// How long to wait for another process's lock, if the URI does not say.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which file to read, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, or `:memory:`.
    pub path: String,
    /// How long to wait for another process's lock.
    pub patience: Duration,
    /// The caller knows that nobody writes to it: no locks, and no write-ahead log.
    pub immutable: bool,
    /// On whose behalf.
    pub access: Access,
    /// Another file that SQLAlchemy's reading of the same URI means.
    other: Option<String>,
}

impl Location {
    /// Reads `sqlite:///absolute/path`, `sqlite:relative/path` or `sqlite://path`, with the parameters `timeout` (seconds), `immutable`
    /// and `mode` (only `ro`). `sqlite:///:memory:` is an empty database.
    ///
    /// # Errors
    /// Another scheme, no file, a malformed escape, or an unknown parameter.
    pub fn parse(uri: &str) -> Result<Self, Error> {
        let Some(rest) = uri.strip_prefix("sqlite:") else { return Err(usage("the URI does not start with sqlite:")) };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = decode(place.strip_prefix("//").unwrap_or(place))?;
        if path.is_empty() || path == "/" {
            return Err(usage("the URI names no file: write sqlite:///absolute/path or sqlite:relative/path"));
        }
        let other = place.starts_with("///").then(|| path.trim_start_matches('/').to_owned());
        let path = if path == "/:memory:" { MEMORY.to_owned() } else { path };
        let mut location = Self { path, patience: PATIENCE, immutable: false, access: Access::Own, other };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            location.set(&decode(key)?, &decode(value)?)?;
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

    /// What errors and statistics call the source.
    pub(super) fn name(&self) -> String {
        if self.path.starts_with('/') { format!("sqlite://{}", self.path) } else { format!("sqlite:{}", self.path) }
    }

    /// The file's name; `None` if there is no file.
    pub(super) fn file_name(&self) -> Option<&str> {
        (self.path != MEMORY).then_some(&self.path)
    }

    /// What SQLite is to open, and whether that is a URI of SQLite's own.
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

    /// That there is a file which can be read: SQLite itself says only that it could not open it.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.path == MEMORY {
            return Ok(());
        }
        let failed = |message: String| Error::new(ErrorKind::Connect, message);
        match std::fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => Err(failed("this is a directory: name the file in it".to_owned())),
            Ok(_) => Ok(()),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                let error = failed("there is no such file; none is created".to_owned());
                Err(match self.other.as_ref().filter(|other| Path::new(other).exists()) {
                    Some(other) => error.with_hint(format!("three slashes make a path absolute: write sqlite:{other}")),
                    None => error,
                })
            }
            Err(cause) => Err(failed(format!("the file cannot be reached: {cause}")).with_cause(cause)),
        }
    }
}

fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn path(uri: &str) -> String {
        Location::parse(uri).unwrap().path
    }

    #[test]
    fn every_way_to_write_a_path() {
        assert_eq!(path("sqlite:///tmp/a%20b.db"), "/tmp/a b.db");
        assert_eq!(path("sqlite:////tmp/a.db"), "//tmp/a.db");
        assert_eq!(path("sqlite://a.db"), "a.db");
        assert_eq!(path("sqlite:a/b.db"), "a/b.db");
        assert_eq!(path("sqlite:./a%3Fb.db?timeout=1"), "./a?b.db");
        assert_eq!(path("sqlite:///:memory:"), ":memory:");
        assert_eq!(path("sqlite::memory:"), ":memory:");
    }

    #[test]
    fn parameters() {
        let location = Location::parse("sqlite:/a?timeout=0.5&immutable=1&mode=ro").unwrap();
        assert_eq!((location.patience, location.immutable), (Duration::from_millis(500), true));
        assert_eq!(location.file().unwrap(), (CString::new("file:/a?immutable=1").unwrap(), true));
        assert_eq!(location.name(), "sqlite:///a");
        let hash = Location::parse("sqlite:a%23%25b?immutable=1").unwrap();
        assert_eq!(hash.file().unwrap().0, CString::new("file:a%23%25b?immutable=1").unwrap());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for uri in [
            "sqlite:",
            "sqlite://",
            "sqlite:///",
            "sqlite:a%0",
            "sqlite:a?x=1",
            "sqlite:a?mode=rwc",
            "sqlite:a?timeout=-1",
        ] {
            assert_eq!(Location::parse(uri).unwrap_err().kind(), ErrorKind::Usage, "{uri}");
        }
    }
}
