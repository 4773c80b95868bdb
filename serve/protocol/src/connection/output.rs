//! Outgoing messages. Writes avoid copies.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use super::socket::Socket;
use crate::charset::ClientEncoding;
use crate::message::backend::Messages;

/// Bytes of a file that are encrypted at a time.
const FILE_BYTES: usize = 256 << 10;

/// Outgoing messages. Small ones are gathered in a buffer; large payloads are written without a copy.
pub struct Output {
    socket: Arc<Socket>,
    buffer: Messages,
}

/// Gathered bytes are sent when they reach this size.
const FLUSH_BYTES: usize = 64 << 10;

impl Output {
    pub fn new(socket: Arc<Socket>) -> Self {
        Self { socket, buffer: Messages::with_capacity(FLUSH_BYTES) }
    }

    pub fn buffer(&mut self) -> &mut Messages {
        &mut self.buffer
    }

    /// Sends the gathered bytes if they are worth a system call.
    pub fn flush_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.send(&[])
    }

    /// Sends the gathered bytes, then `payload`, without copying it.
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
        // A single long value must not hold its memory for the rest of the session.
        self.buffer.shrink_to(4 * FLUSH_BYTES);
        Ok(())
    }

    /// Sends bytes of a file. The gathered bytes must have been flushed. Without TLS, the kernel copies them from the
    /// file's pages.
    pub fn send_file(&mut self, file: &File, start: u64, length: u64) -> io::Result<()> {
        let end = start + length;
        let mut at = start;
        let mut copy = Vec::new();
        while at < end {
            let rest = usize::try_from(end - at).unwrap_or(usize::MAX);
            if self.socket.tls().is_some() {
                copy.resize(rest.min(FILE_BYTES), 0);
                file.read_exact_at(&mut copy, at)?;
                self.send(&[&copy])?;
                at += copy.len() as u64;
                continue;
            }
            match self.socket.send_file(file, &mut at, rest) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Another output for the same socket. While it is in use, nothing else may write, and this buffer must be empty.
    pub fn sibling(&self) -> Self {
        Self { socket: Arc::clone(&self.socket), buffer: Messages::default() }
    }

    /// The client's encoding, in which messages have their texts.
    pub fn encoding(&self) -> ClientEncoding {
        self.buffer.encoding
    }

    /// The socket, for its state only: the caller must not write to it.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}
