//! Packets from a socket: answers one by one, rows in large blocks, for which all that is done here is to step over them.

use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;

use super::packet::{HEADER, MAX_PACKET, framed, header, protocol};
use crate::channel::{Channel, arrived, lost};
use crate::session::Tick;
use crate::{Buffer, Error, ErrorKind, Pool, tls};

/// One read brings an answer and whatever small packets follow it.
const SMALL: usize = 16 << 10;
/// The most that is read into memory of a packet that is no row. An error or a column's description stays far below.
const CONTROL_LIMIT: u64 = 1 << 20;
/// Bytes of a row at most: as much as max_allowed_packet can be.
const ROW_LIMIT: u64 = 1 << 30;
/// Bytes of a block, unless a single row is larger: it should still be in a cache when it is decoded.
const BLOCK: usize = 256 << 10;
/// A result of fewer bytes is not worth waiting for more.
const HASTE: u64 = 1 << 20;
/// A reception of fewer bytes was too early.
const TOO_FEW: usize = 64 << 10;
/// Servers send 16 KiB at a time. Whoever waits for each of them spends more on waking up than on anything else;
/// after so long there is more, and the socket's buffer is not full yet.
const PAUSE: Duration = Duration::from_micros(200);
/// The first byte of a row in binary.
const ROW: u8 = 0;

/// Some rows.
#[derive(Clone, Debug)]
pub(super) enum Block {
    /// Whole packets end to end, each of which is a row.
    Packets(Bytes),
    /// One row that was longer than a packet, without headers.
    Row(Bytes),
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        let (Self::Packets(bytes) | Self::Row(bytes)) = self;
        bytes
    }
}

/// The receiving half of a connection, and the packets' numbers, which both halves share.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) channel: Channel,
    /// At least [`SMALL`] bytes.
    small: Vec<u8>,
    start: usize,
    end: usize,
    received: u64,
    /// The number of the next packet in either direction.
    number: u8,
}

impl Incoming {
    pub(super) fn new(channel: Channel) -> Self {
        Self { channel, small: vec![0; SMALL], start: 0, end: 0, received: 0, number: 0 }
    }

    /// The same connection, encrypted from here on. `host` is what the server's certificate is for.
    ///
    /// # Errors
    /// The server cannot be trusted, or has sent more than it should have before.
    pub(super) fn encrypted(self, config: &tls::Config, host: &str, tick: Tick<'_>) -> Result<Self, Error> {
        match self.channel {
            // What came unencrypted could be anybody's.
            Channel::Plain(socket) if self.start == self.end => {
                let stream = tls::Stream::open(socket, config, host, tick)?;
                Ok(Self { channel: Channel::Tls(Box::new(stream)), ..self })
            }
            _ => Err(protocol("something that belongs behind encryption")),
        }
    }

    /// Bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Sends a command, which begins a new count of packets.
    pub(super) fn command(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.number = 0;
        self.reply(payload)
    }

    /// Sends what goes on with the count.
    pub(super) fn reply(&mut self, payload: &[u8]) -> Result<(), Error> {
        let (packets, number) = framed(payload, self.number);
        self.number = number;
        self.channel.send(&packets).map_err(lost)
    }

    /// The payload of the next packet that is no row.
    pub(super) fn packet(&mut self, tick: Tick<'_>) -> Result<Vec<u8>, Error> {
        self.whole(CONTROL_LIMIT, tick)
    }

    /// Passes over rows in text; gives the packet that ends them, and their number.
    pub(super) fn skip_text_rows(&mut self, tick: Tick<'_>) -> Result<(Vec<u8>, u64), Error> {
        let mut rows = 0;
        loop {
            let packet = self.whole(ROW_LIMIT, tick)?;
            // A value of 16 MiB begins with 0xfe as well, but is longer than a packet.
            if matches!(packet.first(), Some(0xfe | 0xff)) && packet.len() < MAX_PACKET {
                return Ok((packet, rows));
            }
            rows += 1;
        }
    }

    /// Receives rows in binary up to the first packet that is none.
    ///
    /// # Errors
    /// The connection is lost, a row is larger than `limit` bytes, or there is no memory.
    pub(super) fn rows(
        &mut self,
        pool: &Pool,
        limit: Option<u64>,
        tick: Tick<'_>,
        sink: &mut dyn FnMut(Block),
    ) -> Result<(), Error> {
        let take = |len: usize| pool.take(len).ok_or_else(|| no_memory(len));
        let limit = limit.unwrap_or(ROW_LIMIT);
        let before = self.received;
        loop {
            let at_hand = &self.small[self.start..self.end];
            let mut buffer = take(at_hand.len().max(BLOCK))?;
            buffer.extend(at_hand);
            self.start = self.end;
            // The end of the last whole row.
            let mut whole = 0;
            let rest = loop {
                let next = match step(buffer.as_ref(), &mut whole, &mut self.number, limit)? {
                    Next::UpTo(end) => end,
                    rest => break rest,
                };
                // Passes the whole rows on; the part of one goes into another block.
                let mut pass_on = |buffer: &mut Buffer, whole: &mut usize| -> Result<(), Error> {
                    let mut fresh = take((next - *whole).max(BLOCK))?;
                    fresh.extend(&buffer.as_ref()[*whole..]);
                    let full = std::mem::replace(buffer, fresh).freeze();
                    if *whole > 0 {
                        sink(Block::Packets(full.slice(..*whole)));
                    }
                    *whole = 0;
                    Ok(())
                };
                if next > buffer.as_ref().len() + buffer.missing() || buffer.missing() == 0 {
                    pass_on(&mut buffer, &mut whole)?;
                }
                match self.receive(&mut buffer, tick)? {
                    // Rows that come slowly are passed on all the same.
                    0 if whole > 0 => pass_on(&mut buffer, &mut whole)?,
                    count => {
                        tick()?;
                        if count < TOO_FEW && self.received - before > HASTE {
                            sleep(PAUSE);
                        }
                    }
                }
            };
            self.give_back(&buffer.as_ref()[whole..]);
            if whole > 0 {
                sink(Block::Packets(buffer.freeze().slice(..whole)));
            }
            if matches!(rest, Next::Other) {
                return Ok(());
            }
            sink(Block::Row(self.whole(limit, tick)?.into()));
        }
    }

    /// The next payload, over as many packets as it has.
    fn whole(&mut self, limit: u64, tick: Tick<'_>) -> Result<Vec<u8>, Error> {
        tick()?;
        let mut payload = Vec::new();
        loop {
            while self.end - self.start < HEADER {
                self.refill(tick)?;
            }
            let mut bytes = [0; HEADER];
            bytes.copy_from_slice(&self.small[self.start..self.start + HEADER]);
            self.start += HEADER;
            let (len, number) = header(bytes);
            check_number(number, &mut self.number)?;
            check_size(payload.len() as u64 + len as u64, limit)?;
            payload.try_reserve(len).map_err(|_| no_memory(len))?;
            let mut missing = len;
            while missing > 0 {
                if self.start == self.end {
                    self.refill(tick)?;
                }
                let part = missing.min(self.end - self.start);
                payload.extend_from_slice(&self.small[self.start..self.start + part]);
                self.start += part;
                missing -= part;
            }
            if len < MAX_PACKET {
                return Ok(payload);
            }
        }
    }

    /// Makes bytes that were received the next ones.
    fn give_back(&mut self, bytes: &[u8]) {
        if self.small.len() < bytes.len() {
            self.small.resize(bytes.len(), 0);
        }
        self.small[..bytes.len()].copy_from_slice(bytes);
        (self.start, self.end) = (0, bytes.len());
    }

    /// Receives what there is, as far as the buffer has room; returns how much, which is 0 if nothing came for a while.
    fn receive(&mut self, buffer: &mut Buffer, tick: Tick<'_>) -> Result<usize, Error> {
        let (to, room) = buffer.unfilled();
        // SAFETY: the buffer allows `room` bytes at `to`, and exactly the received ones are counted as filled.
        let received = unsafe { self.channel.receive(to, room, false) };
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

/// What follows whole rows.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// A row that ends there at the earliest.
    UpTo(usize),
    /// A row that is longer than a packet.
    Long,
    /// No row.
    Other,
}

/// Moves `whole` behind the last whole row of `bytes`.
fn step(bytes: &[u8], whole: &mut usize, number: &mut u8, limit: u64) -> Result<Next, Error> {
    while let Some(&[a, b, c, n, first]) = bytes[*whole..].first_chunk() {
        let (len, got) = header([a, b, c, n]);
        if first != ROW || len == 0 {
            return Ok(Next::Other);
        }
        if len == MAX_PACKET {
            return Ok(Next::Long);
        }
        let end = *whole + HEADER + len;
        if end > bytes.len() {
            check_size(len as u64, limit)?;
            return Ok(Next::UpTo(end));
        }
        check_number(got, number)?;
        *whole = end;
    }
    Ok(Next::UpTo(*whole + HEADER + 1))
}

/// Each packet has the number after the last one's: a hole would be rows that are lost.
#[inline]
fn check_number(got: u8, expected: &mut u8) -> Result<(), Error> {
    if got != *expected {
        return Err(protocol(format!("packet number {got} in place of {expected}")));
    }
    *expected = got.wrapping_add(1);
    Ok(())
}

fn check_size(len: u64, limit: u64) -> Result<(), Error> {
    if len <= limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Protocol, format!("a row of {len} bytes or more is above the limit of {limit}"))
        .with_hint("raise max_message_bytes, or ask for smaller values"))
}

fn no_memory(len: usize) -> Error {
    Error::new(ErrorKind::Unavailable, format!("no memory for {len} bytes"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn rows_are_stepped_over() {
        let bytes = b"\x02\0\0\x05\0a\x03\0\0\x06\0\0b\x07\0\0\x07\xfe\0\0\x02\0\0\0";
        let stepped = |len: usize| {
            let (mut whole, mut number) = (0, 5);
            let next = step(&bytes[..len], &mut whole, &mut number, 100).unwrap();
            (whole, next, number)
        };
        assert_eq!(stepped(0), (0, Next::UpTo(5), 5));
        assert_eq!(stepped(5), (0, Next::UpTo(6), 5));
        assert_eq!(stepped(6), (6, Next::UpTo(11), 6));
        assert_eq!(stepped(12), (6, Next::UpTo(13), 6));
        assert_eq!(stepped(13), (13, Next::UpTo(18), 7));
        assert_eq!(stepped(18), (13, Next::Other, 7));
        assert_eq!(stepped(bytes.len()), (13, Next::Other, 7));
        assert_eq!(step(b"\xff\xff\xff\0\0", &mut 0, &mut 0, 100).unwrap(), Next::Long);
    }

    #[test]
    fn a_missing_row_and_one_above_the_limit_are_refused() {
        assert!(step(b"\x02\0\0\x05\0a", &mut 0, &mut 4, 100).is_err());
        assert!(step(b"\x65\0\0\x05\0", &mut 0, &mut 5, 100).is_err());
    }
}
