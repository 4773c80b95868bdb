//! The encryption of a connection.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use colonnade_login::certificate::Certificate;
use rustls::{ProtocolVersion, ServerConfig, ServerConnection};

use super::config::ALPN;

/// The state of rustls for a connection. Callers pass the raw stream. A session never reads and writes at the same
/// time, so no thread waits for the lock. The lock allows a second thread to send.
pub(crate) struct Tls {
    connection: Mutex<ServerConnection>,
    end_point: Option<Arc<[u8]>>,
    is_direct: bool,
}

impl Tls {
    pub(super) fn new(config: Arc<ServerConfig>, end_point: Option<Arc<[u8]>>, is_direct: bool) -> io::Result<Self> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Self { connection: Mutex::new(connection), end_point, is_direct })
    }

    fn connection(&self) -> MutexGuard<'_, ServerConnection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes the handshake.
    ///
    /// # Errors
    /// If the client closes the connection, supports no version of TLS that the server supports, lacks a required
    /// certificate, or names another protocol.
    pub fn complete_handshake(&self, raw: &mut (impl Read + Write)) -> io::Result<()> {
        let mut tls = self.connection();
        while tls.is_handshaking() {
            flush(&mut tls, raw)?;
            if tls.is_handshaking() && !receive(&mut tls, raw)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        flush(&mut tls, raw)?;
        // Otherwise a page in a browser could send requests to the server (ALPACA). A browser sends no SSLRequest.
        if self.is_direct && tls.alpn_protocol() != Some(ALPN) {
            tls.send_close_notify();
            let _ = flush(&mut tls, raw);
            return Err(io::Error::new(io::ErrorKind::InvalidData, crate::message::ProtocolError::NoAlpn));
        }
        Ok(())
    }

    /// Reads decrypted bytes, and waits if there are none. 0 at the end.
    pub fn read(&self, raw: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        let mut tls = self.connection();
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The peer closed without an alert. The messages' lengths tell whether bytes are missing.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                result => return result,
            }
            if !receive(&mut tls, raw)? {
                return Ok(0);
            }
            // Answers to TLS messages without data, such as new keys.
            flush(&mut tls, raw)?;
        }
    }

    /// Encrypts and sends the first part of `slices`: at most 64 KiB, which is what rustls buffers.
    pub fn write(&self, raw: &mut impl Write, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut tls = self.connection();
        let written = tls.writer().write_vectored(slices)?;
        flush(&mut tls, raw)?;
        Ok(written)
    }

    /// Sends the close alert.
    pub fn close(&self, raw: &mut impl Write) {
        let mut tls = self.connection();
        tls.send_close_notify();
        // It fails if the client has closed the connection.
        let _ = flush(&mut tls, raw);
    }

    /// The data for channel binding: the hash of the server's certificate, if its signature has one.
    pub fn end_point(&self) -> Option<&[u8]> {
        self.end_point.as_deref()
    }

    /// The common name in the client's certificate, if one is required; `Some(None)` if it has no name.
    pub fn client(&self) -> Option<Option<String>> {
        let tls = self.connection();
        let certificate = tls.peer_certificates()?.first()?;
        let name = Certificate::parse(certificate).and_then(|certificate| certificate.common_name.map(<[u8]>::to_vec));
        Some(name.and_then(|name| String::from_utf8(name).ok()))
    }

    /// `TLSv1.3`.
    pub fn version(&self) -> &'static str {
        match self.connection().protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "TLSv1.3",
        }
    }
}

/// Reads received bytes, at least one; `false` at the end.
fn receive(tls: &mut ServerConnection, raw: &mut (impl Read + Write)) -> io::Result<bool> {
    let count = loop {
        match tls.read_tls(raw) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result?,
        }
    };
    if let Err(error) = tls.process_new_packets() {
        // The alert with the reason is sent if possible.
        let _ = flush(tls, raw);
        return Err(io::Error::new(io::ErrorKind::InvalidData, error));
    }
    Ok(count > 0)
}

/// Sends all pending bytes.
fn flush(tls: &mut ServerConnection, raw: &mut impl Write) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(raw) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version())
    }
}
