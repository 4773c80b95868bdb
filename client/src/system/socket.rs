//! A TCP socket, or that of a socket file.

use std::io::{self, ErrorKind as Io, IoSlice};
use std::mem::MaybeUninit;
use std::net::{TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt;

use super::stream::Stream;
#[cfg(unix)]
use super::unix as calls;
#[cfg(windows)]
use super::windows as calls;
use crate::{Error, ErrorKind, SocketKind};

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;

/// The most slices of one call of the system (Linux: UIO_MAXIOV).
const MAX_SLICES: usize = 1024;
/// The most bytes of one call: macOS refuses more than an `int`, and Windows counts them in 32 bits.
const MAX_BYTES: usize = i32::MAX as usize;

/// A connected socket.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    timeouts: Arc<Timeouts>,
}

/// How long one call may wait, for all handles of a connection; in nanoseconds, and [`NEVER`] ends no call.
///
/// They are not those of the system: on Windows, a call that such a timeout ended leaves a socket in an unknown state
/// (<https://learn.microsoft.com/windows/win32/winsock/sol-socket-socket-options>, SO_RCVTIMEO).
#[derive(Debug)]
struct Timeouts {
    receive: AtomicU64,
    send: AtomicU64,
}

const NEVER: u64 = u64::MAX;

/// The timing of probes to an idle peer; `None` is the system's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keepalive {
    pub(crate) off: bool,
    /// Seconds.
    pub(crate) idle: Option<u32>,
    /// Seconds.
    pub(crate) interval: Option<u32>,
    pub(crate) count: Option<u32>,
    /// The milliseconds for which sent data may be unacknowledged. Only Linux has this; elsewhere it has no effect, as in
    /// libpq.
    pub(crate) user_timeout: Option<u32>,
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
                Ok(stream) => {
                    // Queries are small and must be sent without delay.
                    stream.set_nodelay(true)?;
                    // With keepalives, the system notices a peer that disappears during a long query. The connection
                    // also works without them.
                    let _ = sockopt::set_socket_keepalive(&stream, true);
                    return Self::new(Stream::Tcp(stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Connects to a socket file.
    ///
    /// # Errors
    /// No server listens there, or this system has none.
    #[cfg(unix)]
    pub(crate) fn file(path: &Path) -> io::Result<Self> {
        Self::new(Stream::File(UnixStream::connect(path)?))
    }

    #[cfg(windows)]
    pub(crate) fn file(_: &Path) -> io::Result<Self> {
        Err(io::Error::new(Io::Unsupported, "socket files are not supported on Windows: connect over TCP"))
    }

    fn new(stream: Stream) -> io::Result<Self> {
        calls::prepare(&stream)?;
        Ok(Self { stream, timeouts: Arc::new(Timeouts { receive: NEVER.into(), send: NEVER.into() }) })
    }

    /// The TCP connection, if it is one.
    pub(crate) fn as_tcp(&self) -> Option<&TcpStream> {
        match &self.stream {
            Stream::Tcp(stream) => Some(stream),
            #[cfg(unix)]
            Stream::File(_) => None,
        }
    }

    /// Its kind. Without the addresses, which a lost connection may lack, it counts as one to another machine.
    pub(crate) fn kind(&self) -> SocketKind {
        match self.as_tcp().map(|stream| (stream.peer_addr(), stream.local_addr())) {
            None => SocketKind::Unix,
            Some((Ok(peer), Ok(own))) if peer.ip().to_canonical().is_loopback() || peer.ip() == own.ip() => {
                SocketKind::Loopback
            }
            Some(_) => SocketKind::Tcp,
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
        let mut left: Vec<IoSlice<'_>> =
            slices.iter().flat_map(|slice| slice.chunks(MAX_BYTES)).map(IoSlice::new).collect();
        let mut left = &mut left[..];
        while !left.is_empty() {
            match calls::send(&self.stream, &left[..of_one_call(left)]) {
                Ok(0) => return Err(Io::WriteZero.into()),
                Ok(sent) => IoSlice::advance_slices(&mut left, sent),
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) if error.kind() == Io::WouldBlock => self.wait_to_send()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until more can be sent.
    ///
    /// # Errors
    /// The peer has closed its side. It reads no more, and a plain send would wait until its machine says so: up to two
    /// minutes, if its buffer was full.
    fn wait_to_send(&self) -> io::Result<()> {
        let events = self.wait(PollFlags::OUT | calls::PEER_CLOSED, deadline(&self.timeouts.send))?;
        if events.is_empty() {
            Err(Io::WouldBlock.into())
        } else if events.contains(PollFlags::OUT) {
            Ok(())
        } else {
            Err(Io::BrokenPipe.into())
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
        // SAFETY: the caller's promise.
        let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<MaybeUninit<u8>>(), room) };
        let mut deadline_of_call = None;
        let mut received = 0;
        loop {
            let part = &mut to[received..];
            let most = part.len().min(MAX_BYTES);
            match calls::receive(&self.stream, &mut part[..most]) {
                Ok(count) => {
                    received += count;
                    if count == 0 || !whole || received == room {
                        return Ok(received);
                    }
                }
                Err(error) if error.kind() == Io::Interrupted => continue,
                Err(error) if error.kind() != Io::WouldBlock => {
                    // What came before it is taken first: it may say why the peer has ended the connection.
                    return if received == 0 { Err(error) } else { Ok(received) };
                }
                Err(_) => {}
            }
            let until = *deadline_of_call.get_or_insert_with(|| deadline(&self.timeouts.receive));
            if self.wait(PollFlags::IN, until)?.is_empty() {
                return if received == 0 { Err(Io::WouldBlock.into()) } else { Ok(received) };
            }
        }
    }

    /// The timeout of one receive.
    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) {
        self.timeouts.receive.store(nanoseconds(timeout), Ordering::Relaxed);
    }

    /// The timeout of one send to a peer that does not read.
    pub(crate) fn set_send_timeout(&self, timeout: Duration) {
        self.timeouts.send.store(nanoseconds(Some(timeout)), Ordering::Relaxed);
    }

    /// Whether a receive would return at once, with bytes or because the peer has closed.
    pub(crate) fn is_readable(&self) -> bool {
        self.is_readable_within(Duration::ZERO)
    }

    /// Waits up to `timeout` until a receive would return at once.
    pub(crate) fn is_readable_within(&self, timeout: Duration) -> bool {
        self.wait(PollFlags::IN, Some(Instant::now() + timeout)).is_ok_and(|events| !events.is_empty())
    }

    /// Waits for one of these events, up to a deadline. Nothing means that it has passed.
    fn wait(&self, events: PollFlags, until: Option<Instant>) -> io::Result<PollFlags> {
        let handle = self.stream.handle();
        let mut polled = [PollFd::from_borrowed_fd(handle, events)];
        loop {
            let left = until.map(|until| calls::poll_time(until.saturating_duration_since(Instant::now())));
            match poll(&mut polled, left.as_ref()) {
                Ok(0) => return Ok(PollFlags::empty()),
                Ok(_) => return Ok(polled[0].revents()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes closing reset the connection. A server that waits for a full buffer would otherwise consider the closed
    /// connection slow, and notice its end only minutes later.
    pub(crate) fn reset_at_close(&self) {
        let _ = sockopt::set_socket_linger(self.stream.handle(), Some(Duration::ZERO));
    }

    /// Sets the probes. The connection also works without them.
    pub(crate) fn set_keepalive(&self, probes: &Keepalive) {
        let Some(stream) = self.as_tcp() else { return };
        let seconds = |value: u32| Duration::from_secs(value.into());
        if probes.off {
            let _ = sockopt::set_socket_keepalive(stream, false);
        }
        if let Some(idle) = probes.idle {
            let _ = sockopt::set_tcp_keepidle(stream, seconds(idle));
        }
        if let Some(interval) = probes.interval {
            let _ = sockopt::set_tcp_keepintvl(stream, seconds(interval));
        }
        if let Some(count) = probes.count {
            let _ = sockopt::set_tcp_keepcnt(stream, count);
        }
        #[cfg(target_os = "linux")]
        if let Some(milliseconds) = probes.user_timeout {
            let _ = sockopt::set_tcp_user_timeout(stream, milliseconds);
        }
    }

    /// Ends the connection for all of its handles. Blocked calls return.
    pub(crate) fn shutdown(&self) {
        self.stream.shutdown();
    }

    /// A second handle of the same connection.
    pub(crate) fn share(&self) -> io::Result<Self> {
        let stream = self.stream.share()?;
        Ok(Self { stream, timeouts: self.timeouts.clone() })
    }
}

/// How many of these slices one call may send; at least the first.
fn of_one_call(slices: &[IoSlice<'_>]) -> usize {
    let mut bytes = 0;
    let fits = |slice: &&IoSlice<'_>| {
        bytes += slice.len();
        bytes <= MAX_BYTES
    };
    slices.iter().take(MAX_SLICES).take_while(fits).count()
}

fn nanoseconds(timeout: Option<Duration>) -> u64 {
    timeout.map_or(NEVER, |timeout| u64::try_from(timeout.as_nanos()).unwrap_or(NEVER))
}

/// When a call that begins now ends.
fn deadline(timeout: &AtomicU64) -> Option<Instant> {
    let timeout = timeout.load(Ordering::Relaxed);
    (timeout != NEVER).then(|| Instant::now() + Duration::from_nanos(timeout))
}

/// The system's error text without Rust's "(os error 111)", and without the full stop and the new line that Windows adds.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text).trim_end().trim_end_matches('.');
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// A broken socket as an error.
pub(crate) fn lost(cause: io::Error) -> Error {
    Error::new(ErrorKind::ConnectionLost, format!("the connection was lost: {}", plain(&cause))).with_cause(cause)
}
