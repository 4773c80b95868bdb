//! Encodes and decodes messages, without a socket.
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>

use crate::{Error, ErrorKind};

/// The version in the start-up message: 3.0.
const PROTOCOL: u32 = 3 << 16;
/// Sent in place of a version to cancel a query.
const CANCEL_CODE: u32 = 1234 << 16 | 5678;
/// Sent in place of a version to ask for TLS.
const SSL_CODE: u32 = 1234 << 16 | 5679;
/// Bytes of a message's type and length.
pub(crate) const HEADER: usize = 5;
/// The largest message, other than CopyData, that is read into memory. An error with its context is much smaller.
pub(crate) const CONTROL_LIMIT: usize = 1 << 20;

/// The process and the secret that a CancelRequest must name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BackendKey {
    pub(crate) process: u32,
    pub(crate) secret: u32,
}

/// StartupMessage.
pub(crate) fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    for (key, value) in parameters {
        for text in [key, value] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    framed(None, &body)
}

/// CancelRequest.
pub(crate) fn cancel_request(key: BackendKey) -> Vec<u8> {
    let mut body = CANCEL_CODE.to_be_bytes().to_vec();
    body.extend_from_slice(&key.process.to_be_bytes());
    body.extend_from_slice(&key.secret.to_be_bytes());
    framed(None, &body)
}

/// SSLRequest.
pub(crate) fn ssl_request() -> Vec<u8> {
    framed(None, &SSL_CODE.to_be_bytes())
}

/// Query.
///
/// # Errors
/// The text holds a NUL, which ends a string in this protocol, or is too long for a message.
pub(crate) fn query(sql: &str) -> Result<Vec<u8>, Error> {
    check_text(sql)?;
    let mut body = sql.as_bytes().to_vec();
    body.push(0);
    Ok(framed(Some(b'Q'), &body))
}

/// Whether a statement can be sent.
///
/// # Errors
/// The text holds a NUL, which ends a string in this protocol, or is too long for a message.
pub(crate) fn check_text(sql: &str) -> Result<(), Error> {
    if sql.contains('\0') {
        return Err(Error::new(ErrorKind::Usage, "the query holds a NUL character"));
    }
    if sql.len() > i32::MAX as usize - 64 {
        return Err(Error::new(ErrorKind::Usage, "the query is longer than 2 GiB"));
    }
    Ok(())
}

/// CopyFail.
pub(crate) fn copy_fail(reason: &str) -> Vec<u8> {
    let mut body = reason.as_bytes().to_vec();
    body.push(0);
    framed(Some(b'f'), &body)
}

/// The type and the length of a CopyData message with so many bytes, at most 2 GiB.
pub(crate) fn copy_data_header(length: usize) -> [u8; HEADER] {
    let [a, b, c, d] = (length as u32 + 4).to_be_bytes();
    [b'd', a, b, c, d]
}

/// Terminate.
pub(crate) fn terminate() -> Vec<u8> {
    framed(Some(b'X'), &[])
}

pub(crate) fn framed(kind: Option<u8>, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(kind);
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

/// The type of a message from the server and the length of its body.
///
/// # Errors
/// A length that counts less than itself.
pub(crate) fn header(bytes: [u8; HEADER]) -> Result<(u8, usize), Error> {
    let [kind, length @ ..] = bytes;
    let length = u32::from_be_bytes(length);
    match length.checked_sub(4) {
        Some(length) if length <= i32::MAX as u32 => Ok((kind, length as usize)),
        _ => Err(protocol(format!("a message {} of length {length}", shown(kind)))),
    }
}

/// Reads the body of one message from front to back.
pub(crate) struct MessageReader<'a>(pub(crate) &'a [u8]);

impl<'a> MessageReader<'a> {
    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        match self.0.split_first_chunk() {
            Some((bytes, rest)) => {
                self.0 = rest;
                Ok(u32::from_be_bytes(*bytes))
            }
            None => Err(short()),
        }
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    /// The next `len` bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or_else(short)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        let (byte, rest) = self.0.split_first().ok_or_else(short)?;
        self.0 = rest;
        Ok(*byte)
    }

    /// A string up to its NUL. Text before the encoding is agreed may have any encoding.
    pub(crate) fn text(&mut self) -> Result<std::borrow::Cow<'a, str>, Error> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(short)?;
        let text = String::from_utf8_lossy(&self.0[..end]);
        self.0 = &self.0[end + 1..];
        Ok(text)
    }
}

/// ErrorResponse as an error.
pub(crate) fn error_response(body: &[u8]) -> Error {
    let mut body = MessageReader(body);
    let (mut sqlstate, mut message, mut detail, mut hint, mut position) = (None, None, None, None, None);
    // A field of type 0 is the end. If the rest is damaged, only its fields are lost.
    while let Ok(field @ 1..) = body.byte() {
        let Ok(text) = body.text() else { break };
        match field {
            b'C' => sqlstate = Some(text.into_owned()),
            b'M' => message = Some(text.into_owned()),
            b'D' => detail = Some(text.into_owned()),
            b'H' => hint = Some(text.into_owned()),
            // It counts from 1.
            b'P' => position = text.parse::<usize>().ok().and_then(|position| position.checked_sub(1)),
            _ => {}
        }
    }
    let message = message.unwrap_or_else(|| "the server reported an error without a message".to_owned());
    let mut error = Error::new(ErrorKind::Database, message).with_detail(detail).with_position(position);
    if let Some(sqlstate) = sqlstate {
        error = error.with_sqlstate(sqlstate);
    }
    if let Some(hint) = hint {
        error = error.with_hint(hint);
    }
    error
}

/// Where an error happened, in the server's words: for COPY, the row and the column.
pub(crate) fn context(body: &[u8]) -> Option<String> {
    let mut body = MessageReader(body);
    while let Ok(field @ 1..) = body.byte() {
        let text = body.text().ok()?;
        if field == b'W' {
            return Some(text.into_owned());
        }
    }
    None
}

/// The number at the end of a CommandComplete, such as `COPY 5` or `INSERT 0 5`.
pub(crate) fn rows_of_tag(tag: &str) -> Option<u64> {
    tag.rsplit_once(' ')?.1.parse().ok()
}

pub(crate) fn protocol(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Protocol, format!("the server sent {what}, which PostgreSQL's protocol does not allow here"))
}

/// A message's type in the notation of the protocol's documentation.
pub(crate) fn shown(kind: u8) -> String {
    format!("'{}'", kind.escape_ascii())
}

fn short() -> Error {
    protocol("a message that ends too early")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_have_the_bytes_of_the_documentation() {
        assert_eq!(query("x").unwrap(), b"Q\0\0\0\x06x\0");
        assert_eq!(terminate(), b"X\0\0\0\x04");
        assert_eq!(startup(&[("user", "a")]), b"\0\0\0\x10\0\x03\0\0user\0a\0\0");
        let key = BackendKey { process: 1, secret: 2 };
        assert_eq!(cancel_request(key), b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02");
        assert_eq!(ssl_request(), b"\0\0\0\x08\x04\xd2\x16\x2f");
        assert_eq!(copy_fail("no"), b"f\0\0\0\x07no\0");
        assert!(query("a\0b").is_err());
    }

    #[test]
    fn lengths_are_checked() {
        assert_eq!(header(*b"d\0\0\0\x04").unwrap(), (b'd', 0));
        assert_eq!(header(*b"d\x7f\xff\xff\xff").unwrap(), (b'd', 0x7fff_fffb));
        assert!(header(*b"d\0\0\0\x03").is_err());
        assert!(header(*b"d\xff\xff\xff\xff").is_err());
        assert!(header(*b"HTTP/").unwrap().1 > CONTROL_LIMIT);
    }

    #[test]
    fn an_error_response_keeps_its_fields() {
        let error = error_response(b"SERROR\0VERROR\0C42P01\0Mno such table\0Dd\0Hcreate it\0P5\0\0");
        assert_eq!(error.sqlstate(), Some("42P01"));
        assert_eq!((error.message(), error.detail(), error.hint()), ("no such table", Some("d"), Some("create it")));
        assert_eq!(error.to_string(), "no such table (SQLSTATE 42P01)");
        assert_eq!(error_response(b"").sqlstate(), None);
        assert_eq!(error_response(b"Mcut off").message(), "the server reported an error without a message");
    }

    #[test]
    fn a_tag_ends_in_its_row_count() {
        assert_eq!(rows_of_tag("COPY 5"), Some(5));
        assert_eq!(rows_of_tag("INSERT 0 7"), Some(7));
        assert_eq!(rows_of_tag("CREATE TABLE"), None);
        assert_eq!(rows_of_tag("BEGIN"), None);
    }

    proptest! {
        #[test]
        fn no_error_response_panics(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            error_response(&bytes);
        }
    }
}
