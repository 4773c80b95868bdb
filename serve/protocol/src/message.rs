//! Messages of PostgreSQL's protocol, version 3: bytes only, no sockets.
//!
//! The source is the PostgreSQL manual, chapter "Frontend/Backend Protocol" (Message Formats).

pub mod backend;
pub mod frontend;
mod reader;

use crate::charset::TextError;

/// A violation of the protocol by the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The length field is smaller than itself, or larger than what this message may be.
    #[error("invalid length {length} of message {kind}; at most {limit} bytes are accepted")]
    Length {
        /// The message's type byte, or "start-up".
        kind: String,
        /// Its length field.
        length: u32,
        /// The longest that is allowed.
        limit: usize,
    },
    /// A type byte that no message has.
    #[error("invalid message type {0:#04x}; this is not PostgreSQL's protocol version 3")]
    Kind(u8),
    /// The message ends before its fields do.
    #[error("message {0:?} is too short")]
    Truncated(char),
    /// The message goes on after its last field.
    #[error("message {0:?} has bytes after its last field")]
    Trailing(char),
    /// A string that is no text in the client's encoding.
    #[error(transparent)]
    Text(TextError),
    /// A field has an invalid value.
    #[error("message {0:?} has an invalid {1}")]
    Field(char, &'static str),
    /// The start-up message requests an unsupported version of the protocol.
    #[error("protocol version {0}.{1} is not supported; this server supports 3.0 and 3.2")]
    Version(u16, u16),
    /// The start-up message's `options` cannot be read.
    #[error("invalid command-line argument for server process: {0}")]
    Options(String),
    /// A message that is invalid in this state.
    #[error("unexpected message {0:?}")]
    Unexpected(char),
    /// Unencrypted bytes follow the request for encryption.
    #[error("received unencrypted data after the request to encrypt; an attacker in the network may have inserted it")]
    Unencrypted,
    /// TLS without the protocol's name in ALPN, or with another one.
    #[error("a direct TLS connection must name the application protocol \"postgresql\" (ALPN)")]
    NoAlpn,
    /// The connection ended within a message.
    #[error("the connection ended within a message")]
    Eof,
}
