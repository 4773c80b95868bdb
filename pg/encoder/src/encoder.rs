//! An encoder with its controller and the message that it returned last.

use colonnade_wire::{
    Chunk, CodecSet, Controller, Encoder, EncodingSet, Link, LinkEstimate, Queue, Schema, UnknownName, Writer,
};

use crate::error::Failure;
use crate::input::{self, ColonnadeColumn};
use crate::{ColonnadeLinkEstimate, ColonnadeMessage, ColonnadeOptions, ColonnadeSlice};

/// The object behind a caller's pointer.
pub struct ColonnadeEncoder {
    writer: Writer,
    /// The chunk that was returned last. It borrows from the caller's columns, which outlive it by contract.
    chunk: Option<Chunk<'static>>,
    /// The message that was returned last, if it was not a chunk.
    message: Vec<u8>,
    slices: Vec<ColonnadeSlice>,
}

impl ColonnadeEncoder {
    /// # Safety
    ///
    /// The options' strings are NUL-terminated or null.
    pub(crate) unsafe fn new(options: &ColonnadeOptions, schema: Schema) -> Result<Self, Failure> {
        let unknown = |error: UnknownName| Failure::Argument(error.to_string());
        // SAFETY: as promised by the caller.
        let (compression, encodings, codecs) = unsafe {
            (input::text(options.compression)?, input::text(options.encodings)?, input::text(options.codecs)?)
        };
        let encodings = encodings.map_or(Ok(EncodingSet::ALL), str::parse).map_err(unknown)?;
        let codecs = codecs.map_or(Ok(CodecSet::ALL), str::parse).map_err(unknown)?;
        let controller = match compression {
            None | Some("auto") => {
                let link = match options.link {
                    0 => Link::SameMachine,
                    1 => Link::Loopback,
                    2 => Link::Remote,
                    _ => Link::Unobserved,
                };
                Controller::auto(link, codecs, 1.0).remembering(&options.estimate.into())
            }
            Some(name) => Controller::fixed(name.parse().map_err(unknown)?),
        };
        Ok(Self {
            writer: Writer::new(Encoder::new(schema).allow(encodings, codecs), controller),
            chunk: None,
            message: Vec::new(),
            slices: Vec::new(),
        })
    }

    pub(crate) fn schema_message(&mut self) -> ColonnadeMessage {
        let message = self.writer.encoder().schema_message();
        self.hand_out(message)
    }

    pub(crate) fn end_message(&mut self) -> ColonnadeMessage {
        let message = self.writer.encoder().end_message();
        self.hand_out(message)
    }

    /// # Safety
    ///
    /// The columns' buffers stay valid and unchanged until the next call.
    pub(crate) unsafe fn chunk(&mut self, rows: usize, raw: &[ColonnadeColumn]) -> Result<ColonnadeMessage, Failure> {
        self.release();
        // SAFETY: as promised by the caller.
        let columns = unsafe { input::columns(self.writer.encoder().schema(), raw) }?;
        let chunk = self.writer.chunk(rows, &columns)?;
        Ok(self.hand_out_chunk(chunk))
    }

    /// # Safety
    ///
    /// As for [`Self::chunk`].
    pub(crate) unsafe fn adopt(&mut self, message: &'static [u8]) -> Result<ColonnadeMessage, Failure> {
        self.release();
        let chunk = self.writer.encoder().adopt(message)?;
        Ok(self.hand_out_chunk(chunk))
    }

    pub(crate) fn watches_link(&self) -> bool {
        self.writer.watches_link()
    }

    pub(crate) fn share(&mut self) -> f64 {
        self.writer.share()
    }

    pub(crate) fn link(&mut self, bytes: usize, queue: &Queue) {
        self.writer.link(bytes, queue);
    }

    pub(crate) fn link_estimate(&self) -> Option<ColonnadeLinkEstimate> {
        self.writer.link_estimate().map(Into::into)
    }

    /// Takes back the message that was returned last.
    fn release(&mut self) {
        self.slices.clear();
        if let Some(chunk) = self.chunk.take() {
            self.writer.recycle(chunk);
        }
    }

    fn hand_out(&mut self, message: Vec<u8>) -> ColonnadeMessage {
        self.release();
        self.message = message;
        self.slices.push(slice(&self.message));
        self.described(self.message.len(), 0)
    }

    fn hand_out_chunk(&mut self, chunk: Chunk<'static>) -> ColonnadeMessage {
        let chunk = self.chunk.insert(chunk);
        // Only at this point, because the chunk's header is within the chunk.
        self.slices.extend(chunk.slices().into_iter().map(slice));
        let (length, rows) = (chunk.len(), chunk.rows());
        self.described(length, rows)
    }

    fn described(&self, length: usize, rows: usize) -> ColonnadeMessage {
        ColonnadeMessage { slices: self.slices.as_ptr(), count: self.slices.len(), length, rows }
    }
}

fn slice(bytes: &[u8]) -> ColonnadeSlice {
    ColonnadeSlice { bytes: bytes.as_ptr(), length: bytes.len() }
}

impl From<ColonnadeLinkEstimate> for LinkEstimate {
    fn from(estimate: ColonnadeLinkEstimate) -> Self {
        let ColonnadeLinkEstimate { throughput, was_limit } = estimate;
        Self { throughput: throughput / 1e9, was_limit: was_limit != 0 }
    }
}

impl From<LinkEstimate> for ColonnadeLinkEstimate {
    fn from(estimate: LinkEstimate) -> Self {
        let LinkEstimate { throughput, was_limit } = estimate;
        Self { throughput: throughput * 1e9, was_limit: u8::from(was_limit) }
    }
}
