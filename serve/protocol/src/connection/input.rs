//! Incoming messages, read into a bounded buffer.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::charset::ClientEncoding;
use crate::connection::socket::Socket;
use crate::error::Failure;
use crate::message::ProtocolError;
use crate::message::frontend::{self, FrontendMessage, Phase};

/// The messages of a socket, in order.
pub struct Input {
    socket: Arc<Socket>,
    /// Unread bytes are from `start` to `end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The encoding of the texts in messages.
    pub encoding: ClientEncoding,
}

/// Bytes of one read. The buffer grows with the bytes that arrive, not with the length that a message claims.
const READ_BYTES: usize = 16 << 10;
/// A larger buffer is freed after its message.
const KEPT_BUFFER_BYTES: usize = 4 * READ_BYTES;

impl Input {
    /// The buffer is bounded by the longest message of each phase. A caller that keeps parts of a message charges them
    /// to the budget.
    pub fn new(socket: Arc<Socket>) -> Self {
        Self { socket, buffer: Vec::new(), start: 0, end: 0, encoding: ClientEncoding::default() }
    }

    pub fn has_more(&self) -> bool {
        self.end > self.start
    }

    /// Waits for the next message and passes it to `handle`; `None` if the client closed the connection between two
    /// messages.
    ///
    /// # Errors
    /// If the socket fails, or the bytes are no message.
    pub fn message<T>(
        &mut self,
        phase: Phase,
        handle: impl FnOnce(FrontendMessage<'_>) -> T,
    ) -> Result<Option<T>, Failure> {
        let length = loop {
            if let Some(length) = frontend::length(self.unread(), phase)? {
                break length;
            }
            if self.fill(None)? == Some(0) {
                return if self.has_more() { Err(ProtocolError::Eof.into()) } else { Ok(None) };
            }
        };
        let message = frontend::parse(self.unread(), phase, self.encoding)?;
        let handled = message.map(|(message, _)| handle(message));
        self.start += length;
        self.release_long_buffer();
        Ok(handled)
    }

    /// Waits until the next message has arrived, or the client has closed the connection, or `other` is readable. Gives
    /// whether it was `other`.
    ///
    /// # Errors
    /// If the socket fails, or the bytes are no message.
    pub fn wait(&mut self, phase: Phase, other: BorrowedFd<'_>) -> Result<bool, Failure> {
        while frontend::length(self.unread(), phase)?.is_none() {
            match self.fill(Some(other))? {
                None => return Ok(true),
                Some(0) => break,
                Some(_) => {}
            }
        }
        Ok(false)
    }

    /// Whether the next message is Sync and has arrived.
    pub fn is_sync_next(&self) -> bool {
        /// Its type and its length.
        const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
        self.unread().starts_with(&SYNC)
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads more bytes; gives their number. Gives `None` if there are none yet and `other` is readable.
    fn fill(&mut self, other: Option<BorrowedFd<'_>>) -> Result<Option<usize>, Failure> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            let larger = self.end + READ_BYTES.max(self.end / 2);
            self.buffer.reserve_exact(larger - self.end);
            self.buffer.resize(larger, 0);
        }
        loop {
            match self.socket.read(&mut self.buffer[self.end..], other) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && other.is_some() => return Ok(None),
                Err(error) => return Err(error.into()),
                Ok(read) => {
                    self.end += read;
                    return Ok(Some(read));
                }
            }
        }
    }

    /// Frees the memory of a long message before its contents are processed.
    fn release_long_buffer(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.buffer.len() > KEPT_BUFFER_BYTES && self.unread().len() <= READ_BYTES {
            self.buffer = self.unread().to_vec();
            (self.start, self.end) = (0, self.buffer.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn query(length: usize) -> Vec<u8> {
        let mut bytes = vec![b'Q'];
        bytes.extend((length as u32 + 5).to_be_bytes());
        bytes.resize(bytes.len() + length, b'x');
        bytes.push(0);
        bytes
    }

    fn next(input: &mut Input) -> Result<Option<usize>, Failure> {
        input.message(Phase::Ready, |message| match message {
            FrontendMessage::Query(text) => text.len(),
            _ => 0,
        })
    }

    /// The input of a socket on which a thread sends these bytes.
    fn received(bytes: Vec<u8>) -> (Input, std::thread::JoinHandle<()>) {
        let (socket, mut peer) = UnixStream::pair().unwrap();
        let input = Input::new(Arc::new(Socket::from(socket)));
        (input, std::thread::spawn(move || drop(peer.write_all(&bytes))))
    }

    #[test]
    fn messages_are_received_whole_and_in_order() {
        let lengths = [1, 100_000, 0, 7, 16_384, 300_000, 3];
        let (mut input, sender) = received(lengths.into_iter().flat_map(query).collect());
        for length in lengths {
            assert_eq!(next(&mut input).unwrap(), Some(length));
        }
        assert_eq!(next(&mut input).unwrap(), None);
        sender.join().unwrap();
    }

    #[test]
    fn a_long_message_does_not_keep_its_memory() {
        let (mut input, sender) = received([query(500_000), query(5)].concat());
        assert_eq!(next(&mut input).unwrap(), Some(500_000));
        // The buffer may hold a part of the next message.
        assert!(input.buffer.capacity() <= KEPT_BUFFER_BYTES, "{}", input.buffer.capacity());
        assert_eq!(next(&mut input).unwrap(), Some(5));
        sender.join().unwrap();
    }

    #[test]
    fn an_end_within_a_message_is_an_error_and_between_messages_is_not() {
        let (mut input, sender) = received(query(10)[..12].to_vec());
        assert!(matches!(next(&mut input), Err(Failure::Protocol(ProtocolError::Eof))));
        sender.join().unwrap();
    }
}
