//! TLS over a socket.

use std::fmt;
use std::io;

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

use super::config::Config;
use super::error;
use crate::Error;
use crate::socket::Socket;

/// Bytes that are received at a time: a few records, which are decrypted while they are in the cache. It also holds the largest handshake
/// message that rustls takes, 64 KiB.
const INCOMING: usize = 128 << 10;
/// Bytes that are encrypted at a time.
const OUTGOING: usize = 64 << 10;

/// An encrypted connection. Sockets and buffers are ours: rustls, used unbuffered, decrypts in place what one receive of the socket has
/// brought, and what it decrypts is copied once from there to where the caller wants it.
pub(crate) struct Stream {
    socket: Socket,
    tls: UnbufferedClientConnection,
    incoming: Box<[u8]>,
    /// What of `incoming` has come and is not yet decrypted.
    start: usize,
    end: usize,
    /// Decrypted, but the caller had no room, from `taken` on.
    rest: Vec<u8>,
    taken: usize,
    outgoing: Vec<u8>,
    /// The peer has said that nothing more comes.
    closed: bool,
}

/// How far one step has come.
enum Step {
    /// Something was decrypted, or a handshake's message is on its way: there may be more to do.
    Again,
    /// The handshake needs more bytes from the peer.
    Handshake,
    /// No complete record is left.
    Ready,
    Closed,
}

impl Stream {
    /// Shakes hands with the server that is called `host`, and checks what it shows as the configuration says. `wait` is asked whenever
    /// nothing came in the socket's timeout; an error of it ends the handshake.
    ///
    /// # Errors
    /// The server does not speak TLS or no version of it that is allowed, shows a certificate that is not trusted, or refuses ours.
    pub(crate) fn open(
        socket: Socket,
        config: &Config,
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
        };
        let refused = |cause: io::Error| error::handshake(cause, config, host);
        loop {
            match stream.step(&[], &mut |_| {}) {
                Ok(Step::Again) => {}
                Ok(Step::Ready) => return Ok(stream),
                Ok(Step::Closed) => return Err(refused(io::ErrorKind::UnexpectedEof.into())),
                Ok(Step::Handshake) => match stream.fill() {
                    Ok(0) => return Err(refused(io::ErrorKind::UnexpectedEof.into())),
                    Ok(_) => {}
                    Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => wait()?,
                    Err(cause) => return Err(refused(cause)),
                },
                Err(cause) => {
                    // The peer's log then says why: the alert was made with the error, and is sent by the next step.
                    let _ = stream.step(&[], &mut |_| {});
                    return Err(refused(cause));
                }
            }
        }
    }

    /// Sends all of `bytes`.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(OUTGOING) {
            let mut rest = std::mem::take(&mut self.rest);
            let sent = loop {
                match self.step(part, &mut |bytes| rest.extend_from_slice(bytes)) {
                    // What came meanwhile waits to be received; no more of it than was received already.
                    Ok(Step::Again) => {}
                    Ok(Step::Ready) => break Ok(()),
                    Ok(Step::Handshake | Step::Closed) => break Err(io::ErrorKind::BrokenPipe.into()),
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
    /// `WouldBlock` when nothing came in the socket's timeout; `InvalidData` when what came is not what the peer sent.
    ///
    /// # Safety
    /// `to` may be written to for `room` bytes.
    pub(crate) unsafe fn receive(&mut self, to: *mut u8, room: usize, whole: bool) -> io::Result<usize> {
        let mut count = 0;
        let mut rest = std::mem::take(&mut self.rest);
        let mut put = |bytes: &[u8]| {
            let part = bytes.len().min(room - count);
            // SAFETY: `to` has room for `room` bytes, and `count + part` is no more; `bytes` are this stream's own.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(count), part) };
            count += part;
            part
        };
        self.taken += put(&rest[self.taken..]);
        if self.taken == rest.len() {
            rest.clear();
            self.taken = 0;
        }
        let result = loop {
            if count == room || self.closed {
                break Ok(count);
            }
            let mut sink = |bytes: &[u8]| {
                let part = bytes.len().min(room - count);
                // SAFETY: as above.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(count), part) };
                count += part;
                rest.extend_from_slice(&bytes[part..]);
            };
            match self.step(&[], &mut sink) {
                Ok(Step::Again) => {}
                Ok(Step::Closed) => self.closed = true,
                Ok(Step::Ready | Step::Handshake) if count > 0 && !whole => break Ok(count),
                Ok(Step::Ready | Step::Handshake) => match self.fill() {
                    Ok(0) => self.closed = true,
                    Ok(_) => {}
                    // As MSG_WAITALL does: what has come is not held back by a wait that is over.
                    Err(_) if count > 0 => break Ok(count),
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            }
        };
        self.rest = rest;
        result
    }

    /// What lies below.
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The certificate that the server has shown, in DER.
    pub(crate) fn certificate(&self) -> Option<&[u8]> {
        self.tls.peer_certificates()?.first().map(AsRef::as_ref)
    }

    /// The protocol's version, such as `TLSv1.3`.
    pub(crate) fn version(&self) -> &'static str {
        match self.tls.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "TLSv1.3",
        }
    }

    /// Looks at what has come, up to one record of data, which goes to `sink`, and sends what the protocol has to say to it; then, when the
    /// connection is ready and nothing is left to look at, sends `data`.
    fn step(&mut self, data: &[u8], sink: &mut dyn FnMut(&[u8])) -> io::Result<Step> {
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
            // Early data, which is never asked for.
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        self.start += discard;
        Ok(step)
    }

    /// Receives what has come. 0 means that the peer has closed.
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

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} over {:?}", self.version(), self.socket)
    }
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
