//! A client's socket: TCP or unix, read into a bounded buffer, written with as few copies as can be.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use colonnade_wire::Link;

use crate::message::ProtocolError;
use crate::message::frontend::{self, Message, Phase};

/// A connected stream.
#[derive(Debug)]
pub enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Sets what every connection has: no waiting for more bytes to send, and probes that notice a dead peer.
    pub fn prepare(&self) -> io::Result<()> {
        if let Self::Tcp(stream) = self {
            stream.set_nodelay(true)?;
            rustix::net::sockopt::set_socket_keepalive(stream, true)?;
        }
        Ok(())
    }

    /// How far away the client is.
    pub fn link(&self) -> Link {
        match self {
            Self::Unix(_) => Link::SameMachine,
            Self::Tcp(stream) if stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()) => Link::Loopback,
            Self::Tcp(_) => Link::Remote,
        }
    }

    /// How long a read may take.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
            Self::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// Ends reading or writing, whoever is in the middle of it.
    pub fn shutdown(&self, how: Shutdown) {
        // It fails if the peer was faster, which is as good.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        };
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&*stream).read(buffer),
            Self::Unix(stream) => (&*stream).read(buffer),
        }
    }

    fn write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&*stream).write_vectored(slices),
            Self::Unix(stream) => (&*stream).write_vectored(slices),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// The messages that come in.
pub struct Input {
    socket: Arc<Socket>,
    buffer: Vec<u8>,
    used: usize,
}

/// How much is read at once; the buffer grows with what arrives, not with what a message's length promises.
const READ: usize = 16 << 10;

impl Input {
    pub fn new(socket: Arc<Socket>) -> Self {
        Self { socket, buffer: Vec::new(), used: 0 }
    }

    /// Waits for the next message and gives it to `handle`; `None` if the client closed the connection between two.
    ///
    /// # Errors
    /// If the socket breaks, or what arrives is no message.
    pub fn message<T>(
        &mut self,
        phase: Phase,
        handle: impl FnOnce(Message<'_>) -> T,
    ) -> Result<Option<T>, crate::error::Failure> {
        self.buffer.drain(..self.used);
        self.used = 0;
        if self.buffer.capacity() > 4 * READ && self.buffer.len() < READ {
            self.buffer.shrink_to(READ);
        }
        loop {
            if frontend::parse(&self.buffer, phase)?.is_some() {
                break;
            }
            let filled = self.buffer.len();
            self.buffer.resize(filled + READ.max(filled / 2), 0);
            let read = match self.socket.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
                result => result.map(Some),
            };
            self.buffer.truncate(filled + read.as_ref().map_or(0, |read| read.unwrap_or(0)));
            match read? {
                Some(0) if filled == 0 => return Ok(None),
                Some(0) => return Err(ProtocolError::Eof.into()),
                _ => {}
            }
        }
        let Some((message, length)) = frontend::parse(&self.buffer, phase)? else { return Ok(None) };
        self.used = length;
        Ok(Some(handle(message)))
    }

    /// Whether Sync is the next message, and is here already.
    pub fn is_sync_next(&self) -> bool {
        let next = self.buffer.get(self.used..).unwrap_or_default();
        matches!(frontend::parse(next, Phase::Ready), Ok(Some((Message::Sync, _))))
    }
}

/// The messages that go out: small ones are gathered, large payloads are written from where they are.
pub struct Output {
    socket: Arc<Socket>,
    buffer: Vec<u8>,
}

/// From how many gathered bytes on they are sent.
const GATHER: usize = 64 << 10;

impl Output {
    pub fn new(socket: Arc<Socket>) -> Self {
        Self { socket, buffer: Vec::with_capacity(GATHER) }
    }

    /// Where messages are gathered.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Sends what was gathered if it is worth a system call.
    pub fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= GATHER { self.flush() } else { Ok(()) }
    }

    /// Sends what was gathered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.send(&[])
    }

    /// Sends what was gathered, then `payload`, without copying it.
    pub fn send(&mut self, payload: &[&[u8]]) -> io::Result<()> {
        let all = std::iter::once(&self.buffer[..]).chain(payload.iter().copied());
        let mut slices: Vec<_> = all.filter(|slice| !slice.is_empty()).map(IoSlice::new).collect();
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            match self.socket.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.buffer.clear();
        // One long value must not keep its memory for the rest of the session.
        self.buffer.shrink_to(4 * GATHER);
        Ok(())
    }

    /// Another one for the same socket. Whoever uses it sees to it that nobody else writes meanwhile, and that nothing is left
    /// gathered.
    pub fn sibling(&self) -> Self {
        Self { socket: Arc::clone(&self.socket), buffer: Vec::new() }
    }

    /// The socket, to be asked and not to be written to.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}
