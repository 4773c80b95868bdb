//! `postgresql://` URIs.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>

use super::settings::{Settings, usage};
use crate::Error;

const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

/// Reads a URI.
///
/// # Errors
/// A scheme other than `postgresql` or `postgres`, a malformed escape, port or address, or an unknown parameter. None quotes the URI.
pub(super) fn parse(uri: &str) -> Result<Settings, Error> {
    let Some(rest) = SCHEMES.iter().find_map(|scheme| uri.strip_prefix(scheme)) else {
        return Err(usage("the URI does not start with postgresql://"));
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // A '/' or '?' in a password ends the authority too soon; what follows must then not be quoted in an error.
    if !authority.contains('@') && (path.contains('@') || query.split('=').next().is_some_and(|k| k.contains('@'))) {
        return Err(usage("the URI has an '@' in the wrong place: in a password write / as %2F, ? as %3F, @ as %40"));
    }
    // A password may hold an unescaped '@', a host may not.
    let (login, places) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = login.split_once(':').map_or((login, None), |(user, password)| (user, Some(password)));
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for place in places.split(',') {
        let (host, port) = host_and_port(place)?;
        hosts.push(decode(host)?);
        ports.push(port);
    }
    let mut settings = Settings::default();
    let parts =
        [("user", decode(user)?), ("host", hosts.join(",")), ("port", ports.join(",")), ("dbname", decode(path)?)];
    for (name, value) in parts {
        // Nothing at all, or several of nothing, leave the word to the environment.
        if !value.trim_matches(',').is_empty() {
            settings.set(name, value)?;
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
            // The word of JDBC's URIs.
            ("ssl", value) if value == "true" => settings.set("sslmode", "require".to_owned())?,
            (key, value) => settings.set(key, value)?,
        }
    }
    Ok(settings)
}

fn host_and_port(place: &str) -> Result<(&str, &str), Error> {
    let Some(inner) = place.strip_prefix('[') else {
        return Ok(place.split_once(':').unwrap_or((place, "")));
    };
    let (host, rest) = inner.split_once(']').ok_or_else(|| usage("the URI's IPv6 address lacks its ']'"))?;
    match rest.strip_prefix(':').or(rest.is_empty().then_some("")) {
        Some(port) => Ok((host, port)),
        None => Err(usage("the URI has something other than a port after its IPv6 address")),
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
    String::from_utf8(bytes).map_err(|_| usage("the URI is not UTF-8 once its escapes are decoded"))
}
