//! A client's socket: TCP or unix, encrypted or not.

mod raw;

use std::fs::File;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use colonnade_wire::Link;

use self::raw::Raw;
use super::waiting::Waits;
use crate::board::Slot;
use crate::tls::Tls;

/// A connected stream, and its encryption once that has begun.
#[derive(Debug)]
pub struct Socket {
    stream: Stream,
    tls: OnceLock<Tls>,
    has_tried_tls: AtomicBool,
    /// When reads and writes time out.
    deadline: Mutex<Option<Instant>>,
    /// Bytes that were sent, before encryption.
    sent: AtomicU64,
    waits: Waits,
    /// The record that the supervisor reads if this process dies.
    slot: Option<Slot>,
}

/// After this time without data, keep-alive probes are sent. The connection is dropped after the same time without an
/// answer.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Bytes that a unix socket can hold. With the default of 208 KiB the next chunk is sent only after the client has read
/// the last one.
const UNIX_BUFFER: usize = 4 << 20;

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        Self::new(Stream::Tcp(stream))
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Self::new(Stream::Unix(stream))
    }
}

impl TryFrom<OwnedFd> for Socket {
    type Error = io::Error;

    /// A connected socket of either kind.
    fn try_from(descriptor: OwnedFd) -> io::Result<Self> {
        let family = rustix::net::getsockname(&descriptor)?.address_family();
        Ok(if family == rustix::net::AddressFamily::UNIX {
            UnixStream::from(descriptor).into()
        } else {
            TcpStream::from(descriptor).into()
        })
    }
}

impl Socket {
    fn new(stream: Stream) -> Self {
        Self {
            stream,
            tls: OnceLock::new(),
            has_tried_tls: AtomicBool::new(false),
            deadline: Mutex::new(None),
            sent: AtomicU64::new(0),
            waits: Waits::new(),
            slot: None,
        }
    }

    /// The same socket, with the record of its session in `slot`.
    pub(crate) fn with_slot(self, slot: Slot) -> Self {
        Self { slot: Some(slot), ..self }
    }

    pub(crate) fn slot(&self) -> Option<&Slot> {
        self.slot.as_ref()
    }

    /// Notes that the last message sent was a ReadyForQuery, or a notification after it. An encrypted connection notes nothing, because the
    /// supervisor cannot send an error on it.
    pub fn note_ready_for_query(&self) {
        if let (Some(slot), None) = (&self.slot, self.tls()) {
            slot.note_ready_for_query();
        }
    }

    /// Sets the options of every connection: for TCP, TCP_NODELAY, and keep-alive probes that notice a dead peer; for
    /// unix sockets, a buffer for about a chunk.
    pub fn prepare(&self) -> io::Result<()> {
        use rustix::net::sockopt;
        match &self.stream {
            Stream::Tcp(stream) => {
                stream.set_nodelay(true)?;
                sockopt::set_socket_keepalive(stream, true)?;
                sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
                sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE / 6)?;
                sockopt::set_tcp_keepcnt(stream, 6)?;
            }
            // The kernel uses less if net.core.wmem_max is smaller.
            Stream::Unix(stream) => sockopt::set_socket_send_buffer_size(stream, UNIX_BUFFER)?,
        }
        Ok(())
    }

    /// The distance to the client.
    pub fn link(&self) -> Link {
        match &self.stream {
            Stream::Unix(_) => Link::SameMachine,
            Stream::Tcp(_) if self.peer().is_some_and(|peer| peer.is_loopback()) => Link::Loopback,
            Stream::Tcp(_) => Link::Remote,
        }
    }

    /// The client's address; `None` on a unix socket.
    pub fn peer(&self) -> Option<IpAddr> {
        // A client that is gone has no address; it counts as remote.
        self.tcp().map(|stream| stream.peer_addr().map_or(IpAddr::from([0; 4]), |peer| peer.ip().to_canonical()))
    }

    /// The TCP connection, for its options and statistics only: the caller must not write to it.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match &self.stream {
            Stream::Tcp(stream) => Some(stream),
            Stream::Unix(_) => None,
        }
    }

    /// The encryption, if there is one.
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.get()
    }

    /// Encrypts everything that follows. If the handshake fails, nothing may be sent any more.
    ///
    /// # Errors
    /// If the handshake fails.
    pub fn encrypt(&self, tls: Tls) -> io::Result<()> {
        self.has_tried_tls.store(true, Ordering::Relaxed);
        tls.complete_handshake(&mut Raw::of(self))?;
        // It is requested once for each connection.
        self.tls.set(tls).map_err(|_| io::ErrorKind::InvalidInput.into())
    }

    /// Whether the client begins with a TLS handshake. Waits for its first byte.
    pub fn begins_with_tls(&self) -> io::Result<bool> {
        /// A record that belongs to a handshake, RFC 8446 §5.1. A start-up message begins with a length, whose first
        /// byte is smaller.
        const HANDSHAKE: u8 = 0x16;
        let Stream::Tcp(stream) = &self.stream else { return Ok(false) };
        self.set_read_timeout_to_deadline()?;
        let mut first = [0];
        Ok(stream.peek(&mut first)? == 1 && first == [HANDSHAKE])
    }

    /// Sets when reads and writes fail with `TimedOut`, even if some bytes have arrived.
    pub fn set_deadline(&self, deadline: Option<Instant>) -> io::Result<()> {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
        if deadline.is_some() {
            return Ok(());
        }
        self.set_read_timeout(None)?;
        match &self.stream {
            Stream::Tcp(stream) => stream.set_write_timeout(None),
            Stream::Unix(stream) => stream.set_write_timeout(None),
        }
    }

    /// Sets the time limit of writes.
    fn set_write_timeout_to_deadline(&self) -> io::Result<()> {
        let Some(rest) = self.time_left()? else { return Ok(()) };
        match &self.stream {
            Stream::Tcp(stream) => stream.set_write_timeout(Some(rest)),
            Stream::Unix(stream) => stream.set_write_timeout(Some(rest)),
        }
    }

    fn set_read_timeout_to_deadline(&self) -> io::Result<()> {
        self.time_left()?.map_or(Ok(()), |rest| self.set_read_timeout(Some(rest)))
    }

    fn time_left(&self) -> io::Result<Option<Duration>> {
        let deadline = *self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if rest.is_some_and(|rest| rest.is_zero()) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(rest) }
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.stream {
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
            Stream::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// Ends reads or writes, also those of other threads.
    pub fn shutdown(&self, how: Shutdown) {
        // It fails if the peer has closed first.
        let _ = match &self.stream {
            Stream::Tcp(stream) => stream.shutdown(how),
            Stream::Unix(stream) => stream.shutdown(how),
        };
    }

    /// Sends the close alert of TLS, if that is possible without waiting.
    pub fn send_close_alert(&self) {
        if let (Some(tls), Stream::Tcp(stream)) = (self.tls(), &self.stream)
            && stream.set_nonblocking(true).is_ok()
        {
            tls.close(&mut Raw::of(self));
        }
    }

    /// Whether a handshake has failed. The client would read plain text as a part of it.
    pub fn has_failed_handshake(&self) -> bool {
        self.has_tried_tls.load(Ordering::Relaxed) && self.tls().is_none()
    }

    /// Bytes that were sent to the client, before encryption.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Whether a thread has waited for the client to send or to receive for a second or more.
    pub fn waits_for_client(&self) -> bool {
        self.waits.is_long()
    }

    /// Reads some of the received bytes, and waits if there are none: until `other` is readable, if given, and then
    /// fails with `WouldBlock`.
    pub fn read(&self, buffer: &mut [u8], other: Option<BorrowedFd<'_>>) -> io::Result<usize> {
        let mut raw = Raw::until(self, other);
        match self.tls() {
            Some(tls) => tls.read(&mut raw, buffer),
            None => raw.read(buffer),
        }
    }

    pub(super) fn write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(slot) = &self.slot {
            slot.note_sending();
        }
        let written = match self.tls() {
            Some(tls) => tls.write(&mut Raw::of(self), slices),
            None => Raw::of(self).write_vectored(slices),
        }?;
        self.sent.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }
}

impl Socket {
    /// Sends bytes of a file from `at` on, which is advanced. Gives their number.
    pub(super) fn send_file(&self, file: &File, at: &mut u64, length: usize) -> io::Result<usize> {
        if let Some(slot) = &self.slot {
            slot.note_sending();
        }
        self.set_write_timeout_to_deadline()?;
        let _wait = self.waits.begin();
        let sent = rustix::fs::sendfile(self, file, Some(at), length)?;
        self.sent.fetch_add(sent as u64, Ordering::Relaxed);
        Ok(sent)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}
