//! Data in the client's encoding: converts them for the reader of a format, which reads UTF-8.

use super::{CopyReader, ReadRows};
use crate::charset::Charset;
use crate::error::Failure;

/// The data that are converted at a time, so that a message does not need a multiple of its memory.
const PIECE_BYTES: usize = 64 << 10;

pub(super) struct Decoding {
    charset: Charset,
    reader: Box<dyn CopyReader>,
    /// The first bytes of a character whose last ones have not arrived.
    rest: Vec<u8>,
    text: String,
}

impl Decoding {
    pub fn new(charset: Charset, reader: Box<dyn CopyReader>) -> Self {
        Self { charset, reader, rest: Vec::new(), text: String::new() }
    }
}

impl CopyReader for Decoding {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        for piece in data.chunks(PIECE_BYTES) {
            self.rest.extend_from_slice(piece);
            self.text.clear();
            let read = self.charset.decode(&self.rest, &mut self.text)?;
            self.rest.drain(..read);
            self.reader.feed(self.text.as_bytes())?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if !self.rest.is_empty() {
            return Err(self.charset.incomplete(&self.rest).into());
        }
        self.reader.finish()
    }

    fn batch(&mut self, all: bool) -> Result<Option<ReadRows>, Failure> {
        self.reader.batch(all)
    }
}
