//! A TCP or unix stream socket.

use std::io::{self, ErrorKind as Io, IoSlice};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind, SocketKind};

/// The most slices of one call of the system (Linux: UIO_MAXIOV).
const MAX_SLICES: usize = 1024;

/// A broken connection is an error, not a signal.
#[cfg(target_os = "linux")]
const NO_SIGNAL: libc::c_int = libc::MSG_NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const NO_SIGNAL: libc::c_int = 0;
/// The event that the peer has closed its side.
#[cfg(target_os = "linux")]
const PEER_CLOSED: libc::c_short = libc::POLLRDHUP;
#[cfg(not(target_os = "linux"))]
const PEER_CLOSED: libc::c_short = 0;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects to a host name or IP address. `timeout` applies to all of its addresses together.
    ///
    /// # Errors
    /// No server listens there, or not within the timeout.
    pub(crate) fn tcp(host: &str, port: u16, timeout: Option<Duration>) -> io::Result<Self> {
        let mut last = io::Error::new(Io::NotFound, "the host name has no address");
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        for address in (host, port).to_socket_addrs()? {
            let attempt = match deadline {
                Some(deadline) => {
                    // A timeout of zero would be another error.
                    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
                    TcpStream::connect_timeout(&address, left)
                }
                None => TcpStream::connect(address),
            };
            match attempt {
                Ok(socket) => {
                    // Queries are small and must be sent without delay.
                    socket.set_nodelay(true)?;
                    let socket = Self::Tcp(socket);
                    // With keepalives, the system notices a peer that disappears during a long query.
                    socket.set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, &1);
                    return Ok(socket);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects to a socket file.
    ///
    /// # Errors
    /// No server listens there.
    pub(crate) fn unix(file: &Path) -> io::Result<Self> {
        UnixStream::connect(file).map(Self::Unix)
    }

    /// Its kind. Without the addresses, which a lost connection may lack, it counts as one to another machine.
    pub(crate) fn kind(&self) -> SocketKind {
        match self {
            Self::Unix(_) => SocketKind::Unix,
            Self::Tcp(socket) => match (socket.peer_addr(), socket.local_addr()) {
                (Ok(peer), Ok(own)) if peer.ip().to_canonical().is_loopback() || peer.ip() == own.ip() => {
                    SocketKind::Loopback
                }
                _ => SocketKind::Tcp,
            },
        }
    }

    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// `WouldBlock` when the peer read nothing in the time set by [`Socket::set_send_timeout`].
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.send_slices(&[bytes])
    }

    /// Sends all of several slices, without copying them together.
    pub(crate) fn send_slices(&self, slices: &[&[u8]]) -> io::Result<()> {
        let mut left: Vec<IoSlice<'_>> = slices.iter().map(|slice| IoSlice::new(slice)).collect();
        let mut left = &mut left[..];
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match self.send_some(&left[..left.len().min(MAX_SLICES)]) {
                Ok(0) => return Err(Io::WriteZero.into()),
                Ok(sent) => IoSlice::advance_slices(&mut left, sent),
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) if error.kind() == Io::WouldBlock => self.wait_to_send()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends what the system takes at once.
    fn send_some(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        // SAFETY: zeros are a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        // An IoSlice has the layout of an iovec, and nothing is written to it.
        message.msg_iov = slices.as_ptr().cast_mut().cast();
        message.msg_iovlen = slices.len() as _;
        // SAFETY: the message's slices live as long as the call; the descriptor is open as long as self is.
        let sent = unsafe { libc::sendmsg(self.descriptor(), &raw const message, libc::MSG_DONTWAIT | NO_SIGNAL) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Waits until more can be sent.
    ///
    /// # Errors
    /// The peer has closed its side. It reads no more, and a plain send would wait until its machine says so: up to two
    /// minutes, if its buffer was full.
    fn wait_to_send(&self) -> io::Result<()> {
        let timeout = match self {
            Self::Tcp(socket) => socket.write_timeout()?,
            Self::Unix(socket) => socket.write_timeout()?,
        };
        let millis = timeout.map_or(-1, |timeout| i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX));
        let mut polled = libc::pollfd { fd: self.descriptor(), events: libc::POLLOUT | PEER_CLOSED, revents: 0 };
        // SAFETY: `polled` is one entry, and the descriptor is open as long as self is.
        match unsafe { libc::poll(&raw mut polled, 1, millis) } {
            0 => Err(Io::WouldBlock.into()),
            1 if polled.revents & libc::POLLOUT != 0 => Ok(()),
            1 => Err(Io::BrokenPipe.into()),
            _ => match io::Error::last_os_error() {
                error if error.kind() == Io::Interrupted => Ok(()),
                error => Err(error),
            },
        }
    }

    /// Receives up to `room` bytes to `to`; waits for as many if `whole`. 0 means that the peer has closed.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came in the time set by [`Socket::set_timeout`].
    ///
    /// # Safety
    /// `to` may be written to for `room` bytes.
    pub(crate) unsafe fn receive(&self, to: *mut u8, room: usize, whole: bool) -> io::Result<usize> {
        let flags = if whole { libc::MSG_WAITALL } else { 0 };
        loop {
            // SAFETY: the caller's promise; the descriptor is open as long as self is.
            let received = unsafe { libc::recv(self.descriptor(), to.cast(), room, flags) };
            if let Ok(count) = usize::try_from(received) {
                return Ok(count);
            }
            let error = io::Error::last_os_error();
            if error.kind() != Io::Interrupted {
                return Err(error);
            }
        }
    }

    /// The timeout of one receive.
    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.set_read_timeout(timeout),
            Self::Unix(socket) => socket.set_read_timeout(timeout),
        }
    }

    /// The timeout of one send to a peer that does not read.
    pub(crate) fn set_send_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.set_write_timeout(Some(timeout)),
            Self::Unix(socket) => socket.set_write_timeout(Some(timeout)),
        }
    }

    /// Whether a receive would return at once, with bytes or because the peer has closed.
    pub(crate) fn is_readable(&self) -> bool {
        self.is_readable_within(Duration::ZERO)
    }

    /// Waits up to `timeout`, in whole milliseconds, until a receive would return at once.
    pub(crate) fn is_readable_within(&self, timeout: Duration) -> bool {
        let millis = i32::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        let mut polled = libc::pollfd { fd: self.descriptor(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `polled` is one entry, and the descriptor is open as long as self is.
        unsafe { libc::poll(&raw mut polled, 1, millis) > 0 }
    }

    /// Makes closing reset the connection. A server that waits for a full buffer would otherwise consider the closed
    /// connection slow, and notice its end only minutes later.
    pub(crate) fn reset_at_close(&self) {
        let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
        self.set(libc::SOL_SOCKET, libc::SO_LINGER, &at_once);
    }

    /// Sets an option of a protocol level. The connection also works without it.
    pub(crate) fn set<T>(&self, level: libc::c_int, option: libc::c_int, value: &T) {
        // SAFETY: the descriptor is open, and the option's value is a T, of its size.
        unsafe {
            libc::setsockopt(
                self.descriptor(),
                level,
                option,
                std::ptr::from_ref(value).cast(),
                size_of::<T>() as libc::socklen_t,
            );
        }
    }

    /// Ends the connection for all of its handles. Blocked calls return.
    pub(crate) fn shutdown(&self) {
        let _ = match self {
            Self::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Self::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// A second handle of the same connection.
    pub(crate) fn share(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(socket) => socket.try_clone().map(Self::Tcp),
            Self::Unix(socket) => socket.try_clone().map(Self::Unix),
        }
    }

    fn descriptor(&self) -> RawFd {
        match self {
            Self::Tcp(socket) => socket.as_raw_fd(),
            Self::Unix(socket) => socket.as_raw_fd(),
        }
    }
}

/// The system's error text without Rust's "(os error 111)".
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A broken socket as an error.
pub(crate) fn lost(cause: io::Error) -> Error {
    Error::new(ErrorKind::ConnectionLost, format!("the connection was lost: {}", plain(&cause))).with_cause(cause)
}
