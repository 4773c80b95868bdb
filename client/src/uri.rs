//! `postgresql://` URIs, as libpq reads them.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::environment::{self, Lookup};
use crate::{Error, ErrorKind};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host name or IP address, and a port.
    Tcp(String, u16),
    /// A socket file, or the directory of `.s.PGSQL.<port>`.
    Unix(PathBuf, u16),
}

/// How to reach a server, and as whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Where it listens.
    pub address: Address,
    /// The role to log in as.
    pub user: String,
    /// Its password, should the server ask for one. Never shown.
    pub password: Option<String>,
    /// The database; libpq's default is the user's name.
    pub database: String,
    /// How long to wait for a connection. `None` waits as long as the system does.
    pub connect_timeout: Option<Duration>,
    /// Parameters of the start-up message: `application_name`, `options`.
    pub parameters: Vec<(String, String)>,
}

const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];
const DEFAULT_HOST: &str = "localhost";
const DEFAULT_PORT: u16 = 5432;

impl Target {
    /// Reads a URI. What it leaves out is taken from the environment (PGHOST and its like), and a password from the
    /// password file.
    ///
    /// # Errors
    /// A scheme other than `postgresql` or `postgres`, a malformed escape, port or address, an unknown parameter, or
    /// one that asks for what this version cannot do, such as `sslmode=require`. The message never quotes the URI.
    pub fn parse(uri: &str) -> Result<Self, Error> {
        Self::parse_with(uri, &environment::of_process)
    }

    /// The same with other variables than the process's.
    fn parse_with(uri: &str, lookup: Lookup<'_>) -> Result<Self, Error> {
        let Some(rest) = SCHEMES.iter().find_map(|scheme| uri.strip_prefix(scheme)) else {
            return Err(usage("the URI does not start with postgresql://"));
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A '/' or '?' in a password ends the authority too soon; what follows must then not be quoted in an error.
        if !authority.contains('@') && (path.contains('@') || query.split('=').next().is_some_and(|k| k.contains('@')))
        {
            return Err(usage(
                "the URI has an '@' in the wrong place: in a password write / as %2F, ? as %3F, @ as %40",
            ));
        }
        // A password may hold an unescaped '@', a host may not.
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decode(password)?)),
            None => (login, None),
        };
        let (host, port) = host_and_port(place)?;
        let mut parts = Parts { host: decode(host)?, port, user: decode(user)?, password, ..Parts::default() };
        parts.database = decode(path)?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(usage(format!("the URI's parameter {pair:?} has no value: write {pair}=…")));
            };
            parts.set(&decode(key)?, decode(value)?)?;
        }
        parts.fill(lookup)?;
        let mut target = parts.into_target();
        if target.password.is_none() {
            target.password = environment::password(lookup, &target.address, &target.database, &target.user);
        }
        Ok(target)
    }

    /// The file of the unix socket, if the address is one: libpq names the directory, `--unix` may name the file.
    pub(crate) fn socket_file(directory_or_file: &Path, port: u16) -> PathBuf {
        if directory_or_file.is_dir() {
            directory_or_file.join(format!(".s.PGSQL.{port}"))
        } else {
            directory_or_file.to_owned()
        }
    }
}

/// The URI without the password: what errors and statistics call the source.
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

#[derive(Default)]
struct Parts {
    host: String,
    port: Option<u16>,
    user: String,
    password: Option<String>,
    database: String,
    /// `None` within if it is to have no limit.
    connect_timeout: Option<Option<Duration>>,
    has_sslmode: bool,
    parameters: Vec<(String, String)>,
}

impl Parts {
    /// Takes from the environment what the URI has left out.
    fn fill(&mut self, lookup: Lookup<'_>) -> Result<(), Error> {
        for (variable, key) in environment::VARIABLES {
            let missing = match key {
                "host" => self.host.is_empty(),
                "port" => self.port.is_none(),
                "user" => self.user.is_empty(),
                "password" => self.password.is_none(),
                "dbname" => self.database.is_empty(),
                "connect_timeout" => self.connect_timeout.is_none(),
                "sslmode" => !self.has_sslmode,
                key => self.parameters.iter().all(|(name, _)| name != key),
            };
            if let Some(value) = lookup(variable).filter(|_| missing) {
                self.set(key, value).map_err(|error| error.with_detail(Some(format!("{variable} says so"))))?;
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), Error> {
        match key {
            "host" => self.host = value,
            "port" => self.port = Some(port(&value)?),
            "user" => self.user = value,
            "password" => self.password = Some(value),
            "dbname" => self.database = value,
            "application_name" | "options" => self.parameters.push((key.to_owned(), value)),
            "connect_timeout" => {
                let seconds: u64 = value.parse().map_err(|_| usage("connect_timeout is not a number of seconds"))?;
                self.connect_timeout = Some((seconds > 0).then(|| Duration::from_secs(seconds)));
            }
            "sslmode" => match value.as_str() {
                "disable" | "allow" | "prefer" => self.has_sslmode = true,
                "require" | "verify-ca" | "verify-full" => {
                    return Err(Error::new(ErrorKind::Unsupported, format!("sslmode={value} is not supported yet"))
                        .with_hint("connect over loopback or a unix socket, or through an encrypted tunnel"));
                }
                _ => {
                    return Err(usage("sslmode is not one of disable, allow, prefer, require, verify-ca, verify-full"));
                }
            },
            _ => return Err(usage(format!("the URI has an unknown parameter {key:?}"))),
        }
        Ok(())
    }

    fn into_target(self) -> Target {
        let port = self.port.unwrap_or(DEFAULT_PORT);
        let address = match self.host {
            host if host.is_empty() => Address::Tcp(DEFAULT_HOST.to_owned(), port),
            host if host.starts_with('/') => Address::Unix(host.into(), port),
            host => Address::Tcp(host, port),
        };
        let user = if self.user.is_empty() { system_user() } else { self.user };
        let database = if self.database.is_empty() { user.clone() } else { self.database };
        Target {
            address,
            user,
            password: self.password,
            database,
            connect_timeout: self.connect_timeout.flatten(),
            parameters: self.parameters,
        }
    }
}

fn host_and_port(place: &str) -> Result<(&str, Option<u16>), Error> {
    if place.contains(',') {
        return Err(Error::new(ErrorKind::Unsupported, "the URI names several hosts: name one"));
    }
    let (host, rest) = match place.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']').ok_or_else(|| usage("the URI's IPv6 address lacks its ']'"))?;
            (host, rest.strip_prefix(':').or(rest.is_empty().then_some("")))
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, Some("")),
        },
    };
    match rest {
        Some("") => Ok((host, None)),
        Some(text) => Ok((host, Some(port(text)?))),
        None => Err(usage("the URI has something other than a port after its IPv6 address")),
    }
}

fn port(text: &str) -> Result<u16, Error> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(usage("the port is not a number from 1 to 65535")),
    }
}

/// Percent-decoding, RFC 3986 §2.1.
fn decode(text: &str) -> Result<String, Error> {
    let malformed =
        || usage("the URI has a '%' that is not followed by two hexadecimal digits: write a percent as %25");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let [high, low, tail @ ..] = tail else { return Err(malformed()) };
            let digit = |c: &u8| char::from(*c).to_digit(16).ok_or_else(malformed);
            bytes.push((digit(high)? * 16 + digit(low)?) as u8);
            rest = tail;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    // The start-up message ends each string with a NUL.
    if bytes.contains(&0) {
        return Err(usage("the URI holds a NUL character"));
    }
    String::from_utf8(bytes).map_err(|_| usage("the URI is not UTF-8 once its escapes are decoded"))
}

fn system_user() -> String {
    ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_else(|| "colonnade".to_owned())
}

fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}

#[cfg(test)]
#[path = "uri_tests.rs"]
mod tests;
