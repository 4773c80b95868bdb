//! Receives messages from a server: headers, small bodies, large bodies into their final buffer, and rows in large
//! blocks.

use std::time::Duration;

use bytes::Bytes;
use colonnade_wire::DecodeLimits;

use super::message::{self, CONTROL_LIMIT, HEADER, protocol, shown};
use super::route::stranger;
use crate::channel::Channel;
use crate::inbox::{Extent, Inbox};
use crate::shared_connection::Tick;
use crate::system::Socket;
use crate::{Buffer, Error, ErrorKind, Pool, Transport};

/// How long the caller's thread waits for a short answer. A separate thread takes some 50 µs, so for longer answers it
/// makes no difference, and short enough that a query returns when its columns are known.
const MOMENT: Duration = Duration::from_millis(2);

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Incoming(Inbox);

impl Incoming {
    pub(crate) fn new(channel: Channel) -> Self {
        Self(Inbox::new(channel))
    }

    /// Bytes received so far.
    pub(crate) fn received(&self) -> u64 {
        self.0.received()
    }

    /// The socket below the encryption.
    pub(crate) fn socket(&self) -> &Socket {
        self.0.channel.socket()
    }

    /// What a diagnosis shows of the connection.
    pub(crate) fn transport(&self) -> Transport {
        self.0.channel.transport()
    }

    /// The channel.
    pub(crate) fn channel(&mut self) -> &mut Channel {
        &mut self.0.channel
    }

    /// The time without bytes after which the tick is called.
    pub(crate) fn set_patience(&self, timeout: Option<Duration>) {
        self.socket().set_timeout(timeout);
    }

    /// Whether a message has certainly arrived, at least in part. With TLS, only bytes that were received before count,
    /// because a record on the socket may hold no message.
    pub(crate) fn has_input(&self) -> bool {
        !self.0.at_hand().is_empty() || matches!(&self.0.channel, Channel::Plain(socket) if socket.is_readable())
    }

    /// The type of the next message and the length of its body, which must be read or skipped next.
    ///
    /// # Errors
    /// The connection is lost, the length is impossible, or the answer is endless.
    pub(crate) fn header(&mut self, tick: Tick<'_>) -> Result<(u8, usize), Error> {
        tick()?;
        let (kind, len) = message::header(self.0.array(tick)?)?;
        match kind {
            // Rows have limits of their own.
            b'd' | b'D' => {}
            // ReadyForQuery ends an answer.
            b'Z' => self.0.asides.restart(),
            _ => self.0.asides.add(HEADER + len)?,
        }
        Ok((kind, len))
    }

    /// The type of the next message, which is not consumed.
    pub(crate) fn peek(&mut self, tick: Tick<'_>) -> Result<u8, Error> {
        tick()?;
        self.0.peek(tick)
    }

    /// Refuses the first bytes of a server that does not speak this protocol. Of their length nothing is believed.
    ///
    /// # Errors
    /// They are no message of a login, or there are none.
    pub(crate) fn check_greeting(&mut self, tick: Tick<'_>) -> Result<(), Error> {
        tick()?;
        let first = self.0.peek(tick).and_then(|kind| match kind {
            b'R' | b'E' | b'N' | b'v' => self.0.ahead::<HEADER>(tick).map(Some),
            _ => Ok(None),
        });
        let is_message = |header| message::header(header).is_ok_and(|(_, len)| len <= CONTROL_LIMIT);
        match first {
            Ok(Some(header)) if is_message(header) => Ok(()),
            // With TLS, the server may have refused this client's certificate.
            Err(error)
                if error.kind() != ErrorKind::ConnectionLost
                    || !self.0.at_hand().is_empty()
                    || !matches!(self.0.channel, Channel::Plain(_)) =>
            {
                Err(error)
            }
            _ => Err(stranger(self.0.at_hand())),
        }
    }

    /// The first bytes of a body, which are not consumed.
    pub(crate) fn ahead<const N: usize>(&mut self, tick: Tick<'_>) -> Result<[u8; N], Error> {
        self.0.ahead(tick)
    }

    /// Waits a moment for the rest of an answer, up to ReadyForQuery. Returns whether it can be read without waiting:
    /// it is short, and has been received or has failed.
    pub(crate) fn has_rest(&mut self, tick: Tick<'_>) -> bool {
        self.0.gather(MOMENT, extent, tick)
    }

    /// The body of a message that is not CopyData.
    pub(crate) fn body(&mut self, kind: u8, len: usize, tick: Tick<'_>) -> Result<Vec<u8>, Error> {
        if len > CONTROL_LIMIT {
            return Err(protocol(format!("a message {} of {len} bytes", shown(kind))));
        }
        let mut body = Vec::with_capacity(len);
        self.0.take(len, tick, &mut |bytes| body.extend_from_slice(bytes))?;
        Ok(body)
    }

    /// Skips a body.
    pub(crate) fn skip(&mut self, len: usize, tick: Tick<'_>) -> Result<(), Error> {
        self.0.take(len, tick, &mut |_| {})
    }

    /// Reads a body into its final buffer.
    pub(crate) fn body_into(&mut self, buffer: &mut Buffer, tick: Tick<'_>) -> Result<(), Error> {
        self.0.fill(buffer, tick)
    }

    /// Reads DataRow messages up to the first message of another type. Each block that `sink` receives has whole
    /// messages.
    ///
    /// # Errors
    /// The connection is lost, a message is larger than the limit, or there is no memory.
    pub(crate) fn rows(
        &mut self,
        pool: &Pool,
        limit: Option<u64>,
        tick: Tick<'_>,
        sink: &mut dyn FnMut(Bytes),
    ) -> Result<(), Error> {
        let limit = limit.unwrap_or(DecodeLimits::default().message_bytes);
        self.0.rows(pool, &mut |bytes, whole| step(bytes, whole, limit), tick, sink)
    }
}

/// # Errors
/// The message exceeds the limit.
pub(crate) fn check_size(len: usize, limit: u64) -> Result<(), Error> {
    if len as u64 <= limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Protocol, format!("a message of {len} bytes is above the limit of {limit}"))
        .with_hint("raise max_message_bytes, or ask for smaller chunks"))
}

/// The error of a chunk with several rows that exceeds the requested size.
pub(crate) fn too_large(len: usize, asked: u64) -> Error {
    let message = format!("a message of {len} bytes arrived, but chunks of at most {asked} bytes were requested");
    Error::new(ErrorKind::Protocol, message)
}

/// Moves `whole` behind the last whole row of `bytes`. Returns where the next row ends, as far as that is known;
/// `None` if the next message is not a row.
fn step(bytes: &[u8], whole: &mut usize, limit: u64) -> Result<Option<usize>, Error> {
    while let Some(header) = bytes[*whole..].first_chunk::<HEADER>() {
        let (kind, len) = message::header(*header)?;
        if kind != b'D' {
            return Ok(None);
        }
        let end = *whole + HEADER + len;
        if end > bytes.len() {
            check_size(len, limit)?;
            return Ok(Some(end));
        }
        *whole = end;
    }
    Ok(Some(*whole + HEADER))
}

/// Looks for ReadyForQuery. A damaged header is left to the reader of the messages.
fn extent(bytes: &[u8]) -> Extent {
    let mut at = 0;
    while let Some(first) = bytes[at..].first_chunk::<HEADER>() {
        let Ok((kind, len)) = message::header(*first) else { return Extent::Long };
        let end = at.saturating_add(HEADER + len);
        match kind {
            b'Z' if end <= bytes.len() => return Extent::Whole,
            // It waits for an answer.
            b'G' | b'W' => return Extent::Long,
            _ if end > bytes.len() => return Extent::Partial,
            _ => at = end,
        }
    }
    Extent::Partial
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn rows_are_stepped_over() {
        let bytes = b"D\0\0\0\x06\0\0D\0\0\0\x0a\0\x01\xff\xff\xff\xffC\0\0\0\x04";
        let stepped = |len: usize| {
            let mut whole = 0;
            let next = step(&bytes[..len], &mut whole, 1 << 30).unwrap();
            (whole, next)
        };
        assert_eq!(stepped(0), (0, Some(5)));
        assert_eq!(stepped(6), (0, Some(7)));
        assert_eq!(stepped(7), (7, Some(12)));
        assert_eq!(stepped(17), (7, Some(18)));
        assert_eq!(stepped(20), (18, Some(23)));
        assert_eq!(stepped(bytes.len()), (18, None));
    }

    #[test]
    fn an_answer_ends_with_ready_for_query() {
        let bytes = b"D\0\0\0\x06\0\0C\0\0\0\x05\0Z\0\0\0\x05I";
        for end in 0..bytes.len() {
            assert_eq!(extent(&bytes[..end]), Extent::Partial, "{end}");
        }
        assert_eq!(extent(bytes), Extent::Whole);
        assert_eq!(extent(b"G\0\0\0\x07\0\0\0"), Extent::Long);
        assert_eq!(extent(b"D\0\0\0\x03Z\0\0\0\x05I"), Extent::Long);
        assert_eq!(extent(b"D\x7f\xff\xff\xff"), Extent::Partial);
    }

    #[test]
    fn a_row_above_the_limit_is_refused_before_there_is_memory_for_it() {
        assert!(step(b"D\x7f\xff\xff\xff", &mut 0, 1 << 30).is_err());
        assert!(step(b"D\0\0\x01\0", &mut 0, 100).is_err());
        assert!(step(b"D\0\0\0\x03", &mut 0, 1 << 30).is_err());
    }
}
