//! The link to a server to which rows are sent, for the controller of `wire`.

use std::net::TcpStream;

use colonnade_wire::{Link, Queue};

use crate::system::Socket;

/// The distance to the server.
pub(crate) fn distance(socket: &Socket) -> Link {
    match socket.as_tcp().map(TcpStream::peer_addr) {
        None => Link::SameMachine,
        Some(Ok(peer)) if peer.ip().to_canonical().is_loopback() => Link::Loopback,
        Some(_) if queue(socket).is_none() => Link::Unobserved,
        Some(_) => Link::Remote,
    }
}

/// [`colonnade_tcp::limit_unsent`] for a TCP connection.
pub(crate) fn limit_unsent(socket: &Socket) {
    if let Some(stream) = socket.as_tcp() {
        colonnade_tcp::limit_unsent(stream);
    }
}

/// [`colonnade_tcp::queue`] of a TCP connection.
pub(crate) fn queue(socket: &Socket) -> Option<Queue> {
    socket.as_tcp().and_then(colonnade_tcp::queue)
}
