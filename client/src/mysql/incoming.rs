//! Receives packets from a server: answers one by one, rows in large blocks.

use bytes::Bytes;

use super::packet::{HEADER, MAX_PACKET, framed, header, protocol};
use crate::channel::Channel;
use crate::inbox::{Inbox, no_memory};
use crate::shared_connection::Tick;
use crate::system::Socket;
use crate::system::lost;
use crate::{Error, ErrorKind, Pool, tls};

/// The largest packet, other than a row, that is read into memory. Errors and descriptions of columns are much
/// smaller.
const CONTROL_LIMIT: u64 = 1 << 20;
/// The largest row, which is the largest value of max_allowed_packet.
const ROW_LIMIT: u64 = 1 << 30;
/// The first byte of a row in binary.
const ROW: u8 = 0;

/// Some rows.
#[derive(Clone, Debug)]
pub(super) enum Block {
    /// Whole packets, each of which is a row.
    Packets(Bytes),
    /// One row that is longer than a packet, without headers.
    Row(Bytes),
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        let (Self::Packets(bytes) | Self::Row(bytes)) = self;
        bytes
    }
}

/// The receiving half of a connection, and the numbers of packets, which both halves share.
#[derive(Debug)]
pub(super) struct Incoming {
    inbox: Inbox,
    /// The number of the next packet in either direction.
    number: u8,
}

impl Incoming {
    pub(super) fn new(channel: Channel) -> Self {
        Self { inbox: Inbox::new(channel), number: 0 }
    }

    /// The same connection, encrypted from now on. `host` is the name that the certificate must have.
    ///
    /// # Errors
    /// The server is not trusted, or has sent bytes before the encryption.
    pub(super) fn encrypted(self, config: &tls::TlsConfig, host: &str, tick: Tick<'_>) -> Result<Self, Error> {
        let nothing_more = self.inbox.at_hand().is_empty();
        match self.inbox.channel {
            // Bytes that arrived unencrypted may come from an attacker.
            Channel::Plain(socket) if nothing_more => {
                let stream = tls::TlsStream::open(socket, config, host, tick)?;
                Ok(Self { inbox: Inbox::new(Channel::Tls(Box::new(stream))), ..self })
            }
            _ => Err(protocol("something that belongs behind encryption")),
        }
    }

    /// The channel.
    pub(super) fn channel(&self) -> &Channel {
        &self.inbox.channel
    }

    /// The socket below the encryption.
    pub(super) fn socket(&self) -> &Socket {
        self.inbox.channel.socket()
    }

    /// Bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.inbox.received()
    }

    /// Sends a command, which restarts the numbers of packets.
    pub(super) fn command(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.number = 0;
        self.inbox.asides.restart();
        self.reply(payload)
    }

    /// Sends further packets of the same exchange.
    pub(super) fn reply(&mut self, payload: &[u8]) -> Result<(), Error> {
        let (packets, number) = framed(payload, self.number);
        self.number = number;
        self.inbox.channel.send(&packets).map_err(lost)
    }

    /// The payload of the next packet, which is not a row.
    pub(super) fn packet(&mut self, tick: Tick<'_>) -> Result<Vec<u8>, Error> {
        let packet = self.whole(CONTROL_LIMIT, tick)?;
        self.inbox.asides.add(HEADER + packet.len())?;
        Ok(packet)
    }

    /// Skips rows in text. Returns the packet that ends them, and their number.
    pub(super) fn skip_text_rows(&mut self, tick: Tick<'_>) -> Result<(Vec<u8>, u64), Error> {
        let mut rows = 0;
        loop {
            let packet = self.whole(ROW_LIMIT, tick)?;
            // A value of 16 MiB also begins with 0xfe, but is longer than a packet.
            if matches!(packet.first(), Some(0xfe | 0xff)) && packet.len() < MAX_PACKET {
                return Ok((packet, rows));
            }
            rows += 1;
        }
    }

    /// Receives binary rows up to the first packet that is not a row.
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
        let limit = limit.unwrap_or(ROW_LIMIT);
        loop {
            let (number, mut long) = (&mut self.number, false);
            let step = &mut |bytes: &[u8], whole: &mut usize| {
                let next = step(bytes, whole, number, limit)?;
                long = next == Next::Long;
                Ok(if let Next::UpTo(end) = next { Some(end) } else { None })
            };
            self.inbox.rows(pool, step, tick, &mut |rows| sink(Block::Packets(rows)))?;
            if !long {
                return Ok(());
            }
            sink(Block::Row(self.whole(limit, tick)?.into()));
        }
    }

    /// The next payload, which may consist of several packets.
    fn whole(&mut self, limit: u64, tick: Tick<'_>) -> Result<Vec<u8>, Error> {
        tick()?;
        let mut payload = Vec::new();
        loop {
            let (len, number) = header(self.inbox.array(tick)?);
            check_number(number, &mut self.number)?;
            check_size(payload.len() as u64 + len as u64, limit)?;
            payload.try_reserve(len).map_err(|_| no_memory(len))?;
            self.inbox.take(len, tick, &mut |bytes| payload.extend_from_slice(bytes))?;
            if len < MAX_PACKET {
                return Ok(payload);
            }
        }
    }
}

/// The bytes after the whole rows.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// A row that ends there or later.
    UpTo(usize),
    /// A row that is longer than a packet.
    Long,
    /// Not a row.
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

/// Each packet has the next number. A gap would mean lost rows.
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
