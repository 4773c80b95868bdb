//! The frame of a message. FORMAT §3.

use crate::{Damage, DecodeError, checksum};

/// Bytes before a message's body.
pub const HEADER_LEN: usize = 64;

pub(crate) const MAGIC: [u8; 4] = *b"CLN1";

/// What a reader accepts.
#[derive(Clone, Copy, Debug)]
pub struct DecodeLimits {
    /// Bytes of one message, header included, and of its body before the codec.
    pub message_bytes: u64,
    /// Bytes of the buffers that one chunk decodes to.
    pub decoded_bytes: u64,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self { message_bytes: 1 << 30, decoded_bytes: 2 << 30 }
    }
}

/// The size of chunks that a reader requested. PROTOCOL §2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedSize {
    /// The maximum number of rows.
    pub rows: u32,
    /// The maximum number of bytes of plain buffers, unless the chunk is a single row.
    pub bytes: u64,
}

/// Senders count alignment, offsets and bitmaps in different ways, so twice the requested bytes are accepted.
const MARGIN: u64 = 2;
/// Additional bytes for what a chunk contains independent of its rows.
const CHUNK_OVERHEAD: u64 = 64 << 10;
/// Additional bytes for each field: the first offset, the last byte of a bitmap, headers, the alignment of its buffers.
const FIELD_OVERHEAD: u64 = 256;

impl RequestedSize {
    /// The maximum number of bytes of the body, and of the decoded buffers, of a chunk of several rows. `fields`
    /// includes nested fields.
    pub(crate) fn most(self, fields: usize) -> u64 {
        let overhead = (fields as u64).saturating_mul(FIELD_OVERHEAD).saturating_add(CHUNK_OVERHEAD);
        self.bytes.saturating_mul(MARGIN).saturating_add(overhead)
    }

    /// Whether a message that starts with `header` may have `length` bytes. Readers check this before they allocate.
    /// Only a chunk of a single row may be much larger than requested.
    pub fn allows(self, header: &[u8; HEADER_LEN], length: u64) -> bool {
        let largest = self.bytes.saturating_mul(MARGIN).max(SCHEMA_BYTES);
        length <= largest || (header[4] == MessageKind::Chunk as u8 && u32_at(header, 24) == 1)
    }
}

/// The maximum number of bytes of a schema message.
pub(crate) const SCHEMA_BYTES: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Schema = 1,
    Chunk = 2,
    End = 3,
}

/// A message's fields before the body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) kind: MessageKind,
    pub(crate) codec: u8,
    pub(crate) length: u64,
    pub(crate) checksum: u64,
    pub(crate) rows: u32,
    pub(crate) sequence: u32,
    pub(crate) body_length: u64,
}

impl Header {
    /// The 64 bytes of the header. The checksum covers them and the body's `pieces`; the call also sets the checksum
    /// field.
    pub(crate) fn seal<'a>(&mut self, pieces: impl Iterator<Item = &'a [u8]>) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.kind as u8;
        bytes[5] = self.codec;
        bytes[8..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.rows.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.body_length.to_le_bytes());
        self.checksum = checksum::of_pieces(seed(&bytes), &bytes[24..], pieces);
        bytes[16..24].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// Checks a whole message and parses its header.
    pub(crate) fn open(message: &[u8], limits: &DecodeLimits) -> Result<Self, DecodeError> {
        let Some(header) = message.first_chunk::<HEADER_LEN>() else { return Err(Damage::Truncated.into()) };
        let length = message_length(header, limits)?;
        if length > message.len() {
            return Err(Damage::Truncated.into());
        } else if length < message.len() {
            return Err(Damage::TrailingBytes.into());
        }
        let found = u64_at(header, 16);
        if checksum::of(seed(header), &message[24..]) != found {
            return Err(Damage::Checksum.into());
        }
        let kind = match header[4] {
            1 => MessageKind::Schema,
            2 => MessageKind::Chunk,
            3 => MessageKind::End,
            other => return Err(Damage::Kind(other).into()),
        };
        let header = Self {
            kind,
            codec: header[5],
            length: length as u64,
            checksum: found,
            rows: u32_at(header, 24),
            sequence: u32_at(header, 28),
            body_length: u64_at(header, 32),
        };
        let zeros = [&message[6..8], &message[40..HEADER_LEN]];
        if zeros.iter().any(|zero| zero.iter().any(|&byte| byte != 0)) {
            return Err(Damage::NotZero.into());
        }
        if kind != MessageKind::Chunk && (header.codec != 0 || header.rows != 0 || header.sequence != 0) {
            return Err(Damage::NotZero.into());
        }
        if kind == MessageKind::Schema && header.length > SCHEMA_BYTES {
            return Err(Damage::OverLimit { declared: header.length, limit: SCHEMA_BYTES }.into());
        }
        if header.body_length > limits.message_bytes {
            return Err(Damage::OverLimit { declared: header.body_length, limit: limits.message_bytes }.into());
        }
        if header.codec == 0 && header.body_length != header.length - HEADER_LEN as u64 {
            return Err(Damage::BodyLength.into());
        }
        Ok(header)
    }
}

/// Bytes of the whole message that starts with `header`, for readers that must find its end.
///
/// # Errors
///
/// The magic is not version 1's, or the length is below that of a header or above the limit.
pub fn message_length(header: &[u8; HEADER_LEN], limits: &DecodeLimits) -> Result<usize, DecodeError> {
    if header[..4] != MAGIC {
        return Err(Damage::Magic.into());
    }
    let length = u64_at(header, 8);
    if length < HEADER_LEN as u64 {
        return Err(Damage::Truncated.into());
    }
    if length > limits.message_bytes {
        return Err(Damage::OverLimit { declared: length, limit: limits.message_bytes }.into());
    }
    usize::try_from(length).map_err(|_| Damage::OverLimit { declared: length, limit: limits.message_bytes }.into())
}

fn seed(header: &[u8]) -> u64 {
    let mut first = [0; 16];
    first.copy_from_slice(&header[..16]);
    checksum::seed(&first)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    <i32 as crate::int::Int>::read_le(&bytes[at..]) as u32
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    <i64 as crate::int::Int>::read_le(&bytes[at..]) as u64
}
