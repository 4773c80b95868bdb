//! The link to a server to which rows are sent, for the controller of `wire`.

use colonnade_wire::{Link, Queue};

use crate::socket::Socket;

/// The distance to the server.
pub(crate) fn distance(socket: &Socket) -> Link {
    match socket {
        Socket::Unix(_) => Link::SameMachine,
        Socket::Tcp(stream) => match stream.peer_addr() {
            Ok(peer) if peer.ip().to_canonical().is_loopback() => Link::Loopback,
            _ if queue(socket).is_none() => Link::Unobserved,
            _ => Link::Remote,
        },
    }
}

/// [`colonnade_tcp::limit_unsent`] for a TCP connection.
pub(crate) fn limit_unsent(socket: &Socket) {
    if let Socket::Tcp(stream) = socket {
        colonnade_tcp::limit_unsent(stream);
    }
}

/// [`colonnade_tcp::queue`] of a TCP connection.
pub(crate) fn queue(socket: &Socket) -> Option<Queue> {
    match socket {
        Socket::Tcp(stream) => colonnade_tcp::queue(stream),
        Socket::Unix(_) => None,
    }
}
