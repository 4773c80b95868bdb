//! The servers, the user and the options of a connection, in libpq's forms.
//! <https://www.postgresql.org/docs/current/libpq-connect.html>
//!
//! A connection string, in either of its forms, becomes [`settings::Settings`]: text by the names of parameters. A
//! service file adds missing parameters, and then the environment. [`options`] interprets the values, whatever their
//! origin is.

mod keywords;
mod options;
mod password_file;
mod service;
mod settings;
mod shareable;
mod uri;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use options::{Binding, SslMode, TargetSessionAttrs};
use settings::Lookup;

use crate::require_auth::Requirement;
use crate::system::Keepalive;
use crate::{Access, Error, Login, tls};

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host name or IP address, and a port.
    Tcp(String, u16),
    /// A socket file, or the directory of `.s.PGSQL.<port>`.
    Unix(PathBuf, u16),
}

/// One server, and the user and the options of a connection.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// The address.
    pub address: Address,
    /// The name that the certificate must have: the host's name, also if the address is a number (`hostaddr`).
    pub host: String,
    /// The role to log in as.
    pub user: String,
    /// The password, if the server requests one. Never shown.
    pub password: Option<String>,
    /// The database; libpq's default is the user's name.
    pub database: String,
    /// The timeout of a connection. `None` is the system's timeout.
    pub connect_timeout: Option<Duration>,
    /// Parameters of the start-up message: `application_name`, `options`.
    pub parameters: Vec<(String, String)>,
    /// Whether the connection is encrypted.
    pub sslmode: SslMode,
    /// Whether TLS begins at once, without a question.
    pub(crate) direct_tls: bool,
    pub(crate) tls: tls::TlsOptions,
    /// Whether a login must be bound to the server's certificate.
    pub channel_binding: Binding,
    /// The methods by which the server may authenticate the user.
    pub(crate) require_auth: Requirement,
    pub(crate) keepalive: Keepalive,
    /// For a gateway's clients, or for this program.
    pub access: Access,
    /// The same server, user and options as keywords and values, without a password: see [`shareable`].
    pub(crate) shareable: String,
}

/// The servers of a connection string. The first suitable one is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conninfo {
    /// In the order in which they are tried; at least one.
    pub targets: Vec<Target>,
    /// Which of them are suitable.
    pub session: TargetSessionAttrs,
}

impl Conninfo {
    /// Whether a text has the form `keyword=value`, and is not a URI.
    pub fn is_keywords(text: &str) -> bool {
        keywords::begins(text)
    }

    /// Reads a URI, or keywords and values. Missing parameters are taken from a service file, if one is named, then
    /// from the environment (PGHOST and others), and a missing password from the password file.
    ///
    /// # Errors
    /// The form is neither, a parameter or its value is unknown, or a file cannot be used. The message never quotes a
    /// possible password.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_as(text, &Login::default())
    }

    /// The same as a user who is named beside the text.
    ///
    /// # Errors
    /// As for [`Conninfo::parse`].
    pub(crate) fn parse_as(text: &str, login: &Login) -> Result<Self, Error> {
        Self::parse_with(text, login, &settings::of_process)
    }

    /// The same servers, for a gateway's clients or for this program.
    pub(crate) fn for_access(mut self, access: Access) -> Self {
        self.targets.iter_mut().for_each(|target| target.access = access);
        self
    }

    /// The same with other environment variables.
    fn parse_with(text: &str, login: &Login, lookup: Lookup<'_>) -> Result<Self, Error> {
        let mut settings = if Self::is_keywords(text) { keywords::parse(text)? } else { uri::parse(text)? };
        for (name, value) in [("user", &login.user), ("password", &login.password)] {
            if let Some(value) = value {
                settings.set(name, value.clone())?;
            }
        }
        service::fill(&mut settings, lookup)?;
        settings.fill(lookup)?;
        options::conninfo(&settings, lookup)
    }
}

impl From<Target> for Conninfo {
    fn from(target: Target) -> Self {
        Self { targets: vec![target], session: TargetSessionAttrs::Any }
    }
}

impl Target {
    /// The file of the unix socket, if the address is one: libpq names the directory, `--unix` may name the file.
    pub(crate) fn socket_file(directory_or_file: &Path, port: u16) -> PathBuf {
        if directory_or_file.is_dir() {
            directory_or_file.join(format!(".s.PGSQL.{port}"))
        } else {
            directory_or_file.to_owned()
        }
    }
}

/// The URI without the password, which errors and statistics show as the source's name.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgresql://{}@", self.user)?;
        match &self.address {
            Address::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}/{}", self.database),
            Address::Tcp(host, port) => write!(f, "{host}:{port}/{}", self.database),
            Address::Unix(path, _) => write!(f, "/{}?host={}", self.database, path.display()),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

#[cfg(test)]
mod tests;
