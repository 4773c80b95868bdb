//! Reads and writes of a socket, below its encryption.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::event::{PollFd, PollFlags};

use super::{Socket, Stream};

/// The bytes on the wire, encrypted if the connection is.
pub(super) struct Raw<'a> {
    socket: &'a Socket,
    /// A read ends when this is readable and no byte has arrived.
    other: Option<BorrowedFd<'a>>,
}

impl<'a> Raw<'a> {
    pub fn of(socket: &'a Socket) -> Self {
        Self { socket, other: None }
    }

    /// Its reads end when `other` is readable.
    pub fn until(socket: &'a Socket, other: Option<BorrowedFd<'a>>) -> Self {
        Self { socket, other }
    }
}

impl Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout_to_deadline()?;
        let _wait = self.socket.waits.begin();
        if let Some(other) = self.other {
            let mut waited = [self.socket.as_fd(), other].map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN));
            rustix::event::poll(&mut waited, None)?;
            if waited[0].revents().is_empty() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        match &self.socket.stream {
            Stream::Tcp(stream) => (&mut &*stream).read(buffer),
            Stream::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.set_write_timeout_to_deadline()?;
        let _wait = self.socket.waits.begin();
        match &self.socket.stream {
            Stream::Tcp(stream) => (&mut &*stream).write_vectored(slices),
            Stream::Unix(stream) => (&mut &*stream).write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
