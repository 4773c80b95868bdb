//! What of the server functions must not read, compared with what their function processes may read.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{LIBRARIES, SYSTEM_FILES};

/// How many links a path may lead through: the kernel's limit (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// A file or a directory of the server that functions must not read. It need not exist.
#[derive(Clone, Debug)]
pub struct PrivatePath {
    /// What it is, such as `database`.
    pub what: String,
    /// Where it is.
    pub path: PathBuf,
}

/// A private path that functions could read.
#[derive(Clone, Debug)]
pub struct Exposure {
    private: PrivatePath,
    /// What functions may read.
    readable: PathBuf,
    /// Whether the private path is a directory around what functions may read.
    is_around: bool,
}

impl fmt::Display for Exposure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { private: PrivatePath { what, path }, readable, .. } = self;
        let (path, readable) = (path.display(), readable.display());
        if self.is_around {
            write!(formatter, "functions read {readable}, which is in the server's {what} {path}: ")?;
        } else {
            write!(formatter, "functions could read the server's {what} {path}, because they read {readable}: ")?;
        }
        formatter.write_str("move it, or let functions read something else (--udf-python, --udf-read)")
    }
}

impl std::error::Error for Exposure {}

/// Refuses to let function processes read `readable` and what they read of the system, if a private path lies in it, or
/// is a directory around it. Directories are compared as the file system knows them, not by their names.
///
/// # Errors
/// The first private path that functions could read.
pub fn check_private(readable: &[PathBuf], private: &[PrivatePath]) -> Result<(), Exposure> {
    let system = SYSTEM_FILES.iter().chain(&LIBRARIES).map(Path::new);
    // A path that does not exist gives no rule.
    let paths = readable.iter().map(PathBuf::as_path).chain(system);
    let readable: Vec<_> = paths.filter_map(|path| Some((path, Identity::of(path)?, around(path)))).collect();
    for private in private {
        let own = Identity::of(&private.path);
        let mut places = around(&private.path);
        // The path may be a link. Some files are written beside it, and not beside its target.
        places.extend(private.path.parent().into_iter().flat_map(around));
        for (path, identity, folders) in &readable {
            let is_around = own.is_some_and(|own| folders.contains(&own));
            if is_around || places.contains(identity) {
                let (private, readable) = (private.clone(), path.to_path_buf());
                return Err(Exposure { private, readable, is_around: is_around && Some(*identity) != own });
            }
        }
    }
    Ok(())
}

/// The device and the number of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity(u64, u64);

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|found| Self(found.dev(), found.ino()))
    }
}

/// What a path leads to, and all directories around that, as far as they exist.
fn around(path: &Path) -> Vec<Identity> {
    resolved(path, MAX_LINKS).ancestors().filter_map(Identity::of).collect()
}

/// The path without links. Its last parts may be missing, also behind a link.
fn resolved(path: &Path, links: usize) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    let folder = resolved(folder, links);
    match fs::read_link(folder.join(name)) {
        Ok(target) if links > 0 => resolved(&folder.join(target), links - 1),
        _ => folder.join(name),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use super::*;

    fn private(path: PathBuf) -> [PrivatePath; 1] {
        [PrivatePath { what: "database".to_owned(), path }]
    }

    #[test]
    fn a_private_path_lies_in_no_readable_one_however_it_is_written() {
        let folder = std::env::temp_dir().join(format!("colonnade-exposure-{}", std::process::id()));
        let (libraries, data) = (folder.join("libraries"), folder.join("data"));
        fs::create_dir_all(libraries.join("sub")).unwrap();
        fs::create_dir_all(&data).unwrap();
        for (at, target) in [
            ("link", "libraries"),
            ("data/new", "../libraries/sub/missing"),
            ("data/chain", "new"),
            ("data/loop", "loop"),
            ("libraries/outside", "../data/secret"),
        ] {
            symlink(target, folder.join(at)).unwrap();
        }
        let is_read =
            |readable: &str, path: &str| check_private(&[folder.join(readable)], &private(folder.join(path))).is_err();
        for path in ["libraries/secret", "link/secret", "data/../libraries/sub/a/b/secret", "libraries", "data/new"] {
            assert!(is_read("libraries", path) && is_read("link", path), "{path}");
        }
        // What a file's link leads to, through further links and to what does not exist; and what is beside the link.
        assert!(is_read("libraries", "data/chain") && is_read("libraries", "libraries/outside"));
        // A directory around what is read.
        assert!(is_read("libraries/sub", "libraries") && is_read("link/sub", "libraries"));
        for path in ["data/secret", "data/missing/secret", "libraries.duckdb", "data", "data/loop"] {
            assert!(!is_read("libraries", path), "{path}");
        }
        // Nothing is read of what does not exist.
        assert!(!is_read("missing", "missing/secret"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_system_s_libraries_are_read_too() {
        let found = check_private(&[], &private("/usr/lib/colonnade.duckdb".into())).unwrap_err().to_string();
        assert!(found.starts_with("functions could read the server's database /usr/lib/colonnade.duckdb"), "{found}");
    }
}
