//! `FORMAT arrow`: an Arrow IPC stream, however it is cut into messages.
//!
//! Its messages are framed here, so that none is gathered that is longer than the session may keep, and looked at before arrow-ipc
//! decodes them, which takes it for granted that buffers lie within their message.
//! <https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format>

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{MessageHeader, root_as_message};

use super::CopyReader;
use super::columnar::renamed;
use crate::error::Failure;
use crate::limits::budget::{Budget, Charge, Kept};

pub(super) struct Arrow {
    width: usize,
    decoder: StreamDecoder,
    batches: VecDeque<Kept<RecordBatch>>,
    /// What has come of the message that is next.
    frame: MutableBuffer,
    charge: Charge,
    /// For the dictionaries that the decoder keeps, by their numbers.
    dictionaries: HashMap<i64, Charge>,
    is_over: bool,
    budget: Arc<Budget>,
}

/// In front of a message's length, in all streams that are not from before 2019.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// A stream's mark of its end.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
/// What a message's metadata take at most; they have some bytes for each column and buffer.
const MOST_METADATA: usize = 64 << 20;
/// A decoded message takes so many times what it was: buffers that are not aligned are copied.
const DECODED: usize = 2;

/// What is known of a frame by its beginning.
enum Known {
    /// So many bytes are needed to know more.
    Needs(usize),
    /// It is complete with so many.
    Length(usize),
    /// The stream is over.
    End,
}

impl Arrow {
    pub fn new(width: usize, budget: &Arc<Budget>) -> Self {
        Self {
            width,
            decoder: StreamDecoder::new(),
            batches: VecDeque::new(),
            frame: MutableBuffer::new(0),
            charge: budget.nothing(),
            dictionaries: HashMap::new(),
            is_over: false,
            budget: Arc::clone(budget),
        }
    }

    /// Takes what is needed of `data` to have `length` bytes of the frame; gives the rest.
    fn take<'a>(&mut self, data: &'a [u8], length: usize) -> Result<&'a [u8], Failure> {
        if length > self.charge.bytes() {
            self.charge.set(length)?;
            self.frame.reserve(length - self.frame.len());
        }
        let (taken, rest) = data.split_at(data.len().min(length - self.frame.len()));
        self.frame.extend_from_slice(taken);
        Ok(rest)
    }

    /// Decodes the frame, which is complete.
    fn decode(&mut self) -> Result<(), Failure> {
        let frame: Buffer = std::mem::replace(&mut self.frame, MutableBuffer::new(0)).into();
        let mut charge = std::mem::replace(&mut self.charge, self.budget.nothing());
        charge.set(frame.len().saturating_mul(DECODED))?;
        if let Some((number, is_delta)) = dictionary(&frame)? {
            // A delta is added to what is there.
            let before = self.dictionaries.get(&number).filter(|_| is_delta).map_or(0, Charge::bytes);
            let bytes = charge.bytes().saturating_add(before);
            charge.set(bytes)?;
            self.dictionaries.insert(number, charge);
            charge = self.budget.nothing();
        }
        self.give(frame, charge)
    }

    /// Gives the decoder what it is to decode. A message without a body it decodes when it gets what follows.
    fn give(&mut self, mut bytes: Buffer, mut charge: Charge) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let decoder = &mut self.decoder;
            // What is left to go wrong in the crate ends this COPY, whose decoder nobody asks again then.
            let decoded = catch_unwind(AssertUnwindSafe(|| decoder.decode(&mut bytes)));
            let decoded = decoded.map_err(|_| malformed("a message is not valid"))?;
            if let Some(batch) = decoded.map_err(malformed)? {
                let charge = std::mem::replace(&mut charge, self.budget.nothing());
                let size = charge.bytes();
                self.batches.push_back(charge.keep(renamed(&batch, self.width, "arrow")?, size)?);
            }
        }
        Ok(())
    }
}

impl CopyReader for Arrow {
    fn feed(&mut self, mut data: &[u8]) -> Result<(), Failure> {
        while !data.is_empty() {
            if self.is_over {
                return Err(malformed("data follow its end"));
            }
            match known(self.frame.as_slice())? {
                Known::Needs(length) => data = self.take(data, length)?,
                Known::Length(length) => data = self.take(data, length)?,
                Known::End => {}
            }
            match known(self.frame.as_slice())? {
                Known::Length(length) if length == self.frame.len() => self.decode()?,
                Known::End => self.is_over = true,
                Known::Needs(_) | Known::Length(_) => {}
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        // A stream may end without its mark.
        if !self.is_over && !self.frame.is_empty() {
            return Err(malformed("its end is missing"));
        }
        self.give(Buffer::from(&END[..]), self.budget.nothing())
    }

    fn batch(&mut self, _: bool) -> Result<Option<RecordBatch>, Failure> {
        Ok(self.batches.pop_front().map(|batch| RecordBatch::clone(&batch)))
    }
}

fn malformed(problem: impl ToString) -> Failure {
    super::malformed("arrow", problem)
}

/// A frame: maybe [`CONTINUATION`], the metadata's length, the metadata, and a body whose length the metadata say.
fn known(frame: &[u8]) -> Result<Known, Failure> {
    let start = if frame.starts_with(&CONTINUATION) { 8 } else { 4 };
    let Some(length) = frame.get(start - 4..start) else { return Ok(Known::Needs(start)) };
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if length == 0 {
        return Ok(Known::End);
    }
    if length > MOST_METADATA {
        return Err(malformed("a message's metadata are too long"));
    }
    let Some(metadata) = frame.get(start..start + length) else { return Ok(Known::Needs(start + length)) };
    let body = checked_body(metadata)?;
    Ok(Known::Length((start + length).checked_add(body).ok_or_else(|| malformed("a message is too long"))?))
}

/// The length of the body that belongs to a message's metadata, within which all its buffers lie.
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
        return Err(malformed("a batch has a count of rows that no batch has"));
    }
    Ok(body)
}

/// The number of the dictionary that a frame brings, if it brings one, and whether it is added to what is there.
fn dictionary(frame: &[u8]) -> Result<Option<(i64, bool)>, Failure> {
    let start = if frame.starts_with(&CONTINUATION) { 8 } else { 4 };
    let message = root_as_message(frame.get(start..).unwrap_or_default()).map_err(malformed)?;
    Ok(message.header_as_dictionary_batch().map(|found| (found.id(), found.isDelta())))
}

#[cfg(test)]
mod tests;
