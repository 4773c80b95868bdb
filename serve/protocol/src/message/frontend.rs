//! Messages of clients.

use std::borrow::Cow;

use super::ProtocolError;
use super::reader::FieldReader;
use crate::charset::{ClientEncoding, TextError};

/// The phase of a connection, which decides how messages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Messages have no type byte.
    Startup,
    /// Only answers to authentication requests.
    Login,
    /// The ordinary messages.
    Ready,
}

/// A message from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontendMessage<'a> {
    /// A request for TLS.
    SslRequest,
    /// A request for encryption with GSSAPI.
    GssEncRequest,
    /// Cancel the statement of another session.
    CancelRequest {
        /// From that connection's BackendKeyData.
        process: i32,
        /// The same.
        secret: &'a [u8],
    },
    /// Begin a session.
    Startup {
        /// The protocol's minor version; the major one is 3.
        minor: u16,
        /// `user`, `database` and settings.
        parameters: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    },
    /// Run this query string.
    Query(Cow<'a, str>),
    /// Prepare a statement.
    Parse {
        /// Its name; empty for the unnamed one.
        name: Cow<'a, str>,
        /// Its text.
        query: Cow<'a, str>,
        /// The types of its first parameters; 0 where the client leaves one open.
        types: Vec<u32>,
    },
    /// Make a portal of a statement.
    Bind {
        /// The portal's name; empty for the unnamed one.
        portal: Cow<'a, str>,
        /// The statement.
        statement: Cow<'a, str>,
        /// Text (0) or binary (1): none, one for all, or one for each parameter.
        formats: Vec<i16>,
        /// The values; `None` is NULL.
        values: Vec<Option<&'a [u8]>>,
        /// Text (0) or binary (1): none, one for all, or one for each column.
        results: Vec<i16>,
    },
    /// Describe a statement or portal.
    Describe(StatementOrPortal, Cow<'a, str>),
    /// Close a statement or portal.
    Close(StatementOrPortal, Cow<'a, str>),
    /// Run a portal.
    Execute {
        /// Which one.
        portal: Cow<'a, str>,
        /// The maximum number of rows; 0 for all.
        rows: u32,
    },
    /// Send all pending messages.
    Flush,
    /// End of an extended-protocol exchange.
    Sync,
    /// A part of COPY's data.
    CopyData(&'a [u8]),
    /// COPY's data is complete.
    CopyDone,
    /// The client aborts its COPY, with a reason.
    CopyFail(Cow<'a, str>),
    /// The long-deprecated function call.
    FunctionCall,
    /// An answer to an authentication request.
    Password(&'a [u8]),
    /// The end of the session.
    Terminate,
    /// A message of this type whose text is none in the client's encoding.
    InvalidText {
        /// The message's type byte.
        kind: u8,
        /// Why its text is none.
        error: TextError,
    },
}

/// Reads the first answer to a SASL request: the mechanism, and the mechanism's first message.
///
/// # Errors
/// If it is no SASLInitialResponse.
pub fn sasl_initial_response(body: &[u8]) -> Result<(Cow<'_, str>, &[u8]), ProtocolError> {
    let mut reader = FieldReader::new('p', body, ClientEncoding::Utf8);
    let mechanism = reader.string()?;
    let length = usize::try_from(reader.i32()?).map_err(|_| ProtocolError::Field('p', "length"))?;
    let data = reader.bytes(length)?;
    reader.end()?;
    Ok((mechanism, data))
}

/// The object of Describe and Close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementOrPortal {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// The first message's limit, PostgreSQL's own (`MAX_STARTUP_PACKET_LENGTH`).
pub const STARTUP_LIMIT: usize = 10_000;
/// The limit of messages with the user's text or data.
pub const LARGE_LIMIT: usize = 64 << 20;
/// The limit of all others, PostgreSQL's own (`PQ_SMALL_MESSAGE_LIMIT`).
pub const SMALL_LIMIT: usize = 10_000;

const SSL_REQUEST: u32 = 80_877_103;
const GSSENC_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
const MAJOR: u32 = 3;
/// The longest secret of a cancel request (protocol 3.2).
const SECRET_LIMIT: usize = 256;

/// The length of the message that `bytes` begins with; `None` if it is incomplete.
///
/// # Errors
/// If no message begins with these bytes. The connection cannot be used any more.
pub fn length(bytes: &[u8], phase: Phase) -> Result<Option<usize>, ProtocolError> {
    let length = match phase {
        Phase::Startup => {
            let Some((head, _)) = bytes.split_first_chunk() else { return Ok(None) };
            checked_length(u32::from_be_bytes(*head), 8, STARTUP_LIMIT, || "start-up".to_owned())?
        }
        Phase::Login | Phase::Ready => {
            let Some((&kind, rest)) = bytes.split_first() else { return Ok(None) };
            // A client that has not logged in may send no other message.
            if phase == Phase::Login && !matches!(kind, b'p' | b'X') {
                return Err(ProtocolError::Unexpected(char::from(kind)));
            }
            let limit = limit(kind)?;
            let Some((head, _)) = rest.split_first_chunk() else { return Ok(None) };
            1 + checked_length(u32::from_be_bytes(*head), 4, limit, || char::from(kind).to_string())?
        }
    };
    Ok((bytes.len() >= length).then_some(length))
}

/// Reads the message that `bytes` begins with. Gives the message and its length; `None` if it is incomplete. Texts are in
/// `encoding`, except those of start-up messages, which are in UTF-8.
///
/// # Errors
/// If no message begins with these bytes. The connection cannot be used any more.
pub fn parse(
    bytes: &[u8],
    phase: Phase,
    encoding: ClientEncoding,
) -> Result<Option<(FrontendMessage<'_>, usize)>, ProtocolError> {
    let Some(length) = length(bytes, phase)? else { return Ok(None) };
    let message = match (phase, bytes.get(..length)) {
        (Phase::Startup, Some([_, _, _, _, body @ ..])) => startup(body)?,
        (Phase::Login | Phase::Ready, Some([kind, _, _, _, _, body @ ..])) => match ready(*kind, body, encoding) {
            Err(ProtocolError::Text(error)) => FrontendMessage::InvalidText { kind: *kind, error },
            message => message?,
        },
        _ => return Ok(None),
    };
    Ok(Some((message, length)))
}

fn checked_length(
    length: u32,
    least: usize,
    limit: usize,
    kind: impl FnOnce() -> String,
) -> Result<usize, ProtocolError> {
    match usize::try_from(length) {
        Ok(bytes) if (least..=limit).contains(&bytes) => Ok(bytes),
        _ => Err(ProtocolError::Length { kind: kind(), length, limit }),
    }
}

fn limit(kind: u8) -> Result<usize, ProtocolError> {
    match kind {
        b'Q' | b'P' | b'B' | b'd' | b'F' => Ok(LARGE_LIMIT),
        b'D' | b'C' | b'E' | b'H' | b'S' | b'c' | b'f' | b'p' | b'X' => Ok(SMALL_LIMIT),
        other => Err(ProtocolError::Kind(other)),
    }
}

fn startup(body: &[u8]) -> Result<FrontendMessage<'_>, ProtocolError> {
    let mut reader = FieldReader::new('S', body, ClientEncoding::Utf8);
    let message = match reader.u32()? {
        SSL_REQUEST => FrontendMessage::SslRequest,
        GSSENC_REQUEST => FrontendMessage::GssEncRequest,
        CANCEL_REQUEST => {
            let process = reader.i32()?;
            let secret = reader.rest();
            if secret.is_empty() || secret.len() > SECRET_LIMIT {
                return Err(ProtocolError::Field('S', "cancel key"));
            }
            FrontendMessage::CancelRequest { process, secret }
        }
        version if version >> 16 == MAJOR => {
            let mut parameters = Vec::new();
            loop {
                let name = reader.string()?;
                if name.is_empty() {
                    break;
                }
                parameters.push((name, reader.string()?));
            }
            FrontendMessage::Startup { minor: (version & 0xffff) as u16, parameters }
        }
        version => return Err(ProtocolError::Version((version >> 16) as u16, (version & 0xffff) as u16)),
    };
    reader.end()?;
    Ok(message)
}

fn ready(kind: u8, body: &[u8], encoding: ClientEncoding) -> Result<FrontendMessage<'_>, ProtocolError> {
    let mut reader = FieldReader::new(char::from(kind), body, encoding);
    let message = match kind {
        b'Q' => FrontendMessage::Query(reader.string()?),
        b'P' => {
            let (name, query) = (reader.string()?, reader.string()?);
            let count = reader.count()?;
            FrontendMessage::Parse { name, query, types: (0..count).map(|_| reader.u32()).collect::<Result<_, _>>()? }
        }
        b'B' => bind(&mut reader)?,
        b'D' => FrontendMessage::Describe(target(&mut reader, 'D')?, reader.string()?),
        b'C' => FrontendMessage::Close(target(&mut reader, 'C')?, reader.string()?),
        b'E' => {
            // The manual: zero, and in practice a negative number too, means no limit.
            let portal = reader.string()?;
            FrontendMessage::Execute { portal, rows: u32::try_from(reader.i32()?).unwrap_or(0) }
        }
        b'H' => FrontendMessage::Flush,
        b'S' => FrontendMessage::Sync,
        b'd' => FrontendMessage::CopyData(reader.rest()),
        b'c' => FrontendMessage::CopyDone,
        b'f' => FrontendMessage::CopyFail(reader.string()?),
        b'p' => FrontendMessage::Password(reader.rest()),
        b'X' => FrontendMessage::Terminate,
        b'F' => {
            reader.rest();
            FrontendMessage::FunctionCall
        }
        other => return Err(ProtocolError::Kind(other)),
    };
    reader.end()?;
    Ok(message)
}

fn target(reader: &mut FieldReader<'_>, kind: char) -> Result<StatementOrPortal, ProtocolError> {
    match reader.u8()? {
        b'S' => Ok(StatementOrPortal::Statement),
        b'P' => Ok(StatementOrPortal::Portal),
        _ => Err(ProtocolError::Field(kind, "target")),
    }
}

fn bind<'a>(reader: &mut FieldReader<'a>) -> Result<FrontendMessage<'a>, ProtocolError> {
    let (portal, statement) = (reader.string()?, reader.string()?);
    let formats = formats(reader)?;
    let count = reader.count()?;
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(match usize::try_from(reader.i32()?) {
            Ok(length) => Some(reader.bytes(length)?),
            Err(_) => None,
        });
    }
    Ok(FrontendMessage::Bind { portal, statement, formats, values, results: self::formats(reader)? })
}

fn formats(reader: &mut FieldReader<'_>) -> Result<Vec<i16>, ProtocolError> {
    let count = reader.count()?;
    let mut formats = Vec::new();
    for _ in 0..count {
        let format = reader.i16()?;
        if !(0..=1).contains(&format) {
            return Err(ProtocolError::Field('B', "format code"));
        }
        formats.push(format);
    }
    Ok(formats)
}

#[cfg(test)]
mod tests;
