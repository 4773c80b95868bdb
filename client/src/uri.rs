//! Parts of URIs for several sources.

use crate::{Error, ErrorKind};

/// A host, and its port if there is one. An IPv6 address is in brackets.
///
/// # Errors
/// A missing bracket, several hosts, or an invalid port.
pub(crate) fn host_and_port(place: &str) -> Result<(&str, Option<u16>), Error> {
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

/// The number of a TCP port.
///
/// # Errors
/// It is not one.
pub(crate) fn port(text: &str) -> Result<u16, Error> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(usage("the port is not a number from 1 to 65535")),
    }
}

/// Percent-decoding, RFC 3986 §2.1.
///
/// # Errors
/// A malformed escape, bytes that are not UTF-8, or a NUL, which ends strings in database protocols.
pub(crate) fn decode(text: &str) -> Result<String, Error> {
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
    if bytes.contains(&0) {
        return Err(usage("the URI holds a NUL character"));
    }
    String::from_utf8(bytes).map_err(|_| usage("the URI is not UTF-8 once its escapes are decoded"))
}

fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}
