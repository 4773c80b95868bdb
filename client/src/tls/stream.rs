//! TLS over a socket.

use std::fmt;
use std::io;
use std::time::Instant;

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

use super::config::TlsConfig;
use super::error;
use crate::feed::POLL;
use crate::system::Socket;
use crate::{Error, TlsState};

/// The bytes of one receive: a few records, which are decrypted while they are in the cache. It also holds the largest
/// handshake message that rustls accepts, 64 KiB.
const INCOMING: usize = 128 << 10;
/// Bytes that are encrypted at a time.
const OUTGOING: usize = 64 << 10;

/// An encrypted connection with its own socket and buffers. rustls, used unbuffered, decrypts the received bytes in
/// place. The decrypted bytes are copied once, to the caller's memory.
pub(crate) struct TlsStream {
    socket: Socket,
    tls: UnbufferedClientConnection,
    incoming: Box<[u8]>,
    /// The received bytes that were not decrypted yet.
    start: usize,
    end: usize,
    /// Decrypted bytes for which the caller had no room, from `taken` on.
    rest: Vec<u8>,
    taken: usize,
    outgoing: Vec<u8>,
    /// The peer has announced that no further bytes come.
    closed: bool,
    /// The connection has failed, and nothing more is read or sent.
    broken: bool,
    /// Whether the server's certificate was verified.
    verified: bool,
}

/// The result of one step.
enum Step {
    /// Bytes were decrypted, or a handshake message was sent: there may be more to do.
    Again,
    /// The handshake needs more bytes from the peer.
    Handshake,
    /// No complete record is left.
    Ready,
    Closed,
}

impl TlsStream {
    /// Performs the handshake with the server of the name `host`, and checks its certificate by the configuration.
    /// `wait` is called after each receive or timeout; its error ends the handshake.
    ///
    /// # Errors
    /// The server does not speak TLS or no allowed version, its certificate is not trusted, or it refuses the client's
    /// certificate.
    pub(crate) fn open(
        socket: Socket,
        config: &TlsConfig,
        host: &str,
        wait: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let tls = config.connection(host)?;
        let mut stream = Self {
            socket,
            tls,
            incoming: vec![0; INCOMING].into_boxed_slice(),
            start: 0,
            end: 0,
            rest: Vec::new(),
            taken: 0,
            outgoing: Vec::new(),
            closed: false,
            broken: false,
            verified: config.identifies,
        };
        let refused = |cause: io::Error| error::handshake(cause, config, host);
        // A server may send data directly after its last handshake message.
        let mut early = Vec::new();
        loop {
            match stream.step(&[], &mut |bytes| early.extend_from_slice(bytes)) {
                Ok(Step::Again) => {}
                Ok(Step::Ready) => {
                    stream.rest = early;
                    return Ok(stream);
                }
                Ok(Step::Closed) => return Err(refused(io::ErrorKind::UnexpectedEof.into())),
                Ok(Step::Handshake) => match stream.fill() {
                    Ok(0) => return Err(refused(io::ErrorKind::UnexpectedEof.into())),
                    Ok(_) => wait()?,
                    Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => wait()?,
                    Err(cause) => return Err(refused(cause)),
                },
                Err(cause) => return Err(refused(cause)),
            }
        }
    }

    /// Sends all of `bytes`.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(OUTGOING) {
            let mut rest = std::mem::take(&mut self.rest);
            let sent = loop {
                match self.step(part, &mut |bytes| rest.extend_from_slice(bytes)) {
                    // Bytes that arrived meanwhile stay in the buffer, which does not grow.
                    Ok(Step::Again) => {}
                    Ok(Step::Ready) => break Ok(()),
                    Ok(Step::Handshake | Step::Closed) => {
                        self.closed = true;
                        break Err(io::ErrorKind::BrokenPipe.into());
                    }
                    Err(error) => break Err(error),
                }
            };
            self.rest = rest;
            sent?;
        }
        Ok(())
    }

    /// Receives up to `room` bytes to `to`; waits for as many if `whole`. 0 means that the peer has closed.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came in the socket's timeout; `InvalidData` when the received bytes were changed on
    /// the way.
    ///
    /// # Safety
    /// `to` may be written to for `room` bytes.
    pub(crate) unsafe fn receive(&mut self, to: *mut u8, room: usize, whole: bool) -> io::Result<usize> {
        let mut room = Room { to, len: room, filled: 0 };
        let mut until = None;
        let mut rest = std::mem::take(&mut self.rest);
        self.taken = rest.len() - room.put(&rest[self.taken..]).len();
        if self.taken == rest.len() {
            rest.clear();
            self.taken = 0;
        }
        let result = loop {
            if room.filled == room.len || self.closed {
                break Ok(room.filled);
            }
            match self.step(&[], &mut |bytes| rest.extend_from_slice(room.put(bytes))) {
                Ok(Step::Again) => {}
                Ok(Step::Closed) => self.closed = true,
                Ok(Step::Ready | Step::Handshake) if room.filled > 0 && !whole => break Ok(room.filled),
                Ok(Step::Ready | Step::Handshake) => match self.fill() {
                    Ok(0) => self.closed = true,
                    // A record that arrives byte by byte must not prevent the caller from checking for interruption.
                    Ok(_) if Instant::now() >= *until.get_or_insert_with(|| Instant::now() + POLL) => match room.filled
                    {
                        0 => break Err(io::ErrorKind::WouldBlock.into()),
                        filled => break Ok(filled),
                    },
                    Ok(_) => {}
                    // As with MSG_WAITALL, bytes that have arrived are returned when the wait ends.
                    Err(_) if room.filled > 0 => break Ok(room.filled),
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            }
        };
        self.rest = rest;
        result
    }

    /// Whether bytes have been received that were not passed on.
    pub(crate) fn has_bytes(&self) -> bool {
        self.taken < self.rest.len() || self.start < self.end
    }

    /// The socket.
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The server's certificate in DER.
    pub(crate) fn certificate(&self) -> Option<&[u8]> {
        self.tls.peer_certificates()?.first().map(AsRef::as_ref)
    }

    /// Whether the server's certificate was verified, which proves its identity.
    pub(crate) fn is_verified(&self) -> bool {
        self.verified
    }

    /// Whether the server has chosen one of the offered protocols.
    pub(crate) fn has_agreed(&self) -> bool {
        self.tls.alpn_protocol().is_some()
    }

    /// The protocol's version, such as `TLSv1.3`.
    pub(crate) fn version(&self) -> &'static str {
        match self.tls.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "TLSv1.3",
        }
    }

    /// What a diagnosis shows of it.
    pub(crate) fn state(&self) -> TlsState {
        let suite = self.tls.negotiated_cipher_suite();
        let cipher = suite.map_or_else(|| "unknown".to_owned(), |suite| format!("{:?}", suite.suite()));
        TlsState { version: self.version(), cipher, is_verified: self.verified }
    }

    /// Processes received bytes, up to one record of data, which is passed to `sink`, and sends the protocol's
    /// answers. If the connection is ready and no bytes are left, it sends `data`.
    fn step(&mut self, data: &[u8], sink: &mut dyn FnMut(&[u8])) -> io::Result<Step> {
        if self.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let stepped = self.advance(data, sink);
        if let Err(error) = &stepped {
            self.broken = true;
            // The alert for the error, so that the peer's log shows the reason. rustls must not be used afterwards.
            if error.kind() == io::ErrorKind::InvalidData && self.advance(&[], &mut |_| {}).is_ok() {
                let _ = self.socket.send(&self.outgoing);
            }
        }
        stepped
    }

    fn advance(&mut self, data: &[u8], sink: &mut dyn FnMut(&[u8])) -> io::Result<Step> {
        let UnbufferedStatus { discard, state } =
            self.tls.process_tls_records(&mut self.incoming[self.start..self.end]);
        let step = match state.map_err(invalid)? {
            ConnectionState::ReadTraffic(mut records) => {
                while let Some(record) = records.next_record() {
                    sink(record.map_err(invalid)?.payload);
                }
                Step::Again
            }
            ConnectionState::EncodeTlsData(mut message) => {
                let before = self.outgoing.len();
                if let Err(EncodeError::InsufficientSize(need)) = message.encode(&mut []) {
                    self.outgoing.resize(before + need.required_size, 0);
                }
                message.encode(&mut self.outgoing[before..]).map_err(invalid)?;
                Step::Again
            }
            ConnectionState::TransmitTlsData(sent) => {
                self.socket.send(&self.outgoing)?;
                self.outgoing.clear();
                sent.done();
                Step::Again
            }
            ConnectionState::WriteTraffic(mut records) => {
                if !data.is_empty() {
                    let mut room = data.len() + (1 << 10);
                    loop {
                        self.outgoing.resize(room, 0);
                        match records.encrypt(data, &mut self.outgoing) {
                            Ok(len) => break self.socket.send(&self.outgoing[..len])?,
                            Err(EncryptError::InsufficientSize(need)) => room = need.required_size,
                            Err(error) => return Err(invalid(error)),
                        }
                    }
                    self.outgoing.clear();
                }
                Step::Ready
            }
            ConnectionState::PeerClosed | ConnectionState::Closed => Step::Closed,
            ConnectionState::BlockedHandshake => Step::Handshake,
            // Early data, which is never requested.
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        self.start += discard;
        Ok(step)
    }

    /// Receives bytes. 0 means that the peer has closed.
    fn fill(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.incoming.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let room = &mut self.incoming[self.end..];
        if room.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a TLS record that is too long"));
        }
        // SAFETY: `room` may be written to.
        let count = unsafe { self.socket.receive(room.as_mut_ptr(), room.len(), false) }?;
        self.end += count;
        Ok(count)
    }
}

/// The caller's memory: `to` may be written to for `len` bytes.
struct Room {
    to: *mut u8,
    len: usize,
    filled: usize,
}

impl Room {
    /// Copies as many bytes as fit, and returns the rest.
    fn put<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (part, rest) = bytes.split_at(bytes.len().min(self.len - self.filled));
        // SAFETY: `to` has room for `len` bytes, and `filled` with the part is no more; `bytes` lie elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), self.to.add(self.filled), part.len()) };
        self.filled += part.len();
        rest
    }
}

impl fmt::Debug for TlsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {:?}", self.version(), self.socket)
    }
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
