//! The kinds of sockets.

use std::io;
use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;

use rustix::fd::{AsFd as _, BorrowedFd};

/// The system's socket.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    File(UnixStream),
}

impl Stream {
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            #[cfg(unix)]
            Self::File(stream) => stream.as_fd(),
        }
    }

    /// Ends the connection for all handles.
    pub(super) fn shutdown(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(unix)]
            Self::File(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// A second handle.
    pub(super) fn share(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            #[cfg(unix)]
            Self::File(stream) => stream.try_clone().map(Self::File),
        }
    }
}
