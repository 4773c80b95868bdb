//! One logged-in connection, and the server's description of itself.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP>

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::authentication::{Authentication, EndPoint};
use super::binary::known::KnownStatements;
use super::delivery::Delivery;
use super::incoming::Incoming;
use super::message::{self, BackendKey, MessageReader, protocol, shown};
use super::reports::{self, Given, Reports};
use super::route::Route;
use super::target::{Binding, Target};
use colonnade_wire::LinkEstimate;

use crate::channel::Channel;
use crate::feed::POLL;
use crate::inbox::AnswerSize;
use crate::shared_connection::Tick;
use crate::system::lost;
use crate::tls;
use crate::{Access, Dialect, Error, ErrorKind, Transaction};

/// The messages and waits after which a closed connection is not asked for the server's error any more.
const MOST_LAST_MESSAGES: u32 = 32;
/// The timeout for the server's first message, without `connect_timeout`.
const LOGIN_LIMIT: Duration = Duration::from_secs(60);

/// Gets a message's kind and body.
type TakeMessage<'a> = &'a mut dyn FnMut(u8, &[u8]) -> Result<(), Error>;

/// The two directions of a connection.
#[derive(Debug)]
pub(crate) struct ServerConnection {
    pub(crate) incoming: Incoming,
    pub(crate) server: ServerProperties,
    /// The route of the connection.
    pub(crate) route: Arc<Route>,
    /// The transaction's state after the last query.
    pub(crate) transaction: Transaction,
    /// Whether the backend of the open transaction has sent a stream, so that the extension is loaded in it. A pooler
    /// may give the next transaction another backend.
    pub(super) is_extended: bool,
    /// The statements that were described on this connection.
    pub(super) known: KnownStatements,
    /// What the last write has measured of the link.
    pub(crate) link_estimate: Option<LinkEstimate>,
}

/// The server's description of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerProperties {
    pub(crate) version: String,
    /// How results arrive; `None` until PostgreSQL without an announcement has been asked.
    pub(crate) delivery: Option<Delivery>,
    /// The highest version of the format in which it takes rows; 0 if it takes none. PROTOCOL §10.
    pub(crate) receives: u32,
    /// The dialect of the source behind a Colonnade server, in the notation of PROTOCOL §1; `None` for its own.
    pub(crate) dialect: String,
    /// How the rows of the last COPY in the format were taken; empty if the server does not say so. PROTOCOL §1.
    pub(crate) rows_from: &'static str,
    pub(crate) key: BackendKey,
    /// The encoding of the server's text.
    pub(crate) encoding: String,
    /// Whether the server computes times in floats (`integer_datetimes` is off), as versions before 10 may and
    /// imitations do.
    pub(super) has_float_times: bool,
    /// The settings that affect how the server reads statements.
    pub(super) reports: Reports,
}

impl ServerProperties {
    /// Reads a ParameterStatus.
    ///
    /// # Errors
    /// The message ends too early.
    pub(crate) fn note(&mut self, body: &[u8]) -> Result<(), Error> {
        let mut body = MessageReader(body);
        let (name, value) = (body.text()?, body.text()?);
        self.reports.note(&name, &value);
        match &*name {
            "server_version" => self.version = value.into_owned(),
            "client_encoding" => self.encoding = value.into_owned(),
            "integer_datetimes" => self.has_float_times = value.eq_ignore_ascii_case("off"),
            "colonnade.dialect" => self.dialect = value.into_owned(),
            "colonnade.rows" => {
                self.rows_from = ["vectors", "stream"].into_iter().find(|way| *way == value).unwrap_or_default();
            }
            "colonnade.receive" => self.receives = value.trim().parse().unwrap_or(0),
            name => {
                if let Some(delivery) = Delivery::announced(name, &value) {
                    self.delivery = Some(delivery);
                }
            }
        }
        Ok(())
    }

    /// The dialect of literals.
    pub(crate) fn dialect(&self) -> Dialect {
        match (&self.delivery, self.dialect.as_str()) {
            (Some(Delivery::Served(_)), "") => Dialect::DuckDb,
            (Some(Delivery::Served(_)), name) => Dialect::of_name(name),
            (Some(Delivery::Extension { .. } | Delivery::Stock) | None, _) => Dialect::POSTGRES,
        }
    }

    /// Whether text arrives in the encoding that was requested at login.
    pub(crate) fn sends_utf8(&self) -> bool {
        self.encoding.is_empty() || self.encoding.eq_ignore_ascii_case("UTF8")
    }
}

impl ServerConnection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Nobody answers, the server refuses, or it requests something that this client does not support.
    pub(crate) fn open(target: &Target) -> Result<Self, Error> {
        let opened = Self::open_any_way(target, Given::Common).and_then(|connection| {
            if connection.is_gateways() && !connection.server.reports.are_known() {
                drop(connection);
                return Self::open_any_way(target, Given::All);
            }
            Ok(connection)
        });
        opened.map_err(|error| error.with_origin(&target.to_string()))
    }

    fn open_any_way(target: &Target, given: Given) -> Result<Self, Error> {
        let deadline = Instant::now() + target.connect_timeout.unwrap_or(LOGIN_LIMIT);
        let mut tick = || {
            if Instant::now() < deadline {
                return Ok(());
            }
            Err(Error::new(ErrorKind::Connect, "the server accepted the connection but did not answer in time")
                .with_hint("check that it is a PostgreSQL or Colonnade server"))
        };
        let mut routes = Route::all(target)?.into_iter().peekable();
        let mut before: Option<Error> = None;
        while let Some(mut route) = routes.next() {
            let left = target.connect_timeout.map(|_| deadline.saturating_duration_since(Instant::now()));
            let socket = route.connect(left)?;
            let (error, again) = match route.secure(socket, &mut tick) {
                // Bytes of another protocol are the same without TLS.
                Err(error) => {
                    let again = error.kind() != ErrorKind::Protocol;
                    (error, again)
                }
                Ok(channel) => {
                    let encrypted = channel.tls().is_some();
                    match Self::log_in(route, channel, given, &mut tick) {
                        Ok(connection) => return Ok(connection),
                        Err(error) => {
                            let again =
                                Route::matters(&error) && routes.peek().is_some_and(|r| r.encrypts() != encrypted);
                            (error, again)
                        }
                    }
                }
            };
            if !again || routes.peek().is_none() {
                return Err(match before {
                    Some(first) => error.with_detail(Some(format!("before, the other way: {first}"))),
                    None => error,
                });
            }
            before = Some(error);
        }
        Err(Error::new(ErrorKind::Connect, "there is no route to the server"))
    }

    fn log_in(route: Route, channel: Channel, given: Given, tick: Tick<'_>) -> Result<Self, Error> {
        let mut incoming = Incoming::new(channel);
        let server = login(&mut incoming, &route.target, given, tick).map_err(|error| route.explain(error))?;
        let (route, transaction) = (Arc::new(route), Transaction::None);
        let known = KnownStatements::default();
        let mut connection =
            Self { incoming, server, route, transaction, is_extended: false, known, link_estimate: None };
        if connection.is_gateways() && (given == Given::All || connection.server.reports.are_known()) {
            connection.complete_settings(tick)?;
        }
        connection.server.delivery = match connection.server.delivery.take() {
            Some(announced) => Some(announced.check()?),
            // A gateway's sources have one session for each client, which must be complete when it begins.
            None if connection.is_gateways() => Some(Delivery::find(&mut connection, tick)??),
            None => None,
        };
        Ok(connection)
    }

    /// Sets the settings that the start-up message did not set: a pooler may provide a session that another client has
    /// used.
    ///
    /// # Errors
    /// The server does not report a setting, or refuses it.
    fn complete_settings(&mut self, tick: Tick<'_>) -> Result<(), Error> {
        self.send(&message::query(reports::STYLES)?)?;
        self.pass_over_answer(tick)?;
        let wanted: Vec<_> = self.server.reports.different().collect();
        for (name, value) in wanted {
            // The values have no quotes and no backslashes.
            self.send(&message::query(&format!("SET {name} TO '{value}'"))?)?;
            self.pass_over_answer(tick)?;
        }
        self.server.reports.check().map_err(|error| {
            let message =
                format!("the source does not say that it reads statements as a gateway must: {}", error.message());
            Error::new(ErrorKind::Unsupported, message)
        })
    }

    /// Whether statements come from a gateway's clients.
    fn is_gateways(&self) -> bool {
        self.route.target.access == Access::Gateway
    }

    /// Checks that the server will read the next statement by the rules that its writer knows.
    ///
    /// # Errors
    /// The settings have changed.
    pub(crate) fn check_state(&self) -> Result<(), Error> {
        if self.is_gateways() { self.server.reports.check() } else { Ok(()) }
    }

    /// Receives the answer to a simple query of this client, for its effect.
    ///
    /// # Errors
    /// The connection is lost, or the server refuses the query.
    pub(super) fn pass_over_answer(&mut self, tick: Tick<'_>) -> Result<(), Error> {
        self.simple_answer(tick, &mut |_, _| Ok(()))?
    }

    /// Receives the answer to a simple query of this client; `take` gets each message but errors and settings. The
    /// inner error is the server's.
    ///
    /// # Errors
    /// The connection is lost, if the server has said why, for that reason; the errors of `take`.
    pub(super) fn simple_answer(&mut self, tick: Tick<'_>, take: TakeMessage<'_>) -> Result<Result<(), Error>, Error> {
        let (mut failed, mut read) = (None, AnswerSize::default());
        loop {
            let next =
                self.incoming.header(tick).and_then(|(kind, len)| Ok((kind, self.incoming.body(kind, len, tick)?)));
            // A fatal error is the last message.
            let (kind, bytes) = next.map_err(|lost| failed.take().unwrap_or(lost))?;
            read.add(bytes.len())?;
            match kind {
                b'S' => self.server.note(&bytes)?,
                b'E' => failed = Some(message::error_response(&bytes)),
                b'Z' => return Ok(failed.map_or(Ok(()), Err)),
                _ => take(kind, &bytes)?,
            }
        }
    }

    /// Reads the byte of ReadyForQuery.
    pub(crate) fn note_status(&mut self, status: u8) {
        self.transaction = match status {
            b'I' => Transaction::None,
            b'E' => Transaction::Failed,
            _ => Transaction::Open,
        };
        self.is_extended &= !self.is_idle();
    }

    /// Whether no transaction is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.transaction == Transaction::None
    }

    /// Sends a whole message.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.incoming.channel().send(bytes).map_err(|error| self.last_error().unwrap_or_else(|| lost(error)))
    }

    /// The error that the server sent before it closed the connection, if it has arrived.
    fn last_error(&mut self) -> Option<Error> {
        let mut left = MOST_LAST_MESSAGES;
        let mut tick = || {
            left -= 1;
            if left > 0 { Ok(()) } else { Err(protocol("no error")) }
        };
        loop {
            let (kind, len) = self.incoming.header(&mut tick).ok()?;
            let bytes = self.incoming.body(kind, len, &mut tick).ok()?;
            if kind == b'E' {
                return Some(message::error_response(&bytes));
            }
        }
    }
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        // Best effort: the server also notices the closed socket. A server that does not read is not waited for.
        self.incoming.socket().set_send_timeout(POLL);
        let _ = self.send(&message::terminate());
    }
}

/// The binding of a login.
fn end_point(channel: &Channel, target: &Target) -> EndPoint {
    match channel.tls() {
        None => EndPoint::Unencrypted,
        Some(_) if target.channel_binding == Binding::Disable => EndPoint::Unknown,
        Some(stream) => {
            let certificate = stream.certificate().and_then(tls::Certificate::parse);
            certificate.and_then(|certificate| certificate.end_point()).map_or(EndPoint::Unknown, EndPoint::Known)
        }
    }
}

fn login(incoming: &mut Incoming, target: &Target, given: Given, tick: Tick<'_>) -> Result<ServerProperties, Error> {
    let mut parameters =
        vec![("user", target.user.as_str()), ("database", &target.database), ("client_encoding", "UTF8")];
    if !target.parameters.iter().any(|(key, _)| key == "application_name") {
        parameters.push(("application_name", "colonnade"));
    }
    parameters.extend(target.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    if target.access == Access::Gateway {
        // The last value of a parameter counts.
        parameters.extend(reports::parameters(given));
    }
    // A server that refuses the connection may have closed it already. Its error can still be read.
    let _ = incoming.channel().send(&message::startup(&parameters));

    let mut server = ServerProperties::default();
    let (mut welcome, mut authentication) =
        (false, Authentication::new(end_point(incoming.channel(), target), incoming.channel().is_certain()));
    loop {
        if !welcome {
            incoming.check_greeting(tick)?;
        }
        let (kind, len) = incoming.header(tick)?;
        let bytes = incoming.body(kind, len, tick)?;
        let mut body = MessageReader(&bytes);
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
            // Notices, and a server's reply about unknown protocol options, of which this client sends none.
            b'N' | b'v' => {}
            b'Z' => return Ok(server),
            _ => return Err(protocol(format!("a message {} during login", shown(kind)))),
        }
    }
}
