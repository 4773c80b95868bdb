//! An encoded chunk, ready to be sent.

use std::ops::Range;
use std::time::Duration;

use crate::message::{HEADER_LEN, Header};

/// One chunk message. Its bytes are the concatenated [`Chunk::slices`].
pub struct Chunk<'a> {
    header: [u8; HEADER_LEN],
    own: Vec<u8>,
    pieces: Vec<Piece<'a>>,
    length: usize,
    rows: usize,
    plain_bytes: usize,
    light: Light,
}

/// Its columns before FSST and the codec.
#[derive(Clone, Copy, Default)]
pub(super) struct Light {
    pub(super) bytes: usize,
    /// CPU time that FSST and the codec took.
    pub(super) compressing: Duration,
}

enum Piece<'a> {
    Own(Range<usize>),
    Borrowed(&'a [u8]),
    Copied(Vec<u8>),
}

impl Piece<'_> {
    fn bytes<'s>(&'s self, own: &'s [u8]) -> &'s [u8] {
        match self {
            Self::Own(range) => &own[range.clone()],
            Self::Borrowed(bytes) => bytes,
            Self::Copied(bytes) => bytes,
        }
    }
}

impl<'a> Chunk<'a> {
    pub(super) fn new(
        header: &mut Header,
        own: Vec<u8>,
        borrowed: Vec<(usize, &'a [u8])>,
        plain_bytes: usize,
        light: Light,
    ) -> Self {
        let mut pieces = Vec::with_capacity(2 * borrowed.len() + 1);
        let mut from = 0;
        for (at, bytes) in borrowed {
            if at > from {
                pieces.push(Piece::Own(from..at));
            }
            pieces.push(Piece::Borrowed(bytes));
            from = at;
        }
        if own.len() > from {
            pieces.push(Piece::Own(from..own.len()));
        }
        let sealed = header.seal(pieces.iter().map(|piece| piece.bytes(&own)));
        Self {
            header: sealed,
            own,
            pieces,
            length: header.length as usize,
            rows: header.rows as usize,
            plain_bytes,
            light,
        }
    }

    /// The message in pieces, to be written in this order.
    pub fn slices(&self) -> Vec<&[u8]> {
        let pieces = self.pieces.iter().map(|piece| piece.bytes(&self.own));
        std::iter::once(&self.header[..]).chain(pieces).collect()
    }

    /// Bytes of the message.
    #[allow(clippy::len_without_is_empty, reason = "a message is never empty")]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Rows of the chunk.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of the columns' plain buffers.
    pub fn plain_bytes(&self) -> usize {
        self.plain_bytes
    }

    /// Bytes that the light encodings alone left, without FSST and a codec.
    pub fn light_bytes(&self) -> usize {
        self.light.bytes
    }

    /// CPU time of FSST and the codec.
    pub fn compressing(&self) -> Duration {
        self.light.compressing
    }

    /// The same message without borrowed buffers: they are copied.
    pub fn into_owned(self) -> Chunk<'static> {
        let pieces = self.pieces.into_iter().map(|piece| match piece {
            Piece::Own(range) => Piece::Own(range),
            Piece::Borrowed(bytes) => Piece::Copied(bytes.to_vec()),
            Piece::Copied(bytes) => Piece::Copied(bytes),
        });
        Chunk {
            header: self.header,
            own: self.own,
            pieces: pieces.collect(),
            length: self.length,
            rows: self.rows,
            plain_bytes: self.plain_bytes,
            light: self.light,
        }
    }

    pub(super) fn into_own(self) -> Vec<u8> {
        self.own
    }
}
