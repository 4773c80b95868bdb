//! The users file: a user a line, without passwords.
//!
//! ```text
//! "alice" read-write SCRAM-SHA-256$4096:…$…:…
//! "reports" read-only connections=4 SCRAM-SHA-256$4096:…$…:…
//! salts cG9z…
//! ```
//!
//! The line `salts` is a secret of which salts are made, those of users who are there and of those who are not. A file without one works:
//! its verifiers are the secret then, until a user is added, and with it a secret that stays.
//!
//! A double quote within a name is doubled. Empty lines and lines that begin with `#` are passed over.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use colonnade_login::scram::{ITERATIONS, Key, SALT_BYTES, Verifier, hmac};

use super::unknown;

pub use crate::engine::Role;

/// What a user may do, and how it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// What it may do.
    pub role: Role,
    /// How many sessions it may have at a time, if that is limited for it alone.
    pub connections: Option<usize>,
    /// In place of the password.
    pub verifier: Verifier,
}

/// A user that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    /// The name cannot be used.
    #[error("a user's name has 1 to 63 bytes and no control characters")]
    Name,
    /// There is nothing to know it by.
    #[error("the password is empty; an empty one would let nobody in, since clients do not send it")]
    NoPassword,
    /// The operating system refuses.
    #[error("the operating system has no random numbers")]
    NoRandomness,
}

/// What is wrong with a users file.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    /// It cannot be read or written.
    #[error("cannot use {path}: {error}")]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Others may read or change it.
    #[error("{0} can be read or changed by others; protect it: chmod 600 {0}")]
    Exposed(PathBuf),
    /// A line that is none.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// Of which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: &'static str,
    },
}

/// All users, by name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Users {
    by_name: BTreeMap<String, User>,
    /// What salts are made of, if the file has it.
    secret: Option<Key>,
}

/// PostgreSQL's NAMEDATALEN, less one.
pub(super) const LONGEST_NAME: usize = 63;
/// What the line begins with that holds the secret.
const SALTS: &str = "salts ";
const HEADER: &str = "# Users of colonnade serve, written by `colonnade user`. There are no passwords in it, but whoever reads it can try to guess them.\n";

impl Users {
    /// Reads a file. Others than its owner and its group may not read it, and none but its owner may write it.
    ///
    /// # Errors
    /// If it is not there, is open to others, or holds something else.
    pub fn read(path: &Path) -> Result<Self, UsersError> {
        Self::from_text(path, &Self::text(path)?)
    }

    /// What a file holds that is protected as [`Users::read`] wants it.
    pub(crate) fn text(path: &Path) -> Result<String, UsersError> {
        let failed = |error| UsersError::File { path: path.to_owned(), error };
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        if mode & 0o027 != 0 {
            return Err(UsersError::Exposed(path.to_owned()));
        }
        fs::read_to_string(path).map_err(failed)
    }

    /// Reads what the file `path` holds.
    pub(crate) fn from_text(path: &Path, text: &str) -> Result<Self, UsersError> {
        Self::parse(text).map_err(|(line, reason)| UsersError::Line { path: path.to_owned(), line, reason })
    }

    /// Reads what a file holds; the error is a line's number and what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut users = Self::default();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(secret) = line.strip_prefix(SALTS) {
                let secret = BASE64.decode(secret.trim()).ok().and_then(|secret| Key::try_from(secret).ok());
                let secret = secret.ok_or((at + 1, "salts is followed by 32 bytes in base64"))?;
                if users.secret.replace(secret).is_some() {
                    return Err((at + 1, "there is a line for salts already"));
                }
                continue;
            }
            let (name, user) = parse_line(line).map_err(|reason| (at + 1, reason))?;
            if users.by_name.insert(name, user).is_some() {
                return Err((at + 1, "the user has a line already"));
            }
        }
        Ok(users)
    }

    /// Writes a file in place of the one that is there: whole, or not at all. Its owner alone may read it.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn write(&self, path: &Path) -> Result<(), UsersError> {
        let write = || -> io::Result<()> {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
            let new = directory.join(format!(".{name}.{}", std::process::id()));
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
            let written = file.write_all(format!("{HEADER}{self}").as_bytes()).and_then(|()| file.sync_all());
            let written = written.and_then(|()| fs::rename(&new, path));
            if written.is_err() {
                // It would only be in the way.
                let _ = fs::remove_file(&new);
            }
            written?;
            File::open(directory)?.sync_all()
        };
        write().map_err(|error| UsersError::File { path: path.to_owned(), error })
    }

    /// Adds a user, or gives it another password, role and limit. Gives whether it is new.
    ///
    /// # Errors
    /// If there can be no such user.
    pub fn add(
        &mut self,
        name: &str,
        password: &str,
        role: Role,
        connections: Option<usize>,
    ) -> Result<bool, UserError> {
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(UserError::Name);
        }
        if password.is_empty() {
            return Err(UserError::NoPassword);
        }
        let secret = match self.secret {
            Some(secret) => secret,
            None => *self.secret.insert(random()?),
        };
        let salt = &unknown::salt(&secret, name)[..SALT_BYTES];
        let user = User { role, connections, verifier: Verifier::new(password, salt, ITERATIONS) };
        Ok(self.by_name.insert(name.to_owned(), user).is_none())
    }

    /// What salts are made of. Where the file does not say, it is made of what nobody outside knows and a restart does not change.
    pub(super) fn secret(&self) -> Key {
        self.secret.unwrap_or_else(|| {
            let keys = |user: &User| [user.verifier.stored_key, user.verifier.server_key].concat();
            hmac(b"salts", &self.by_name.values().flat_map(keys).collect::<Vec<_>>())
        })
    }

    /// Takes a user away. Gives whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some()
    }

    /// A user.
    pub fn find(&self, name: &str) -> Option<&User> {
        self.by_name.get(name)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &User)> {
        self.by_name.iter().map(|(name, user)| (name.as_str(), user))
    }
}

fn random() -> Result<Key, UserError> {
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
            writeln!(f, "{SALTS}{}", BASE64.encode(secret))?;
        }
        for (name, user) in self.iter() {
            write!(f, "\"{}\" {}", name.replace('"', "\"\""), user.role)?;
            if let Some(connections) = user.connections {
                write!(f, " connections={connections}")?;
            }
            writeln!(f, " {}", user.verifier)?;
        }
        Ok(())
    }
}

fn parse_line(line: &str) -> Result<(String, User), &'static str> {
    let (name, rest) = name(line).ok_or("a line begins with the user's name in double quotes")?;
    let (mut role, mut connections, mut verifier) = (None, None, None);
    for word in rest.split_whitespace() {
        if let Ok(found) = word.parse() {
            role = Some(found);
        } else if let Some(count) = word.strip_prefix("connections=") {
            connections = Some(count.parse().map_err(|_| "connections= is followed by a number")?);
        } else {
            verifier =
                Some(word.parse().map_err(|_| "neither a role, nor connections=…, nor a SCRAM-SHA-256 verifier")?);
        }
    }
    let role = role.ok_or("a user has a role: read-only or read-write")?;
    let verifier = verifier.ok_or("a user has a verifier: SCRAM-SHA-256$…")?;
    Ok((name, User { role, connections, verifier }))
}

/// A quoted name, and what follows.
fn name(line: &str) -> Option<(String, &str)> {
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
