//! `postgresql://` URIs, and `colonnade://` for `colonnade serve`, which has a port of its own.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>

use super::settings::{Settings, usage};
use crate::Error;
use crate::uri::{decode, host_and_port};

/// The schemes, and the port of a server that has none in the URI. `None` leaves it to the environment.
const SCHEMES: [(&str, Option<u16>); 3] =
    [("postgresql://", None), ("postgres://", None), ("colonnade://", Some(SERVE_PORT))];
/// The default port of `colonnade serve`.
const SERVE_PORT: u16 = 5433;

/// Reads a URI.
///
/// # Errors
/// Another scheme, a malformed escape, port or address, or an unknown parameter. No
/// message quotes the URI.
pub(super) fn parse(uri: &str) -> Result<Settings, Error> {
    let found = SCHEMES.iter().find_map(|(scheme, port)| Some((uri.strip_prefix(scheme)?, *port)));
    let Some((rest, default_port)) = found else {
        return Err(usage("the URI does not start with postgresql://"));
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // An unescaped '/' or '?' in a password ends the authority early. The rest must then not be quoted in an error.
    if !authority.contains('@') && (path.contains('@') || query.split('=').next().is_some_and(|k| k.contains('@'))) {
        return Err(usage("the URI has an '@' in the wrong place: in a password write / as %2F, ? as %3F, @ as %40"));
    }
    // A password may have an unescaped '@', but a host cannot.
    let (login, places) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for place in places.split(',') {
        let (host, port) = host_and_port(place)?;
        hosts.push(decode(host)?);
        ports.push(port.or(default_port).map_or_else(String::new, |port| port.to_string()));
    }
    let mut settings = Settings::default();
    let lists = [("user", vec![decode(user)?]), ("host", hosts), ("port", ports), ("dbname", vec![decode(path)?])];
    for (name, list) in lists {
        // Empty values leave the parameter to the environment.
        if list.iter().any(|part| !part.is_empty()) {
            settings.set(name, list.join(","))?;
        }
    }
    if let Some(password) = password {
        settings.set("password", decode(password)?)?;
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(usage(format!("the URI's parameter {pair:?} has no value: write {pair}=…")));
        };
        match (decode(key)?.as_str(), decode(value)?) {
            // The parameter of JDBC's URIs.
            ("ssl", value) if value == "true" => settings.set("sslmode", "require".to_owned())?,
            (key, value) => settings.set(key, value)?,
        }
    }
    Ok(settings)
}
