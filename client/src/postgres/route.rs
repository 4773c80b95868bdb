//! Makes the channel to a target: a socket, and TLS over it if the target requests it.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL>

use std::io;
use std::time::Duration;

use super::message;
use super::target::{Address, SslMode, Target};
use crate::channel::Channel;
use crate::feed::POLL;
use crate::shared_connection::Tick;
use crate::system::lost;
use crate::system::{Socket, plain};
use crate::{Error, ErrorKind, tls};

/// A route to one server. A cancel request takes the route of its connection.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) target: Target,
    encryption: Encryption,
}

#[derive(Clone, Debug)]
enum Encryption {
    None,
    IfOffered(tls::TlsConfig),
    Always(tls::TlsConfig),
}

impl Route {
    /// The routes to try, one after another. `allow` and `prefer` have one with and one without TLS. A unix socket has
    /// no TLS.
    ///
    /// # Errors
    /// A certificate file cannot be used.
    pub(crate) fn all(target: &Target) -> Result<Vec<Self>, Error> {
        let unencrypted = matches!(target.address, Address::Unix(..)) || target.sslmode == SslMode::Disable;
        let encryptions = if unencrypted {
            vec![Encryption::None]
        } else {
            let config = tls::TlsConfig::new(&target.tls)?;
            match target.sslmode {
                SslMode::Allow => vec![Encryption::None, Encryption::Always(config)],
                SslMode::Prefer => vec![Encryption::IfOffered(config), Encryption::None],
                _ => vec![Encryption::Always(config)],
            }
        };
        Ok(encryptions.into_iter().map(|encryption| Self { target: target.clone(), encryption }).collect())
    }

    /// Whether the route uses TLS, if the server supports it.
    pub(crate) fn encrypts(&self) -> bool {
        !matches!(self.encryption, Encryption::None)
    }

    /// Connects to the target's address, within `timeout`.
    ///
    /// # Errors
    /// No server listens there, or not within the timeout.
    pub(crate) fn connect(&self, timeout: Option<Duration>) -> Result<Socket, Error> {
        let Target { address, keepalive, .. } = &self.target;
        let socket = match address {
            Address::Unix(path, port) => Socket::file(&Target::socket_file(path, *port)),
            Address::Tcp(host, port) => Socket::tcp(host, *port, timeout),
        };
        let socket = socket.map_err(|cause| {
            Error::new(ErrorKind::Connect, format!("cannot connect: {}", plain(&cause)))
                .with_hint("check that the server runs and listens there")
                .with_cause(cause)
        })?;
        socket.set_keepalive(keepalive);
        socket.set_timeout(Some(POLL));
        Ok(socket)
    }

    /// Encrypts the connection, if the route does.
    ///
    /// # Errors
    /// The server has no TLS or refuses it, or the server is not trusted.
    pub(crate) fn secure(&mut self, socket: Socket, tick: Tick<'_>) -> Result<Channel, Error> {
        let (config, always) = match &self.encryption {
            Encryption::None => return Ok(Channel::Plain(socket)),
            Encryption::IfOffered(config) => (config, false),
            Encryption::Always(config) => (config, true),
        };
        if !self.target.direct_tls {
            match offered(&socket, tick)? {
                true => {}
                false if always => {
                    return Err(Error::new(ErrorKind::Connect, "the server offers no TLS, and sslmode asks for it")
                        .with_hint("turn it on there (ssl = on), or choose another sslmode"));
                }
                false => {
                    self.encryption = Encryption::None;
                    return Ok(Channel::Plain(socket));
                }
            }
        }
        let stream = tls::TlsStream::open(socket, config, &self.target.host, tick)?;
        // Without the first question, only the protocol's name proves that the server knows the handshake is for
        // PostgreSQL.
        if self.target.direct_tls && !stream.has_agreed() {
            return Err(Error::new(
                ErrorKind::Connect,
                "the server did not agree to speak PostgreSQL's protocol over TLS",
            )
            .with_hint("leave sslnegotiation out"));
        }
        Ok(Channel::Tls(Box::new(stream)))
    }

    /// The error of the login, or of the TLS connection if the server has refused that.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match &self.encryption {
            Encryption::IfOffered(config) | Encryption::Always(config) => tls::refused(&error, config).unwrap_or(error),
            Encryption::None => error,
        }
    }

    /// Whether a failed login may succeed on another route: the server's rules may depend on encryption (`hostssl` in
    /// pg_hba.conf).
    pub(crate) fn matters(error: &Error) -> bool {
        error.sqlstate() == Some("28000")
    }
}

/// Asks whether the server accepts TLS. Exactly one byte is read. Bytes that an attacker sends after it reach the
/// handshake, which refuses them (CVE-2021-23222).
fn offered(socket: &Socket, tick: Tick<'_>) -> Result<bool, Error> {
    socket.send(&message::ssl_request()).map_err(lost)?;
    let mut answer = 0u8;
    loop {
        // SAFETY: there is room for one byte.
        match unsafe { socket.receive(&raw mut answer, 1, false) } {
            Ok(0) => return Err(stranger(&[])),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tick()?,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(stranger(&[])),
            Err(error) => return Err(lost(error)),
        }
    }
    match answer {
        b'S' => Ok(true),
        b'N' => Ok(false),
        // The error's text may come from an attacker, because nothing is encrypted yet (CVE-2024-10977).
        b'E' => Err(Error::new(ErrorKind::Connect, "the server answered with an error when it was asked for TLS")
            .with_hint("the server's log may say more")),
        first => {
            let mut bytes = [first; FIRST_BYTES];
            // SAFETY: there is room for these bytes.
            let more = unsafe { socket.receive(bytes.as_mut_ptr().add(1), FIRST_BYTES - 1, false) };
            Err(stranger(&bytes[..=more.unwrap_or_default().min(FIRST_BYTES - 1)]))
        }
    }
}

/// The most bytes of a stranger's answer that are read at once.
const FIRST_BYTES: usize = 64;

/// The error of a server that does not speak PostgreSQL's protocol. Its answer begins with these bytes, or it has
/// closed the connection without any.
pub(super) fn stranger(bytes: &[u8]) -> Error {
    /// The characters of the answer that are shown.
    const SHOWN: usize = 32;
    const CHECK: &str = "is this PostgreSQL? Check the host and the port";
    if bytes.is_empty() {
        return Error::new(ErrorKind::ConnectionLost, "the server closed the connection without an answer")
            .with_hint(format!("{CHECK}; a proxy whose server does not run closes connections so, too"));
    }
    let shown: String = bytes.escape_ascii().map(char::from).take(SHOWN).collect();
    let message =
        format!("the server at this port does not speak PostgreSQL's protocol: its answer begins with \"{shown}\"");
    // A packet of MySQL has its length first, and the greeting the protocol's version 10 then.
    let hint = match bytes {
        [_, _, 0, 0, 10, ..] => format!("{CHECK}, or write mysql:// for MySQL and MariaDB"),
        _ if bytes.starts_with(b"HTTP/") => format!("{CHECK}: a web server answers there"),
        _ => CHECK.to_owned(),
    };
    Error::new(ErrorKind::Protocol, message).with_hint(hint)
}
