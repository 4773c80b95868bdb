//! A connection as a source sees it: bytes in both directions, encrypted or not.

#![allow(dead_code)]

use std::io;

use crate::socket::Socket;
use crate::tls;

/// A socket, or TLS over one.
#[derive(Debug)]
pub(crate) enum Channel {
    Plain(Socket),
    Tls(Box<tls::Stream>),
}

impl Channel {
    /// Sends all of `bytes`.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.send(bytes),
            Self::Tls(stream) => stream.send(bytes),
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

    /// What lies below: for timeouts, and to end the connection from another thread.
    pub(crate) fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.socket(),
        }
    }

    /// The TLS over the socket, if there is one.
    pub(crate) fn tls(&self) -> Option<&tls::Stream> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => Some(stream),
        }
    }
}
