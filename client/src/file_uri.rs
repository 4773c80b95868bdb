//! URIs of databases that are files.

use std::path::Path;

use crate::uri::decode;
use crate::{Error, ErrorKind};

/// The path of a database in memory.
pub const MEMORY: &str = ":memory:";

/// A URI of a file in SQLAlchemy's form: three slashes begin a relative path, four an absolute one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUri {
    /// Such as `sqlite`.
    pub scheme: String,
    /// The file; empty if the URI names none.
    pub path: String,
    /// The parameters after the `?`, in order.
    pub parameters: Vec<(String, String)>,
}

impl FileUri {
    /// Reads `scheme:///relative/path`, `scheme:////absolute/path` or `scheme:path`, with parameters after a `?`.
    ///
    /// # Errors
    /// There is a host, or a malformed escape.
    pub fn parse(uri: &str) -> Result<Self, Error> {
        let (scheme, rest) = uri.split_once(':').unwrap_or((uri, ""));
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = match (place.strip_prefix("///"), place.strip_prefix("//")) {
            (Some(path), _) => path,
            (None, Some("")) => "",
            (None, Some(host)) => {
                let hint =
                    format!("write {scheme}:///{host} for a relative path, {scheme}:////{host} for an absolute one");
                return Err(Error::new(ErrorKind::Usage, format!("a {scheme} URI names no host")).with_hint(hint));
            }
            (None, None) => place,
        };
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let parameters = pairs.map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(key)?, decode(value)?))
        });
        Ok(Self {
            scheme: scheme.to_owned(),
            path: decode(path)?,
            parameters: parameters.collect::<Result<_, Error>>()?,
        })
    }

    /// The name of the source in errors and statistics.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}:///{}", self.scheme, self.path)
    }

    /// Checks that there is a file at the path. It creates nothing.
    ///
    /// # Errors
    /// There is none, or it cannot be accessed. The hint names the file that the other kind of path would find.
    pub fn check(&self) -> Result<(), Error> {
        let failed = |message: String| Error::new(ErrorKind::Connect, message);
        match std::fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => Err(failed("this is a directory: name the file in it".to_owned())),
            Ok(_) => Ok(()),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                let error = failed(format!("there is no such file: {:?}; none is created", self.path));
                Err(match self.elsewhere() {
                    Some(hint) => error.with_hint(hint),
                    None => error,
                })
            }
            Err(cause) => Err(failed(format!("the file cannot be reached: {cause}")).with_cause(cause)),
        }
    }

    /// The hint, if the same path names a file when it is read as absolute, or as relative.
    fn elsewhere(&self) -> Option<String> {
        let scheme = &self.scheme;
        let relative = self.path.trim_start_matches('/');
        if self.path.starts_with('/') {
            let hint =
                format!("four slashes make a path absolute: for the file {relative:?} write {scheme}:///{relative}");
            return (!relative.is_empty() && Path::new(relative).is_file()).then_some(hint);
        }
        let absolute = format!("/{relative}");
        let hint =
            format!("three slashes make a path relative: for the file {absolute:?} write {scheme}:///{absolute}");
        Path::new(&absolute).is_file().then_some(hint)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn path(uri: &str) -> String {
        FileUri::parse(uri).unwrap().path
    }

    #[test]
    fn every_way_to_write_a_path() {
        assert_eq!(path("sqlite:///lab.db"), "lab.db");
        assert_eq!(path("sqlite:///data/a%20b.db"), "data/a b.db");
        assert_eq!(path("sqlite:////tmp/a%20b.db"), "/tmp/a b.db");
        assert_eq!(path("duckdb:a/b.db"), "a/b.db");
        assert_eq!(path("duckdb:/a/b.db"), "/a/b.db");
        assert_eq!(path("sqlite:./a%3Fb.db?timeout=1"), "./a?b.db");
        for uri in ["duckdb:///:memory:", "duckdb::memory:"] {
            assert_eq!(path(uri), MEMORY);
        }
        for uri in ["duckdb:", "duckdb://", "duckdb:///", "duckdb:?a=b"] {
            assert_eq!(path(uri), "");
        }
    }

    #[test]
    fn a_host_is_refused_with_what_to_write() {
        let error = FileUri::parse("sqlite://lab.db?timeout=1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.hint().unwrap().starts_with("write sqlite:///lab.db for a relative path, sqlite:////lab.db"));
    }

    #[test]
    fn parameters_are_decoded() {
        let uri = FileUri::parse("duckdb:///a?access_mode=read%5Fonly&b").unwrap();
        let found: Vec<_> = uri.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(found, [("access_mode", "read_only"), ("b", "")]);
        assert_eq!(uri.name(), "duckdb:///a");
    }

    #[test]
    fn the_name_is_a_uri_of_the_same_file() {
        for uri in ["sqlite:///a/b", "sqlite:////a/b", "sqlite:./a", "sqlite:/a"] {
            assert_eq!(path(&FileUri::parse(uri).unwrap().name()), path(uri));
        }
    }
}
