//! `FORMAT arrow`: an Arrow IPC stream. CopyData messages may split it anywhere.
//!
//! This module frames the stream's messages itself, for two reasons. It charges a message to the session's budget
//! before it gathers the message. And it checks that buffers lie within their message, which arrow-ipc assumes.
//! <https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format>

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{MessageHeader, root_as_message};

use super::columnar::with_positional_names;
use super::frame::Frame;
use super::{CopyReader, ReadRows};
use crate::error::Failure;
use crate::limits::{Budget, Charge, Charged};

pub(super) struct Arrow {
    width: usize,
    decoder: StreamDecoder,
    batches: VecDeque<Charged<RecordBatch>>,
    frame: Frame,
    /// The charges for the dictionaries that the decoder keeps, by their numbers.
    dictionaries: HashMap<i64, Charge>,
    has_ended: bool,
    budget: Arc<Budget>,
}

/// Precedes a message's length, except in streams of Arrow before 0.15 (2019).
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Ends a stream.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
/// The largest metadata of a message. They have some bytes for each column and buffer.
const MAX_METADATA_BYTES: usize = 64 << 20;
/// The memory of a decoded message, as a multiple of its bytes. Buffers that are not aligned are copied.
const DECODED_FACTOR: usize = 2;

/// What the first bytes of a frame tell.
enum FrameState {
    /// This number of bytes is needed to find the frame's length.
    NeedsBytes(usize),
    /// The frame has this number of bytes.
    Length(usize),
    /// The frame is the mark of the stream's end.
    EndOfStream,
}

impl Arrow {
    pub fn new(width: usize, budget: &Arc<Budget>) -> Self {
        Self {
            width,
            decoder: StreamDecoder::new(),
            batches: VecDeque::new(),
            frame: Frame::new(budget),
            dictionaries: HashMap::new(),
            has_ended: false,
            budget: Arc::clone(budget),
        }
    }

    /// Decodes a complete frame.
    fn decode(&mut self) -> Result<(), Failure> {
        let (frame, mut charge) = self.frame.take();
        charge.set(frame.len().saturating_mul(DECODED_FACTOR))?;
        if let Some((number, is_delta)) = dictionary_of_frame(&frame)? {
            // A delta extends the dictionary.
            let before = self.dictionaries.get(&number).filter(|_| is_delta).map_or(0, Charge::bytes);
            let bytes = charge.bytes().saturating_add(before);
            charge.set(bytes)?;
            self.dictionaries.insert(number, charge);
            charge = self.budget.empty_charge();
        }
        self.pass_to_decoder(frame, charge)
    }

    /// Passes bytes to the decoder. It decodes a message without a body only when the next bytes arrive.
    fn pass_to_decoder(&mut self, mut bytes: Buffer, mut charge: Charge) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let decoder = &mut self.decoder;
            // If arrow-ipc panics on invalid data in spite of the checks, only this COPY fails. Its decoder is not used
            // again.
            let decoded = catch_unwind(AssertUnwindSafe(|| decoder.decode(&mut bytes)));
            let decoded = decoded.map_err(|_| malformed("a message is not valid"))?;
            if let Some(batch) = decoded.map_err(malformed)? {
                let charge = std::mem::replace(&mut charge, self.budget.empty_charge());
                let size = charge.bytes();
                self.batches.push_back(charge.keep(with_positional_names(&batch, self.width, "arrow")?, size)?);
            }
        }
        Ok(())
    }
}

impl CopyReader for Arrow {
    fn feed(&mut self, mut data: &[u8]) -> Result<(), Failure> {
        while !data.is_empty() {
            if self.has_ended {
                return Err(malformed("there are data after its end"));
            }
            match inspect_frame(self.frame.bytes())? {
                FrameState::NeedsBytes(length) => data = self.frame.fill(data, length)?,
                FrameState::Length(length) => data = self.frame.fill(data, length)?,
                FrameState::EndOfStream => {}
            }
            match inspect_frame(self.frame.bytes())? {
                FrameState::Length(length) if length == self.frame.bytes().len() => self.decode()?,
                FrameState::EndOfStream => self.has_ended = true,
                FrameState::NeedsBytes(_) | FrameState::Length(_) => {}
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        // A stream may end without the mark.
        if !self.has_ended && !self.frame.bytes().is_empty() {
            return Err(malformed("its end is missing"));
        }
        self.pass_to_decoder(Buffer::from(&END_OF_STREAM[..]), self.budget.empty_charge())
    }

    fn batch(&mut self, _: bool) -> Result<Option<ReadRows>, Failure> {
        Ok(self.batches.pop_front().map(|batch| RecordBatch::clone(&batch).into()))
    }
}

fn malformed(problem: impl ToString) -> Failure {
    super::malformed("arrow", problem)
}

/// Reads as much of a frame as has arrived. A frame has an optional [`CONTINUATION`], the metadata's length, the
/// metadata, and a body whose length is in the metadata.
fn inspect_frame(frame: &[u8]) -> Result<FrameState, Failure> {
    let start = if frame.starts_with(&CONTINUATION) { 8 } else { 4 };
    let Some(length) = frame.get(start - 4..start) else { return Ok(FrameState::NeedsBytes(start)) };
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if length == 0 {
        return Ok(FrameState::EndOfStream);
    }
    if length > MAX_METADATA_BYTES {
        return Err(malformed("a message's metadata are too long"));
    }
    let Some(metadata) = frame.get(start..start + length) else { return Ok(FrameState::NeedsBytes(start + length)) };
    let body = checked_body(metadata)?;
    Ok(FrameState::Length((start + length).checked_add(body).ok_or_else(|| malformed("a message is too long"))?))
}

/// The length of a message's body, by its metadata. Checks that all buffers lie within the body.
fn checked_body(metadata: &[u8]) -> Result<usize, Failure> {
    let message = root_as_message(metadata).map_err(malformed)?;
    let body = usize::try_from(message.bodyLength()).map_err(|_| malformed("a message has a negative length"))?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => Some(message.header_as_record_batch()),
        MessageHeader::DictionaryBatch => Some(message.header_as_dictionary_batch().and_then(|found| found.data())),
        MessageHeader::Schema => None,
        _ => return Err(malformed("a message is neither a schema, a dictionary nor a batch")),
    };
    let Some(batch) = batch else { return Ok(body) };
    let batch = batch.ok_or_else(|| malformed("a message has no batch"))?;
    for buffer in batch.buffers().into_iter().flatten() {
        let end = buffer.offset().checked_add(buffer.length()).and_then(|end| usize::try_from(end).ok());
        if buffer.offset() < 0 || buffer.length() < 0 || end.is_none_or(|end| end > body) {
            return Err(malformed("a buffer lies outside of its message"));
        }
    }
    let counts = batch.nodes().into_iter().flatten().flat_map(|node| [node.length(), node.null_count()]);
    if counts.chain([batch.length()]).any(|count| !(0..=i64::from(i32::MAX)).contains(&count)) {
        return Err(malformed("a batch has an impossible number of rows"));
    }
    Ok(body)
}

/// If a frame is a dictionary, its number and whether it is a delta.
fn dictionary_of_frame(frame: &[u8]) -> Result<Option<(i64, bool)>, Failure> {
    let start = if frame.starts_with(&CONTINUATION) { 8 } else { 4 };
    let message = root_as_message(frame.get(start..).unwrap_or_default()).map_err(malformed)?;
    Ok(message.header_as_dictionary_batch().map(|found| (found.id(), found.isDelta())))
}

#[cfg(test)]
mod tests;
