//! Receives from a server: answers through a small buffer, rows in large blocks. Rows are only skipped here, not
//! decoded.

use std::thread::sleep;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::channel::{Channel, arrived};
use crate::shared_connection::Tick;
use crate::{Buffer, Error, ErrorKind, Pool};

/// One read receives an answer and small messages after it.
const SMALL: usize = 16 << 10;
/// Bytes of a block, unless a single row is larger. The block should still be in a cache when it is decoded.
const BLOCK: usize = 256 << 10;
/// For a smaller result, waiting for more bytes does not pay.
const HASTE: u64 = 1 << 20;
/// If a read receives fewer bytes, the wait before it was too short.
const TOO_FEW: usize = 64 << 10;
/// Servers send 8 or 16 KiB at a time. Waking up for each of them costs more than all other work. After this wait more
/// bytes are there, and the socket's buffer is not full yet.
const PAUSE: Duration = Duration::from_micros(200);

/// The most bytes of an answer to a question of this client. Statistics of a thousand columns are much smaller.
pub(crate) const ANSWER_LIMIT: usize = 64 << 20;

/// Counts the bytes of an answer that are kept, so that a server cannot make it endless.
#[derive(Debug, Default)]
pub(crate) struct AnswerSize(usize);

impl AnswerSize {
    /// Counts a row or a column of this many bytes.
    ///
    /// # Errors
    /// The answer is longer than any that this client requests.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Error> {
        // Each value needs some memory in addition to its bytes.
        self.0 = self.0.saturating_add(bytes + 64);
        if self.0 <= ANSWER_LIMIT {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Protocol, "the server's answer to a question about its catalog has no end"))
    }
}

/// The most bytes of a login, which is a few short messages.
const LOGIN_LIMIT: u64 = 1 << 20;
/// The most bytes besides rows in an answer: notices, notifications, settings, results without rows. A function may
/// raise a notice for each of a million rows.
const ASIDE_LIMIT: u64 = 256 << 20;

/// Counts the bytes of an answer that are no rows, so that a server cannot make it endless. No limit of the user's
/// counts them.
#[derive(Debug)]
pub(crate) struct Asides {
    left: u64,
    limit: u64,
}

impl Asides {
    fn of_login() -> Self {
        Self { left: LOGIN_LIMIT, limit: LOGIN_LIMIT }
    }

    /// For the next answer.
    pub(crate) fn restart(&mut self) {
        *self = Self { left: ASIDE_LIMIT, limit: ASIDE_LIMIT };
    }

    /// Counts a message of this many bytes.
    ///
    /// # Errors
    /// The answer has no end.
    #[inline]
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Error> {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(endless(self.limit)),
        }
    }
}

#[cold]
fn endless(limit: u64) -> Error {
    let message =
        format!("the server sent more than {limit} bytes of notices and other messages beside rows in one answer");
    Error::new(ErrorKind::Protocol, message).with_hint("if these are the notices of a statement, let it raise fewer")
}

/// Moves a position behind the last whole row. Returns where the next row ends, as far as that is known; `None` if the
/// next message is not a row.
pub(crate) type StepOver<'a> = &'a mut dyn FnMut(&[u8], &mut usize) -> Result<Option<usize>, Error>;

/// A channel, and the received bytes that were not read yet.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) channel: Channel,
    pub(crate) asides: Asides,
    /// At least [`SMALL`] bytes.
    small: Vec<u8>,
    start: usize,
    end: usize,
    received: u64,
    /// An error of [`Inbox::gather`], which the next read reports.
    failure: Option<Error>,
}

/// Whether all bytes of an answer have been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// More bytes are to come.
    Partial,
    /// It does not fit into the buffer.
    Long,
}

impl Inbox {
    pub(crate) fn new(channel: Channel) -> Self {
        Self {
            channel,
            asides: Asides::of_login(),
            small: vec![0; SMALL],
            start: 0,
            end: 0,
            received: 0,
            failure: None,
        }
    }

    /// Bytes received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// The bytes that can be read without waiting.
    pub(crate) fn at_hand(&self) -> &[u8] {
        &self.small[self.start..self.end]
    }

    /// The next byte, which is not consumed.
    pub(crate) fn peek(&mut self, tick: Tick<'_>) -> Result<u8, Error> {
        while self.start == self.end {
            self.refill(tick)?;
        }
        Ok(self.small[self.start])
    }

    /// The next bytes, which are not consumed.
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

    /// Receives without consuming, until the buffer has a whole answer by `extent`. Returns whether it has one: not if
    /// the answer is long or takes more than `patience`. After an error, reading it would not wait either.
    pub(crate) fn gather(
        &mut self,
        patience: Duration,
        mut extent: impl FnMut(&[u8]) -> Extent,
        tick: Tick<'_>,
    ) -> bool {
        let mut deadline: Option<Instant> = None;
        loop {
            match extent(self.at_hand()) {
                Extent::Whole => return true,
                Extent::Partial if self.at_hand().len() < SMALL => {}
                Extent::Partial | Extent::Long => return false,
            }
            let now = Instant::now();
            let left = deadline.get_or_insert(now + patience).saturating_duration_since(now);
            if left.is_zero() || !self.channel.is_readable_within(left) {
                return false;
            }
            if let Err(error) = self.refill(tick) {
                self.failure = Some(error);
                return true;
            }
        }
    }

    /// Fills a buffer directly from the channel.
    pub(crate) fn fill(&mut self, buffer: &mut Buffer, tick: Tick<'_>) -> Result<(), Error> {
        self.start += buffer.extend(&self.small[self.start..self.end]);
        while buffer.missing() > 0 {
            self.receive(buffer, true, tick)?;
        }
        Ok(())
    }

    /// Reads rows up to the first message that is not a row. Each block that `sink` receives has whole rows.
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
            // Passes on the whole rows. An incomplete row moves to another block.
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
                // Slow rows are passed on without waiting for a full block.
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

    /// Makes these received bytes the next ones to read.
    fn give_back(&mut self, bytes: &[u8]) {
        if self.small.len() < bytes.len() {
            self.small.resize(bytes.len(), 0);
        }
        self.small[..bytes.len()].copy_from_slice(bytes);
        (self.start, self.end) = (0, bytes.len());
    }

    /// Receives up to the buffer's free space, or waits until it is full if `whole`. Returns the number of bytes,
    /// which is 0 if nothing came within the timeout.
    fn receive(&mut self, buffer: &mut Buffer, whole: bool, tick: Tick<'_>) -> Result<usize, Error> {
        self.fail()?;
        let (to, room) = buffer.unfilled();
        // SAFETY: the buffer allows `room` bytes at `to`, and exactly the received ones are counted as filled.
        let received = unsafe { self.channel.receive(to, room, whole) };
        let count = arrived(received, tick)?;
        // SAFETY: as above.
        unsafe { buffer.fill(count) };
        self.received += count as u64;
        Ok(count)
    }

    /// Reports the error of an earlier receive.
    fn fail(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Receives at least one further byte, or none if the tick returned without an error.
    fn refill(&mut self, tick: Tick<'_>) -> Result<(), Error> {
        self.fail()?;
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
