//! The encryption of one connection.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use colonnade_login::certificate::Certificate;
use rustls::{ProtocolVersion, ServerConfig, ServerConnection};

use super::config::ALPN;

/// rustls's state of a connection; the bytes pass through whatever it is given. A session reads or writes, and never both at once, so
/// nobody waits for the lock: it lets a thread send that the session waits for.
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

    /// Agrees with the client on keys.
    ///
    /// # Errors
    /// If it breaks off, speaks no TLS or another version of it, shows no certificate that is wanted, or means another protocol.
    pub fn shake_hands(&self, raw: &mut (impl Read + Write)) -> io::Result<()> {
        let mut tls = self.connection();
        while tls.is_handshaking() {
            flush(&mut tls, raw)?;
            if tls.is_handshaking() && !receive(&mut tls, raw)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        flush(&mut tls, raw)?;
        // Or a page in a browser could be made to speak to the server (ALPACA); those who ask first are no browsers.
        if self.is_direct && tls.alpn_protocol() != Some(ALPN) {
            tls.send_close_notify();
            let _ = flush(&mut tls, raw);
            return Err(io::Error::new(io::ErrorKind::InvalidData, crate::message::ProtocolError::NoAlpn));
        }
        Ok(())
    }

    /// Reads what has been decrypted; waits for more if there is none. 0 at the end.
    pub fn read(&self, raw: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        let mut tls = self.connection();
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Without a farewell. Whether something is missing, the messages' lengths tell.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                result => return result,
            }
            if !receive(&mut tls, raw)? {
                return Ok(0);
            }
            // Answers to whatever was no data, such as new keys.
            flush(&mut tls, raw)?;
        }
    }

    /// Encrypts and sends a first part of `slices`: at most as much as rustls keeps, 64 KiB.
    pub fn write(&self, raw: &mut impl Write, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut tls = self.connection();
        let written = tls.writer().write_vectored(slices)?;
        flush(&mut tls, raw)?;
        Ok(written)
    }

    /// Says that nothing more comes.
    pub fn close(&self, raw: &mut impl Write) {
        let mut tls = self.connection();
        tls.send_close_notify();
        // The client may be gone.
        let _ = flush(&mut tls, raw);
    }

    /// What a login can be bound to: the hash of the certificate that was shown, if its signature has one.
    pub fn end_point(&self) -> Option<&[u8]> {
        self.end_point.as_deref()
    }

    /// The common name in the client's certificate, if it had to show one; `Some(None)` if that names nobody.
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

/// Reads what has come, at least a byte; `false` at the end.
fn receive(tls: &mut ServerConnection, raw: &mut (impl Read + Write)) -> io::Result<bool> {
    let count = loop {
        match tls.read_tls(raw) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result?,
        }
    };
    if let Err(error) = tls.process_new_packets() {
        // What is wrong is said in an alert, if it can be.
        let _ = flush(tls, raw);
        return Err(io::Error::new(io::ErrorKind::InvalidData, error));
    }
    Ok(count > 0)
}

/// Sends all that waits to be sent.
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
