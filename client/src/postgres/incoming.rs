//! Messages from a socket: headers and small bodies through a small buffer, large bodies straight to where they stay.

use std::time::Duration;

use super::message::{self, CONTROL_LIMIT, HEADER, protocol, shown};
use crate::channel::{Channel, arrived, lost};
use crate::session::Tick;
use crate::socket::Socket;
use crate::{Buffer, Error};

/// One read brings a header and whatever small messages follow it. Of a chunk, at most this much is copied once more.
const SMALL: usize = 8192;

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Incoming {
    channel: Channel,
    /// At least [`SMALL`] bytes.
    small: Vec<u8>,
    start: usize,
    end: usize,
    received: u64,
}

impl Incoming {
    pub(crate) fn new(channel: Channel) -> Self {
        Self { channel, small: vec![0; SMALL], start: 0, end: 0, received: 0 }
    }

    /// Bytes of messages read so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// What is received from, below any encryption.
    pub(crate) fn socket(&self) -> &Socket {
        self.channel.socket()
    }

    /// What is received from.
    pub(crate) fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// How long nothing may come before the tick is asked.
    pub(crate) fn set_patience(&self, timeout: Option<Duration>) -> Result<(), Error> {
        self.socket().set_timeout(timeout).map_err(lost)
    }

    /// The type of the next message and the length of its body, which must be read or skipped next.
    pub(crate) fn header(&mut self, tick: Tick<'_>) -> Result<(u8, usize), Error> {
        tick()?;
        let mut bytes = [0; HEADER];
        while self.end - self.start < HEADER {
            self.refill(tick)?;
        }
        bytes.copy_from_slice(&self.small[self.start..self.start + HEADER]);
        self.start += HEADER;
        self.received += HEADER as u64;
        message::header(bytes)
    }

    /// The type of the next message, which stays the next.
    pub(crate) fn peek(&mut self, tick: Tick<'_>) -> Result<u8, Error> {
        tick()?;
        while self.start == self.end {
            self.refill(tick)?;
        }
        Ok(self.small[self.start])
    }

    /// What has come already, for a reader that goes on with [`Incoming::receive`] and gives back what it leaves.
    pub(crate) fn hand_over(&mut self) -> &[u8] {
        let at_hand = &self.small[self.start..self.end];
        self.received += at_hand.len() as u64;
        self.start = self.end;
        at_hand
    }

    /// The opposite of [`Incoming::hand_over`].
    pub(crate) fn give_back(&mut self, bytes: &[u8]) {
        self.received -= bytes.len() as u64;
        if self.small.len() < bytes.len() {
            self.small.resize(bytes.len(), 0);
        }
        self.small[..bytes.len()].copy_from_slice(bytes);
        (self.start, self.end) = (0, bytes.len());
    }

    /// Receives what there is, as far as the buffer has room; returns how much, which is 0 if nothing came for a while.
    pub(crate) fn receive(&mut self, buffer: &mut Buffer, tick: Tick<'_>) -> Result<usize, Error> {
        let (to, room) = buffer.unfilled();
        // SAFETY: the buffer allows `room` bytes at `to`, and exactly the received ones are counted as filled.
        let received = unsafe { self.channel.receive(to, room, false) };
        let count = arrived(received, tick)?;
        // SAFETY: as above.
        unsafe { buffer.fill(count) };
        self.received += count as u64;
        Ok(count)
    }

    /// The body of a message that is not CopyData.
    pub(crate) fn body(&mut self, kind: u8, len: usize, tick: Tick<'_>) -> Result<Vec<u8>, Error> {
        if len > CONTROL_LIMIT {
            return Err(protocol(format!("a message {} of {len} bytes", shown(kind))));
        }
        let mut body = Vec::with_capacity(len);
        self.take(len, tick, &mut |bytes| body.extend_from_slice(bytes))?;
        Ok(body)
    }

    /// Passes over a body.
    pub(crate) fn skip(&mut self, len: usize, tick: Tick<'_>) -> Result<(), Error> {
        self.take(len, tick, &mut |_| {})
    }

    /// Reads a body to where it stays.
    pub(crate) fn body_into(&mut self, buffer: &mut Buffer, tick: Tick<'_>) -> Result<(), Error> {
        self.received += buffer.missing() as u64;
        self.start += buffer.extend(&self.small[self.start..self.end]);
        while buffer.missing() > 0 {
            let (to, room) = buffer.unfilled();
            // SAFETY: the buffer allows `room` bytes at `to`, and exactly the received ones are counted as filled.
            let received = unsafe { self.channel.receive(to, room, true) };
            let count = arrived(received, tick)?;
            // SAFETY: as above.
            unsafe { buffer.fill(count) };
        }
        Ok(())
    }

    fn take(&mut self, len: usize, tick: Tick<'_>, sink: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        self.received += len as u64;
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

    /// Receives at least one byte more (none if the tick was asked and said to go on).
    fn refill(&mut self, tick: Tick<'_>) -> Result<(), Error> {
        self.small.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let room = &mut self.small[self.end..];
        // SAFETY: `room` may be written to.
        let received = unsafe { self.channel.receive(room.as_mut_ptr(), room.len(), false) };
        self.end += arrived(received, tick)?;
        Ok(())
    }
}
