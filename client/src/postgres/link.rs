//! One logged-in connection and what the server said of itself.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP>

use std::time::{Duration, Instant};

use super::authentication::Authentication;
use super::delivery::Delivery;
use super::incoming::{Incoming, Tick, lost};
use super::message::{self, BackendKey, Body, protocol, shown};
use crate::channel::Channel;
use crate::feed::POLL;
use crate::socket::{Socket, plain};
use crate::{Address, Error, ErrorKind, Target};

/// Without `connect_timeout`, a server that accepts the connection has this long to say something.
const LOGIN_LIMIT: Duration = Duration::from_secs(60);

/// The two directions of a connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) incoming: Incoming,
    pub(crate) server: Server,
    /// Whether no transaction was open when the last query had ended.
    pub(crate) idle: bool,
}

/// What the server said of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    pub(crate) version: String,
    pub(crate) delivery: Delivery,
    pub(crate) key: BackendKey,
    /// The encoding in which it sends text.
    pub(crate) encoding: String,
}

impl Server {
    /// Takes a ParameterStatus.
    ///
    /// # Errors
    /// The message ends too early.
    pub(crate) fn note(&mut self, body: &[u8]) -> Result<(), Error> {
        let mut body = Body(body);
        let (name, value) = (body.text()?, body.text()?);
        match &*name {
            "server_version" => self.version = value.into_owned(),
            "client_encoding" => self.encoding = value.into_owned(),
            name => {
                if let Some(delivery) = Delivery::announced(name, &value) {
                    self.delivery = delivery;
                }
            }
        }
        Ok(())
    }

    /// Whether text comes in the encoding that was asked for at login.
    pub(crate) fn sends_utf8(&self) -> bool {
        self.encoding.is_empty() || self.encoding.eq_ignore_ascii_case("UTF8")
    }
}

impl Link {
    /// Connects, logs in, and finds out how the server delivers.
    ///
    /// # Errors
    /// Nobody answers, the server refuses, it asks for what this client cannot give, or its extension cannot be used.
    pub(crate) fn open(target: &Target) -> Result<Self, Error> {
        let channel = connect(target)?;
        let deadline = Instant::now() + target.connect_timeout.unwrap_or(LOGIN_LIMIT);
        let mut tick = || {
            if Instant::now() < deadline {
                return Ok(());
            }
            Err(Error::new(ErrorKind::Connect, "the server accepted the connection but did not answer in time")
                .with_hint("check that it is a PostgreSQL or Colonnade server"))
        };
        let mut incoming = Incoming::new(channel);
        let opened = login(&mut incoming, target, &mut tick).and_then(|server| {
            let mut link = Self { incoming, server, idle: true };
            link.server.delivery = Delivery::find(&mut link, &mut tick)?;
            Ok(link)
        });
        opened.map_err(|error| error.with_origin(&target.to_string()))
    }

    /// Sends a whole message.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.incoming.channel().send(bytes).map_err(lost)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Best effort: the server notices the closed socket too.
        let _ = self.send(&message::terminate());
    }
}

/// Connects to where the target's server listens.
///
/// # Errors
/// Nobody listens there, or not within the timeout.
pub(crate) fn connect(target: &Target) -> Result<Channel, Error> {
    let socket = match &target.address {
        Address::Unix(path, port) => Socket::unix(&Target::socket_file(path, *port)),
        Address::Tcp(host, port) => Socket::tcp(host, *port, target.connect_timeout),
    };
    socket.map(Channel::Plain).map_err(|cause| {
        Error::new(ErrorKind::Connect, format!("cannot connect: {}", plain(&cause)))
            .with_hint("check that the server runs and listens there")
            .with_origin(&target.to_string())
            .with_cause(cause)
    })
}

fn login(incoming: &mut Incoming, target: &Target, tick: Tick<'_>) -> Result<Server, Error> {
    incoming.set_patience(Some(POLL))?;
    let mut parameters =
        vec![("user", target.user.as_str()), ("database", &target.database), ("client_encoding", "UTF8")];
    if !target.parameters.iter().any(|(key, _)| key == "application_name") {
        parameters.push(("application_name", "colonnade"));
    }
    parameters.extend(target.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    incoming.channel().send(&message::startup(&parameters)).map_err(lost)?;

    let mut server = Server::default();
    let (mut welcome, mut authentication) = (false, Authentication::default());
    loop {
        let (kind, len) = incoming.header(tick)?;
        if !welcome && !matches!(kind, b'R' | b'E' | b'N' | b'v') {
            return Err(Error::new(ErrorKind::Protocol, "whatever listens there does not speak PostgreSQL's protocol")
                .with_hint("check the port"));
        }
        let bytes = incoming.body(kind, len, tick)?;
        let mut body = Body(&bytes);
        match kind {
            b'R' => {
                if let Some(answer) = authentication.answer(&bytes, target)? {
                    incoming.channel().send(&answer).map_err(lost)?;
                }
                welcome = true;
            }
            b'S' => server.note(&bytes)?,
            b'K' | b'Z' if !authentication.is_done() => {
                return Err(protocol(format!("a message {} before the login's end", shown(kind))));
            }
            b'K' => server.key = BackendKey { process: body.u32()?, secret: body.u32()? },
            b'E' => return Err(message::error_response(&bytes)),
            // Notices, and a server that knows fewer protocol options than were asked for: none were.
            b'N' | b'v' => {}
            b'Z' => return Ok(server),
            _ => return Err(protocol(format!("a message {} during login", shown(kind)))),
        }
    }
}
