//! `mysql://` and `mariadb://` URIs.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::auth::METHODS;
use super::encryption::Encryption;
use crate::require_auth::Requirement;
use crate::system::user_name;
use crate::{Access, Error, ErrorKind, Login};

const SCHEMES: [&str; 2] = ["mysql://", "mariadb://"];
const DEFAULT_HOST: &str = "localhost";
const DEFAULT_PORT: u16 = 3306;
/// The environment variable with the password, as for MySQL's clients.
const PASSWORD_VARIABLE: &str = "MYSQL_PWD";
/// Names of the character set in which all text arrives.
const CHARSETS: [&str; 3] = ["utf8mb4", "utf8", "utf8mb3"];

/// The parameters that an error lists.
const PARAMETERS: [&str; 9] = [
    "unix_socket",
    "connect_timeout",
    "ssl_mode",
    "ssl_ca",
    "ssl_crl",
    "ssl_cert",
    "ssl_key",
    "require_auth",
    "charset",
];

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// A host name or IP address, and a port.
    Tcp(String, u16),
    /// A socket file.
    Unix(PathBuf),
}

/// The server, the user and the options of a connection.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) address: Address,
    pub(super) user: String,
    /// Never shown.
    pub(super) password: String,
    /// If it is empty, no database is chosen.
    pub(super) database: String,
    /// The timeout of a connection. `None` is the system's timeout.
    pub(super) connect_timeout: Option<Duration>,
    pub(super) encryption: Encryption,
    /// The plugins that the server may use.
    pub(super) require_auth: Requirement,
    /// For a gateway's clients, or for this program.
    pub(super) access: Access,
}

impl Target {
    /// Reads a URI. A missing password is taken from the variable MYSQL_PWD. Option files are not read.
    ///
    /// # Errors
    /// Another scheme, a malformed escape, port or address, or an unknown parameter. The message never quotes the URI.
    pub(super) fn parse(uri: &str, login: &Login) -> Result<Self, Error> {
        let password = std::env::var(PASSWORD_VARIABLE).unwrap_or_default();
        Self::parse_with(uri, login, password)
    }

    fn parse_with(uri: &str, login: &Login, default_password: String) -> Result<Self, Error> {
        let Some(rest) = SCHEMES.iter().find_map(|scheme| uri.strip_prefix(scheme)) else {
            return Err(usage("the URI does not start with mysql:// or mariadb://"));
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // An unescaped '/' or '?' in a password ends the authority early. The rest must then not be quoted in an
        // error.
        if !authority.contains('@') && (path.contains('@') || query.split('=').next().is_some_and(|k| k.contains('@')))
        {
            return Err(usage(
                "the URI has an '@' in the wrong place: in a password write / as %2F, ? as %3F, @ as %40",
            ));
        }
        let (written, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match written.split_once(':') {
            Some((user, password)) => (user, decode(password)?),
            None => (written, default_password),
        };
        let (host, port) = host_and_port(place)?;
        let host = if host.is_empty() { DEFAULT_HOST.to_owned() } else { decode(host)? };
        let user = match &login.user {
            Some(user) => user.clone(),
            None if user.is_empty() => user_name()?,
            None => decode(user)?,
        };
        let password = login.password.clone().unwrap_or(password);
        // The login ends each string with a NUL.
        if user.contains('\0') || password.contains('\0') {
            return Err(usage("the user name or the password holds a NUL character"));
        }
        let mut target = Self {
            address: Address::Tcp(host, port.unwrap_or(DEFAULT_PORT)),
            user,
            password,
            database: decode(path)?,
            connect_timeout: None,
            encryption: Encryption::default(),
            require_auth: Requirement::default(),
            access: Access::Own,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(usage(format!("the URI's parameter {pair:?} has no value: write {pair}=…")));
            };
            // Python's drivers write underscores, MySQL's clients write hyphens.
            target.set(&decode(key)?.replace('_', "-"), decode(value)?)?;
        }
        Ok(target)
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), Error> {
        match key {
            "unix-socket" | "socket" => self.address = Address::Unix(PathBuf::from(value)),
            "connect-timeout" => {
                let seconds: u64 = value.parse().map_err(|_| usage("connect_timeout is not a number of seconds"))?;
                self.connect_timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
            }
            "ssl-mode" | "ssl-ca" | "ssl-cert" | "ssl-key" | "ssl-crl" => self.encryption.set(key, value)?,
            "require-auth" => self.require_auth = Requirement::parse(&value, METHODS)?,
            "charset" if CHARSETS.contains(&value.as_str()) => {}
            "charset" => return Err(usage("charset is not utf8mb4: whatever a column's is, text arrives as UTF-8")),
            _ => {
                let error = usage(format!("the URI has an unknown parameter {key:?}"));
                return Err(error.with_hint(format!("a mysql: URI has {}", PARAMETERS.join(", "))));
            }
        }
        Ok(())
    }
}

/// The URI without the password, which errors and statistics show as the source's name.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mysql://{}@", self.user)?;
        match &self.address {
            Address::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}/{}", self.database),
            Address::Tcp(host, port) => write!(f, "{host}:{port}/{}", self.database),
            Address::Unix(path) => write!(f, "/{}?unix_socket={}", self.database, path.display()),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

/// A host, without the brackets of an IPv6 address, and a port if there is one.
fn host_and_port(place: &str) -> Result<(&str, Option<u16>), Error> {
    if place.contains(',') {
        return Err(Error::new(ErrorKind::Unsupported, "the URI names several hosts: name one"));
    }
    let (host, rest) = match place.strip_prefix('[') {
        Some(inner) => inner.split_once(']').ok_or_else(|| usage("the URI's IPv6 address lacks its ']'"))?,
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    match rest.strip_prefix(':').unwrap_or(rest) {
        "" => Ok((host, None)),
        _ if !rest.starts_with(':') => Err(usage("the URI has something other than a port after its IPv6 address")),
        text => match text.parse() {
            Ok(port) if port > 0 => Ok((host, Some(port))),
            _ => Err(usage("the port is not a number from 1 to 65535")),
        },
    }
}

/// Percent-decoding, RFC 3986 §2.1.
fn decode(text: &str) -> Result<String, Error> {
    let malformed =
        || usage("the URI has a '%' that is not followed by two hexadecimal digits: write a percent as %25");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, tail @ ..] = tail else { return Err(malformed()) };
        let digit = |c: &u8| char::from(*c).to_digit(16).ok_or_else(malformed);
        bytes.push((digit(high)? * 16 + digit(low)?) as u8);
        rest = tail;
    }
    // The login ends each string with a NUL.
    if bytes.contains(&0) {
        return Err(usage("the URI holds a NUL character"));
    }
    String::from_utf8(bytes).map_err(|_| usage("the URI is not UTF-8 once its escapes are decoded"))
}

fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn parse(uri: &str) -> Result<Target, Error> {
        Target::parse_with(uri, &Login::default(), "of the environment".to_owned())
    }

    #[test]
    fn a_full_uri_is_read() {
        let target = parse("mysql://ada:s%40cret@db.example:3307/shop?connect_timeout=5&charset=utf8mb4").unwrap();
        assert_eq!(target.address, Address::Tcp("db.example".to_owned(), 3307));
        assert_eq!((&*target.user, &*target.password, &*target.database), ("ada", "s@cret", "shop"));
        assert_eq!(target.connect_timeout, Some(Duration::from_secs(5)));
        assert_eq!(target.to_string(), "mysql://ada@db.example:3307/shop");
    }

    #[test]
    fn a_login_beside_the_uri_counts() {
        let login = Login { user: Some("eve@x".to_owned()), password: Some("p:%40".to_owned()) };
        for uri in ["mysql://ada:s%40cret@h/shop", "mysql://h/shop"] {
            let target = Target::parse_with(uri, &login, String::new()).unwrap();
            assert_eq!((&*target.user, &*target.password), ("eve@x", "p:%40"));
        }
    }

    #[test]
    fn what_is_left_out_has_defaults() {
        let target = parse("mariadb://ada@").unwrap();
        assert_eq!(target.address, Address::Tcp("localhost".to_owned(), 3306));
        assert_eq!((&*target.password, &*target.database), ("of the environment", ""));
        for uri in ["mysql://ada@/shop?unix_socket=/run/s", "mysql://ada@h/shop?socket=%2Frun%2Fs"] {
            assert_eq!(parse(uri).unwrap().address, Address::Unix("/run/s".into()));
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (uri, words) in [
            ("postgresql://h", "mysql://"),
            ("mysql://h/?answer=42", "\"answer\""),
            ("mysql://h/?charset=latin1", "charset"),
            ("mysql://h/?ssl-mode=require", "VERIFY_IDENTITY"),
            ("mysql://h:0/", "port"),
            ("mysql://[::1/", "']'"),
            ("mysql://[::1]x/", "IPv6"),
            ("mysql://h/%zz", "%25"),
            ("mysql://u:p/w@h/", "%2F"),
            ("mysql://h/?connect_timeout=soon", "connect_timeout"),
        ] {
            let error = parse(uri).unwrap_err();
            assert!(error.message().contains(words), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_target_or_an_error_without_the_password(rest in "[a-z:@/?=&%\\[\\]0-9é]{0,40}") {
            if let Err(error) = parse(&format!("mysql://u:hunter2{rest}")) {
                prop_assert!(!error.message().contains("hunter2"));
            }
        }
    }
}
