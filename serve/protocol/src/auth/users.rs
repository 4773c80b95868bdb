//! The users file. Each line has one user. The file has no passwords.
//!
//! ```text
//! "alice" read-write SCRAM-SHA-256$4096:…$…:…
//! "carol" read-write functions SCRAM-SHA-256$4096:…$…:…
//! "reports" read-only connections=4 SCRAM-SHA-256$4096:…$…:…
//! salts cG9z…
//! ```
//!
//! The line `salts` has the secret from which all salts are derived, also those of users who do not exist
//! (`unknown.rs`). If a file has no such line, the secret is derived from the verifiers. Adding a user also adds the
//! line.
//!
//! A double quote within a name is doubled. Empty lines and lines that begin with `#` are skipped.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use colonnade_login::scram::{ITERATIONS, Key, SALT_BYTES, Verifier, hmac};

pub use crate::engine::Role;

/// A user's rights and verifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's rights.
    pub role: Role,
    /// The limit on concurrent sessions of this user. `None` is the server's limit.
    pub connections: Option<usize>,
    /// Whether the user may create functions in Python.
    pub functions: bool,
    /// Verifies the password without storing it.
    pub verifier: Verifier,
}

/// Why a user cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    /// The name is not valid.
    #[error("a user's name has 1 to 63 bytes and no control characters")]
    Name,
    /// The password is empty.
    #[error("the password is empty; nobody could log in with it, because clients do not send an empty password")]
    NoPassword,
    /// A user who cannot change anything cannot create functions.
    #[error("a read-only user cannot create functions")]
    ReadOnlyFunctions,
    /// The operating system provides no random numbers.
    #[error("the operating system has no random numbers")]
    NoRandomness,
}

/// Why a users file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    /// The file cannot be read or written.
    #[error("cannot use {path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// Others may read or change the file.
    #[error("{0} can be read or changed by others; protect it: chmod 600 {0}")]
    Exposed(PathBuf),
    /// An invalid line.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// The problem.
        reason: &'static str,
    },
}

/// All users, by name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Users {
    by_name: BTreeMap<String, User>,
    /// The secret from which salts are derived, if the file has one.
    secret: Option<Key>,
}

/// PostgreSQL's NAMEDATALEN − 1.
pub(super) const MAX_NAME_BYTES: usize = 63;
/// The beginning of the line with the secret for salts.
const SALT_SECRET_PREFIX: &str = "salts ";
const HEADER: &str = "# Users of colonnade serve, written by `colonnade user`. This file has no passwords, but a reader can try to guess them.\n";

/// The salt of a user, derived from the secret.
pub(super) fn salt(secret: &Key, name: &str) -> Key {
    hmac(secret, &[b"salt\0", name.as_bytes()].concat())
}

impl Users {
    /// Reads a file. Only its owner and its group may have the right to read it, and only its owner the right to write
    /// it.
    ///
    /// # Errors
    /// If the file does not exist, others have more rights, or a line is invalid.
    pub fn read(path: &Path) -> Result<Self, UsersError> {
        Self::from_text(path, &Self::read_text(path)?)
    }

    /// The text of a file. Checks the file's permissions as [`Users::read`] does.
    pub(crate) fn read_text(path: &Path) -> Result<String, UsersError> {
        let failed = |error| UsersError::File { path: path.to_owned(), error };
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        if mode & 0o027 != 0 {
            return Err(UsersError::Exposed(path.to_owned()));
        }
        fs::read_to_string(path).map_err(failed)
    }

    /// Parses the text of a file. `path` is for errors.
    pub(crate) fn from_text(path: &Path, text: &str) -> Result<Self, UsersError> {
        Self::parse(text).map_err(|(line, reason)| UsersError::Line { path: path.to_owned(), line, reason })
    }

    /// Parses the text of a file. An error has the line's number and the problem.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut users = Self::default();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(secret) = line.strip_prefix(SALT_SECRET_PREFIX) {
                let secret = BASE64.decode(secret.trim()).ok().and_then(|secret| Key::try_from(secret).ok());
                let secret = secret.ok_or((at + 1, "salts is followed by 32 bytes in base64"))?;
                if users.secret.replace(secret).is_some() {
                    return Err((at + 1, "the file has another line \"salts\""));
                }
                continue;
            }
            let (name, user) = parse_line(line).map_err(|reason| (at + 1, reason))?;
            if users.by_name.insert(name, user).is_some() {
                return Err((at + 1, "the user has another line"));
            }
        }
        Ok(users)
    }

    /// Replaces the file atomically. Only its owner can read it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), UsersError> {
        let write = || -> io::Result<()> {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
            let new = directory.join(format!(".{name}.{}", std::process::id()));
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
            let written = file.write_all(format!("{HEADER}{self}").as_bytes()).and_then(|()| file.sync_all());
            let written = written.and_then(|()| fs::rename(&new, path));
            if written.is_err() {
                let _ = fs::remove_file(&new);
            }
            written?;
            File::open(directory)?.sync_all()
        };
        write().map_err(|error| UsersError::File { path: path.to_owned(), error })
    }

    /// Adds a user, or replaces its password, rights and limit. Gives whether the user is new.
    ///
    /// # Errors
    /// If the name or the password is not valid, or a read-only user is to create functions.
    pub fn add(
        &mut self,
        name: &str,
        password: &str,
        role: Role,
        connections: Option<usize>,
        functions: bool,
    ) -> Result<bool, UserError> {
        if functions && role == Role::ReadOnly {
            return Err(UserError::ReadOnlyFunctions);
        }
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control) {
            return Err(UserError::Name);
        }
        if password.is_empty() {
            return Err(UserError::NoPassword);
        }
        let secret = match self.secret {
            Some(secret) => secret,
            None => *self.secret.insert(random_key()?),
        };
        let salt = &salt(&secret, name)[..SALT_BYTES];
        let user = User { role, connections, functions, verifier: Verifier::new(password, salt, ITERATIONS) };
        Ok(self.by_name.insert(name.to_owned(), user).is_none())
    }

    /// The secret from which salts are derived. If the file has none, it is derived from the verifiers: only the server
    /// knows them, and a restart does not change them.
    pub(super) fn salt_secret(&self) -> Key {
        self.secret.unwrap_or_else(|| {
            let keys = |user: &User| [user.verifier.stored_key, user.verifier.server_key].concat();
            hmac(b"salts", &self.by_name.values().flat_map(keys).collect::<Vec<_>>())
        })
    }

    /// Removes a user. Gives whether the user existed.
    pub fn remove(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some()
    }

    /// The user with this name.
    pub fn find(&self, name: &str) -> Option<&User> {
        self.by_name.get(name)
    }

    /// All users, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &User)> {
        self.by_name.iter().map(|(name, user)| (name.as_str(), user))
    }
}

fn random_key() -> Result<Key, UserError> {
    let mut key = Key::default();
    rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty()).map_err(|_| UserError::NoRandomness)?;
    Ok(key)
}

/// Shows no key.
impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").field("by_name", &self.by_name).finish_non_exhaustive()
    }
}

impl fmt::Display for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(secret) = self.secret {
            writeln!(f, "{SALT_SECRET_PREFIX}{}", BASE64.encode(secret))?;
        }
        for (name, user) in self.iter() {
            write!(f, "\"{}\" {}", name.replace('"', "\"\""), user.role)?;
            if user.functions {
                f.write_str(" functions")?;
            }
            if let Some(connections) = user.connections {
                write!(f, " connections={connections}")?;
            }
            writeln!(f, " {}", user.verifier)?;
        }
        Ok(())
    }
}

fn parse_line(line: &str) -> Result<(String, User), &'static str> {
    let (name, rest) = parse_name(line).ok_or("a line begins with the user's name in double quotes")?;
    let (mut role, mut connections, mut functions, mut verifier) = (None, None, false, None);
    for word in rest.split_whitespace() {
        if let Ok(found) = word.parse() {
            role = Some(found);
        } else if word == "functions" {
            functions = true;
        } else if let Some(count) = word.strip_prefix("connections=") {
            connections = Some(count.parse().map_err(|_| "connections= is followed by a number")?);
        } else {
            verifier = Some(word.parse().map_err(|_| "no role, functions, connections=… or SCRAM-SHA-256 verifier")?);
        }
    }
    let role = role.ok_or("a user has a role: read-only or read-write")?;
    let verifier = verifier.ok_or("a user has a verifier: SCRAM-SHA-256$…")?;
    if functions && role == Role::ReadOnly {
        return Err("a read-only user cannot create functions");
    }
    Ok((name, User { role, connections, functions, verifier }))
}

/// A quoted name, and the text after it.
fn parse_name(line: &str) -> Option<(String, &str)> {
    let mut rest = line.strip_prefix('"')?;
    let mut name = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Some((name, after)).filter(|(name, _)| !name.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests;
