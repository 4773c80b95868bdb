//! A connection for a source: bytes in both directions, encrypted or not.

use std::io;
use std::time::Duration;

use crate::shared_connection::Tick;
use crate::system::{Socket, lost};
use crate::tls;
use crate::{Error, ErrorKind, SocketKind, Transport};

/// A socket, or TLS over one.
#[derive(Debug)]
pub(crate) enum Channel {
    Plain(Socket),
    Tls(Box<tls::TlsStream>),
}

impl Channel {
    /// Sends all of `bytes`.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.send(bytes),
            Self::Tls(stream) => stream.send(bytes),
        }
    }

    /// Sends all of several slices.
    pub(crate) fn send_slices(&mut self, slices: &[&[u8]]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.send_slices(slices),
            // A record for each slice would cost more than the copy.
            Self::Tls(stream) => stream.send(&slices.concat()),
        }
    }

    /// Receives up to `room` bytes to `to`; waits for as many if `whole`. 0 means that the peer has closed.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came in the time set on the socket.
    ///
    /// # Safety
    /// `to` may be written to for `room` bytes.
    pub(crate) unsafe fn receive(&mut self, to: *mut u8, room: usize, whole: bool) -> io::Result<usize> {
        match self {
            // SAFETY: the caller's promise.
            Self::Plain(socket) => unsafe { socket.receive(to, room, whole) },
            // SAFETY: the caller's promise.
            Self::Tls(stream) => unsafe { stream.receive(to, room, whole) },
        }
    }

    /// Waits up to `timeout` until bytes have arrived or the peer has closed. With TLS, a receive may still wait then,
    /// because a record may be incomplete.
    pub(crate) fn is_readable_within(&self, timeout: Duration) -> bool {
        match self {
            Self::Plain(socket) => socket.is_readable_within(timeout),
            Self::Tls(stream) => stream.has_bytes() || stream.socket().is_readable_within(timeout),
        }
    }

    /// The socket: for timeouts, and to end the connection from another thread.
    pub(crate) fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.socket(),
        }
    }

    /// Whether the peer's identity is certain: a socket file of this machine, or a verified certificate.
    pub(crate) fn is_certain(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.kind() == SocketKind::Unix,
            Self::Tls(stream) => stream.is_verified(),
        }
    }

    /// What a diagnosis shows of it.
    pub(crate) fn transport(&self) -> Transport {
        Transport { socket: self.socket().kind(), tls: self.tls().map(tls::TlsStream::state) }
    }

    /// The TLS over the socket, if there is one.
    pub(crate) fn tls(&self) -> Option<&tls::TlsStream> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => Some(stream),
        }
    }
}

/// The number of received bytes; 0 if nothing came within the timeout. The tick is called in both cases, so that a
/// peer that sends single bytes cannot postpone its end.
///
/// # Errors
/// The connection is closed or broken, or the tick ends the wait.
pub(crate) fn arrived(received: io::Result<usize>, tick: Tick<'_>) -> Result<usize, Error> {
    match received {
        Ok(0) => Err(Error::new(
            ErrorKind::ConnectionLost,
            "the server closed the connection before its answer was complete",
        )),
        Ok(count) => tick().map(|()| count),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => tick().map(|()| 0),
        Err(error) => Err(lost(error)),
    }
}
