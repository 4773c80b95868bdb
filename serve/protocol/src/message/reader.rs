//! Reads the fields of one message. Every read is checked, and no byte may be left at the end.

use std::borrow::Cow;

use super::ProtocolError;
use crate::charset::ClientEncoding;

/// Reads the body of message `kind`.
pub(super) struct FieldReader<'a> {
    kind: char,
    rest: &'a [u8],
    encoding: ClientEncoding,
}

impl<'a> FieldReader<'a> {
    pub fn new(kind: char, body: &'a [u8], encoding: ClientEncoding) -> Self {
        Self { kind, rest: body, encoding }
    }

    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], ProtocolError> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(ProtocolError::Truncated(self.kind))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(ProtocolError::Truncated(self.kind))?;
        self.rest = rest;
        Ok(*bytes)
    }

    pub fn u8(&mut self) -> Result<u8, ProtocolError> {
        self.array().map(|[byte]| byte)
    }

    pub fn i16(&mut self) -> Result<i16, ProtocolError> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn i32(&mut self) -> Result<i32, ProtocolError> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_be_bytes)
    }

    /// The number of items that follow. As in PostgreSQL, it is unsigned.
    pub fn count(&mut self) -> Result<usize, ProtocolError> {
        self.array().map(u16::from_be_bytes).map(usize::from)
    }

    /// A NUL-terminated string.
    pub fn string(&mut self) -> Result<Cow<'a, str>, ProtocolError> {
        let end = self.rest.iter().position(|&b| b == 0).ok_or(ProtocolError::Truncated(self.kind))?;
        let text = self.encoding.decode(self.bytes(end)?).map_err(ProtocolError::Text)?;
        self.u8()?;
        Ok(text)
    }

    /// The unread bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn end(self) -> Result<(), ProtocolError> {
        if self.rest.is_empty() { Ok(()) } else { Err(ProtocolError::Trailing(self.kind)) }
    }
}
