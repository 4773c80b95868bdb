//! The messages that come in, read into a bounded buffer.

use std::io;
use std::sync::Arc;

use crate::connection::socket::Socket;
use crate::error::Failure;
use crate::message::ProtocolError;
use crate::message::frontend::{self, Message, Phase};

/// A socket's messages, one after the other.
pub struct Input {
    socket: Arc<Socket>,
    /// What has come and was not handed out is from `start` to `end`; what is behind is free.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// How much is read at once; the buffer grows with what arrives, not with what a message's length promises.
const READ: usize = 16 << 10;
/// A buffer of this size is kept.
const ORDINARY: usize = 4 * READ;

impl Input {
    /// Its buffer is bounded by the longest message of each phase. Whoever keeps what a message holds charges for it.
    pub fn new(socket: Arc<Socket>) -> Self {
        Self { socket, buffer: Vec::new(), start: 0, end: 0 }
    }

    /// Whether something has come that was not asked for yet.
    pub fn has_more(&self) -> bool {
        self.end > self.start
    }

    /// Waits for the next message and gives it to `handle`; `None` if the client closed the connection between two.
    ///
    /// # Errors
    /// If the socket breaks, or what arrives is no message.
    pub fn message<T>(&mut self, phase: Phase, handle: impl FnOnce(Message<'_>) -> T) -> Result<Option<T>, Failure> {
        let length = loop {
            if let Some(length) = frontend::length(self.rest(), phase)? {
                break length;
            }
            if self.fill()? == 0 {
                return if self.has_more() { Err(ProtocolError::Eof.into()) } else { Ok(None) };
            }
        };
        let message = frontend::parse(self.rest(), phase)?;
        let handled = message.map(|(message, _)| handle(message));
        self.start += length;
        self.let_go();
        Ok(handled)
    }

    /// Whether Sync is the next message, and is here already.
    pub fn is_sync_next(&self) -> bool {
        /// Its type and its length.
        const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
        self.rest().starts_with(&SYNC)
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads some more; gives how much.
    fn fill(&mut self) -> Result<usize, Failure> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            let larger = self.end + READ.max(self.end / 2);
            self.buffer.reserve_exact(larger - self.end);
            self.buffer.resize(larger, 0);
        }
        loop {
            match self.socket.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
                Ok(read) => {
                    self.end += read;
                    return Ok(read);
                }
            }
        }
    }

    /// A long message that was handed out does not keep its memory while it is worked on.
    fn let_go(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.buffer.len() > ORDINARY && self.rest().len() <= READ {
            self.buffer = self.rest().to_vec();
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
            Message::Query(text) => text.len(),
            _ => 0,
        })
    }

    /// Messages of these bytes, which a thread sends while they are read.
    fn received(bytes: Vec<u8>) -> (Input, std::thread::JoinHandle<()>) {
        let (socket, mut peer) = UnixStream::pair().unwrap();
        let input = Input::new(Arc::new(Socket::from(socket)));
        (input, std::thread::spawn(move || drop(peer.write_all(&bytes))))
    }

    #[test]
    fn messages_come_whole_and_in_order() {
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
        // Though some of the next one may have come.
        assert!(input.buffer.capacity() <= ORDINARY, "{}", input.buffer.capacity());
        assert_eq!(next(&mut input).unwrap(), Some(5));
        sender.join().unwrap();
    }

    #[test]
    fn an_end_within_a_message_is_told_from_one_between_two() {
        let (mut input, sender) = received(query(10)[..12].to_vec());
        assert!(matches!(next(&mut input), Err(Failure::Protocol(ProtocolError::Eof))));
        sender.join().unwrap();
    }
}
