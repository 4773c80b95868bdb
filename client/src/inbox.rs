//! What is received from a server: answers through a small buffer, rows in large blocks, for which all that is done here is to
//! step over them.

use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;

use crate::channel::{Channel, arrived};
use crate::shared_connection::Tick;
use crate::{Buffer, Error, ErrorKind, Pool};

/// One read brings an answer and whatever small messages follow it.
const SMALL: usize = 16 << 10;
/// Bytes of a block, unless a single row is larger: it should still be in a cache when it is decoded.
const BLOCK: usize = 256 << 10;
/// A result of fewer bytes is not worth waiting for more.
const HASTE: u64 = 1 << 20;
/// A reception of fewer bytes was too early.
const TOO_FEW: usize = 64 << 10;
/// Servers send 8 or 16 KiB at a time. Whoever waits for each of them spends more on waking up than on anything else;
/// after so long there is more, and the socket's buffer is not full yet.
const PAUSE: Duration = Duration::from_micros(200);

/// Bytes of the answer to a question of this client's own. Statistics of a thousand columns are far below.
pub(crate) const ANSWER_LIMIT: usize = 64 << 20;

/// What is kept of an answer, which a server must not make endless.
#[derive(Debug, Default)]
pub(crate) struct AnswerSize(usize);

impl AnswerSize {
    /// Counts a row or a column of so many bytes.
    ///
    /// # Errors
    /// The answer is longer than any that this client asks for.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Error> {
        // Each part has some memory of its own.
        self.0 = self.0.saturating_add(bytes + 64);
        if self.0 <= ANSWER_LIMIT {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Protocol, "the server's answer to a question about its catalog has no end"))
    }
}

/// Moves a position behind the last whole row of some bytes. Gives where the next one ends, as far as can be told; `None` if
/// what follows is none.
pub(crate) type StepOver<'a> = &'a mut dyn FnMut(&[u8], &mut usize) -> Result<Option<usize>, Error>;

/// A channel, and what has come through it but was not read yet.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) channel: Channel,
    /// At least [`SMALL`] bytes.
    small: Vec<u8>,
    start: usize,
    end: usize,
    received: u64,
}

impl Inbox {
    pub(crate) fn new(channel: Channel) -> Self {
        Self { channel, small: vec![0; SMALL], start: 0, end: 0, received: 0 }
    }

    /// Bytes received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// What can be read without a wait.
    pub(crate) fn at_hand(&self) -> &[u8] {
        &self.small[self.start..self.end]
    }

    /// The next byte, which stays the next.
    pub(crate) fn peek(&mut self, tick: Tick<'_>) -> Result<u8, Error> {
        while self.start == self.end {
            self.refill(tick)?;
        }
        Ok(self.small[self.start])
    }

    /// The next few bytes, which stay the next.
    pub(crate) fn ahead<const N: usize>(&mut self, tick: Tick<'_>) -> Result<[u8; N], Error> {
        loop {
            if let Some(bytes) = self.at_hand().first_chunk().copied() {
                return Ok(bytes);
            }
            self.refill(tick)?;
        }
    }

    /// Reads a few bytes.
    pub(crate) fn array<const N: usize>(&mut self, tick: Tick<'_>) -> Result<[u8; N], Error> {
        let bytes = self.ahead(tick)?;
        self.start += N;
        Ok(bytes)
    }

    /// Reads `len` bytes, piece by piece.
    pub(crate) fn take(&mut self, len: usize, tick: Tick<'_>, sink: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let mut missing = len;
        while missing > 0 {
            if self.start == self.end {
                self.refill(tick)?;
            }
            let part = missing.min(self.end - self.start);
            sink(&self.small[self.start..self.start + part]);
            self.start += part;
            missing -= part;
        }
        Ok(())
    }

    /// Reads as many bytes as the buffer is for, to where they stay.
    pub(crate) fn fill(&mut self, buffer: &mut Buffer, tick: Tick<'_>) -> Result<(), Error> {
        self.start += buffer.extend(&self.small[self.start..self.end]);
        while buffer.missing() > 0 {
            self.receive(buffer, true, tick)?;
        }
        Ok(())
    }

    /// Reads rows up to what is none. Each block that `sink` gets is whole rows.
    ///
    /// # Errors
    /// The connection is lost, `step` refuses a row, or there is no memory.
    pub(crate) fn rows(
        &mut self,
        pool: &Pool,
        step: StepOver<'_>,
        tick: Tick<'_>,
        sink: &mut dyn FnMut(Bytes),
    ) -> Result<(), Error> {
        let take = |len: usize| pool.take(len).ok_or_else(|| no_memory(len));
        let before = self.received;
        let mut buffer = take(self.at_hand().len().max(BLOCK))?;
        buffer.extend(self.at_hand());
        self.start = self.end;
        // The end of the last whole row.
        let mut whole = 0;
        while let Some(next) = step(buffer.as_ref(), &mut whole)? {
            // Passes the whole rows on; the part of one goes into another block.
            let mut pass_on = |buffer: &mut Buffer, whole: &mut usize| -> Result<(), Error> {
                let mut fresh = take((next - *whole).max(BLOCK))?;
                fresh.extend(&buffer.as_ref()[*whole..]);
                let full = std::mem::replace(buffer, fresh).freeze();
                if *whole > 0 {
                    sink(full.slice(..*whole));
                }
                *whole = 0;
                Ok(())
            };
            if next > buffer.as_ref().len() + buffer.missing() || buffer.missing() == 0 {
                pass_on(&mut buffer, &mut whole)?;
            }
            match self.receive(&mut buffer, false, tick)? {
                // Rows that come slowly are passed on all the same.
                0 if whole > 0 => pass_on(&mut buffer, &mut whole)?,
                count => {
                    tick()?;
                    if count < TOO_FEW && self.received - before > HASTE {
                        sleep(PAUSE);
                    }
                }
            }
        }
        self.give_back(&buffer.as_ref()[whole..]);
        if whole > 0 {
            sink(buffer.freeze().slice(..whole));
        }
        Ok(())
    }

    /// Makes bytes that were received the next ones.
    fn give_back(&mut self, bytes: &[u8]) {
        if self.small.len() < bytes.len() {
            self.small.resize(bytes.len(), 0);
        }
        self.small[..bytes.len()].copy_from_slice(bytes);
        (self.start, self.end) = (0, bytes.len());
    }

    /// Receives what there is, as far as the buffer has room, or waits for as much as that if `whole`; returns how much, which
    /// is 0 if nothing came for a while.
    fn receive(&mut self, buffer: &mut Buffer, whole: bool, tick: Tick<'_>) -> Result<usize, Error> {
        let (to, room) = buffer.unfilled();
        // SAFETY: the buffer allows `room` bytes at `to`, and exactly the received ones are counted as filled.
        let received = unsafe { self.channel.receive(to, room, whole) };
        let count = arrived(received, tick)?;
        // SAFETY: as above.
        unsafe { buffer.fill(count) };
        self.received += count as u64;
        Ok(count)
    }

    /// Receives at least one byte more (none if the tick was asked and said to go on).
    fn refill(&mut self, tick: Tick<'_>) -> Result<(), Error> {
        self.small.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let room = &mut self.small[self.end..];
        // SAFETY: `room` may be written to.
        let received = unsafe { self.channel.receive(room.as_mut_ptr(), room.len(), false) };
        let count = arrived(received, tick)?;
        self.end += count;
        self.received += count as u64;
        Ok(())
    }
}

pub(crate) fn no_memory(len: usize) -> Error {
    Error::new(ErrorKind::Unavailable, format!("no memory for {len} bytes"))
}
