//! One logged-in connection and what the server said of itself.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>,
//! <https://mariadb.com/kb/en/connection/>

use std::time::{Duration, Instant};

use super::auth::{Plugin, Way};
use super::encryption::Mode;
use super::incoming::Incoming;
use super::packet::{Body, Command, Definition, Done, capability, err, protocol, put_counted};
use super::state;
use super::uri::{Address, Target};
use crate::channel::Channel;
use crate::channel::lost;
use crate::feed::POLL;
use crate::inbox::Kept;
use crate::session::Tick;
use crate::socket::{Socket, plain};
use crate::{Access, Error, ErrorKind};

/// Without `connect_timeout`, a server that accepts the connection has this long to say something.
const LOGIN_LIMIT: Duration = Duration::from_secs(60);
/// The version of the handshake since MySQL 3.21.
const HANDSHAKE: u8 = 10;
/// `utf8mb4_general_ci`, until the session has its own.
const UTF8MB4: u8 = 45;
/// Bytes of a command at most.
const MAX_COMMAND: u32 = 1 << 30;
/// Columns of a result at most: a prepared statement counts them in 16 bits.
const MAX_COLUMNS: usize = u16::MAX as usize;
/// What every session has: text in UTF-8, timestamps in UTC, and a server that waits for a reader who pauses.
const SETTINGS: &str = "SET NAMES utf8mb4, time_zone = '+00:00', net_write_timeout = 3600";
const QUESTION: &str = "SELECT @@version, @@version_comment, CONNECTION_ID()";

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) incoming: Incoming,
    pub(super) server: Server,
    /// What the server last said of its state.
    pub(super) status: u16,
    /// On whose behalf.
    pub(super) access: Access,
    /// The session's time zone, if a gateway is told of it.
    pub(super) time_zone: Option<String>,
}

/// What the server said of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    /// Its name and version.
    pub(super) software: String,
    /// What KILL calls the connection.
    pub(super) thread: u64,
    /// The collation of all text that it sends, unless somebody changes the session's character set.
    pub(super) collation: u16,
    /// What both sides can do.
    pub(super) capabilities: u64,
}

/// The first packet of a server.
struct Greeting {
    capabilities: u64,
    scramble: Vec<u8>,
    plugin: Vec<u8>,
}

/// An answer in text.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) columns: Vec<Definition>,
    /// `None` is NULL.
    pub(super) rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    /// The value in a row and a column.
    pub(super) fn text(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.get(row)?.get(column)?.as_deref()
    }
}

impl Link {
    /// Connects, logs in and settles the session.
    ///
    /// # Errors
    /// Nobody answers, the server refuses, or it asks for what this client cannot give.
    pub(super) fn open(target: &Target) -> Result<Self, Error> {
        let deadline = Instant::now() + target.connect_timeout.unwrap_or(LOGIN_LIMIT);
        let mut tick = || {
            if Instant::now() < deadline {
                return Ok(());
            }
            Err(Error::new(ErrorKind::Connect, "the server accepted the connection but did not answer in time")
                .with_hint("check that it is a MySQL or MariaDB server"))
        };
        let opened = connect(target).and_then(|channel| {
            channel.socket().set_timeout(Some(POLL)).map_err(lost)?;
            let mut link = login(Incoming::new(channel), target, &mut tick)?;
            link.settle(&mut tick)?;
            Ok(link)
        });
        opened.map_err(|error| error.with_origin(&target.to_string()))
    }

    /// Sends a command.
    pub(super) fn command(&mut self, command: Command, arguments: &[u8]) -> Result<(), Error> {
        self.incoming.command(&[&[command as u8], arguments].concat())
    }

    /// Says that an OK packet or the end of rows has come.
    pub(super) fn note(&mut self, done: Done) -> Done {
        self.status = done.status;
        done
    }

    /// The columns of a result, whose number has come.
    pub(super) fn columns(&mut self, count: usize, tick: Tick<'_>) -> Result<Vec<Definition>, Error> {
        let capabilities = self.server.capabilities;
        if count > MAX_COLUMNS {
            return Err(protocol(format!("a result of {count} columns")));
        }
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push(Definition::read(&self.incoming.packet(tick)?, capabilities)?);
        }
        if count > 0 && capabilities & capability::DEPRECATE_EOF == 0 {
            self.incoming.packet(tick)?;
        }
        Ok(columns)
    }

    /// Runs a statement of this client's own; gives its answer.
    pub(super) fn ask(&mut self, sql: &str, tick: Tick<'_>) -> Result<Answer, Error> {
        self.command(Command::Query, sql.as_bytes())?;
        let first = self.incoming.packet(tick)?;
        let mut answer = Answer::default();
        match first.first() {
            Some(0xff) => return Err(err(&first)?.0),
            Some(0) => {
                self.note(Done::ok(&first)?);
                return Ok(answer);
            }
            _ => {}
        }
        let count = Body(&first).length()? as usize;
        answer.columns = self.columns(count, tick)?;
        let mut kept = Kept::default();
        loop {
            let packet = self.incoming.packet(tick)?;
            kept.add(packet.len())?;
            match packet.first() {
                Some(0xff) => return Err(err(&packet)?.0),
                Some(0xfe) => {
                    self.note(Done::end(&packet, self.server.capabilities)?);
                    return Ok(answer);
                }
                _ => {}
            }
            let mut body = Body(&packet);
            let mut row = Vec::new();
            for _ in 0..count {
                row.push(body.text_value()?.map(|value| String::from_utf8_lossy(value).into_owned()));
            }
            answer.rows.push(row);
        }
    }

    /// The only value of an answer.
    pub(super) fn ask_one(&mut self, sql: &str, tick: Tick<'_>) -> Result<String, Error> {
        let answer = self.ask(sql, tick)?;
        answer.rows.into_iter().flatten().next().flatten().ok_or_else(|| protocol("an answer without a value"))
    }

    /// Runs a statement of this client's own for its effect.
    pub(super) fn tell(&mut self, sql: &str, tick: Tick<'_>) -> Result<(), Error> {
        self.ask(sql, tick).map(drop)
    }

    fn settle(&mut self, tick: Tick<'_>) -> Result<(), Error> {
        self.tell(SETTINGS, tick)?;
        if self.access == Access::Gateway {
            self.tell(state::MODES, tick)?;
            state::check(self, tick)?;
        }
        let answer = self.ask(QUESTION, tick)?;
        let mut values = answer.rows.into_iter().flatten().flatten();
        let (Some(version), Some(comment), Some(thread), [first, ..]) =
            (values.next(), values.next(), values.next(), &*answer.columns)
        else {
            return Err(protocol("an answer without its values"));
        };
        self.server.collation = first.collation;
        self.server.thread = thread.parse().map_err(|_| protocol("a connection's number that is none"))?;
        let number = version.split('-').next().unwrap_or_default();
        let family = if format!("{version}{comment}").to_lowercase().contains("mariadb") { "MariaDB" } else { "MySQL" };
        self.server.software = format!("{family} {number}");
        Ok(())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Best effort: the server notices the closed socket too, and one that reads nothing is not waited for.
        let _ = self.incoming.socket().set_send_timeout(POLL);
        let _ = self.command(Command::Quit, &[]);
    }
}

fn connect(target: &Target) -> Result<Channel, Error> {
    let socket = match &target.address {
        Address::Unix(path) => Socket::unix(path),
        Address::Tcp(host, port) => Socket::tcp(host, *port, target.connect_timeout),
    };
    socket.map(Channel::Plain).map_err(|cause| {
        Error::new(ErrorKind::Connect, format!("cannot connect: {}", plain(&cause)))
            .with_hint("check that the server runs and listens there")
            .with_cause(cause)
    })
}

impl Greeting {
    fn read(packet: &[u8]) -> Result<Self, Error> {
        let stranger = || {
            Error::new(ErrorKind::Protocol, "whatever listens there does not speak MySQL's protocol")
                .with_hint("check the port")
        };
        match packet.first() {
            Some(&HANDSHAKE) => {}
            Some(0xff) => return Err(err(packet)?.0),
            _ => return Err(stranger()),
        }
        let read = || -> Result<Self, Error> {
            let mut body = Body(packet.get(1..).unwrap_or_default());
            let _version = body.until_nul();
            let _thread = body.u32()?;
            let mut scramble = body.bytes(8)?.to_vec();
            let _filler = body.u8()?;
            let mut capabilities = u64::from(body.u16()?);
            let (_collation, _status) = (body.u8()?, body.u16()?);
            capabilities |= u64::from(body.u16()?) << 16;
            let length = usize::from(body.u8()?);
            let _reserved = body.bytes(6)?;
            let extended = u64::from(body.u32()?);
            if capabilities & capability::LONG_PASSWORD == 0 {
                capabilities |= extended << 32;
            }
            scramble.extend_from_slice(body.bytes(length.saturating_sub(8).max(13).min(body.0.len()))?);
            Ok(Self { capabilities, scramble, plugin: body.until_nul().to_vec() })
        };
        let greeting = read().map_err(|_| stranger())?;
        let needed = capability::PROTOCOL_41 | capability::SECURE_CONNECTION | capability::PLUGIN_AUTH;
        if greeting.capabilities & needed != needed {
            return Err(Error::new(ErrorKind::Unsupported, "the server is older than MySQL 5.5.7"));
        }
        Ok(greeting)
    }

    /// What both sides can do.
    fn agree(&self, target: &Target) -> u64 {
        let mut wanted = capability::LONG_PASSWORD
            | capability::LONG_FLAG
            | capability::PROTOCOL_41
            | capability::TRANSACTIONS
            | capability::SECURE_CONNECTION
            | capability::MULTI_RESULTS
            | capability::PS_MULTI_RESULTS
            | capability::PLUGIN_AUTH
            | capability::CONNECT_ATTRS
            | capability::LENENC_AUTH
            | capability::DEPRECATE_EOF
            | capability::EXTENDED_TYPES;
        if !target.database.is_empty() {
            wanted |= capability::CONNECT_WITH_DB;
        }
        wanted & self.capabilities
    }
}

/// SSLRequest, and the beginning of HandshakeResponse41.
fn response_head(capabilities: u64) -> Vec<u8> {
    let mut head = (capabilities as u32).to_le_bytes().to_vec();
    head.extend_from_slice(&MAX_COMMAND.to_le_bytes());
    head.push(UTF8MB4);
    head.extend_from_slice(&[0; 19]);
    head.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
    head
}

fn login(mut incoming: Incoming, target: &Target, tick: Tick<'_>) -> Result<Link, Error> {
    let greeting = Greeting::read(&incoming.packet(tick)?)?;
    let mut capabilities = greeting.agree(target);
    let mode = target.encryption.mode();
    // A unix socket stays within the machine.
    let (host, local) = match &target.address {
        Address::Unix(..) => ("localhost", true),
        Address::Tcp(host, _) => (host.as_str(), false),
    };
    let offered = greeting.capabilities & capability::SSL != 0;
    let encrypted = mode >= Mode::Required || mode == Mode::Preferred && offered && !local;
    if encrypted {
        if !offered {
            return Err(Error::new(ErrorKind::Connect, "the server does not offer TLS")
                .with_hint("give the server a certificate, or ask for less with ssl-mode=PREFERRED"));
        }
        capabilities |= capability::SSL;
        let config = target.encryption.config()?;
        incoming.reply(&response_head(capabilities))?;
        incoming = incoming.encrypted(&config, host, tick)?;
    }
    let way = match incoming.channel() {
        channel if channel.is_certain() => Way::Certain,
        Channel::Tls(_) => Way::Encrypted,
        Channel::Plain(_) => Way::Open,
    };
    let required = &target.require_auth;

    // A plugin that this client does not know may be the server's default, but not the user's.
    let mut plugin = Plugin::named(&greeting.plugin).unwrap_or(Plugin::Native);
    if plugin == Plugin::Sha256 {
        plugin = Plugin::CachingSha2;
    }
    // Nor is one that the user excludes answered; the server may then switch to another.
    let opening = plugin.permitted(required).is_ok();
    let mut response = response_head(capabilities);
    response.extend_from_slice(target.user.as_bytes());
    response.push(0);
    let answer = match opening {
        true => plugin.answer(&target.password, &greeting.scramble, way, required)?,
        false => Vec::new(),
    };
    if capabilities & capability::LENENC_AUTH != 0 {
        put_counted(&mut response, &answer);
    } else {
        // None of the first answers is as long as 256 bytes.
        response.push(answer.len() as u8);
        response.extend_from_slice(&answer);
    }
    if capabilities & capability::CONNECT_WITH_DB != 0 {
        response.extend_from_slice(target.database.as_bytes());
        response.push(0);
    }
    response.extend_from_slice(plugin.name().as_bytes());
    response.push(0);
    if capabilities & capability::CONNECT_ATTRS != 0 {
        let mut attributes = Vec::new();
        for text in ["_client_name", "colonnade", "program_name", "colonnade"] {
            put_counted(&mut attributes, text.as_bytes());
        }
        put_counted(&mut response, &attributes);
    }
    incoming.reply(&response)?;

    loop {
        let packet = incoming.packet(tick)?;
        match packet.split_first() {
            Some((0x00, _)) => {
                // A server that is content with whatever was answered has used that plugin.
                plugin.permitted(required)?;
                let server = Server { capabilities, ..Server::default() };
                let status = Done::ok(&packet)?.status;
                return Ok(Link { incoming, server, status, access: target.access, time_zone: None });
            }
            Some((0xff, _)) => return Err(err(&packet)?.0),
            // AuthSwitchRequest; without a name it asks for a proof that MySQL 4.1 has replaced.
            Some((0xfe, rest)) if !rest.is_empty() => {
                let mut body = Body(rest);
                plugin = Plugin::named(body.until_nul())?.permitted(required)?;
                let scramble = body.0.strip_suffix(b"\0").unwrap_or(body.0);
                incoming.reply(&plugin.answer(&target.password, scramble, way, required)?)?;
            }
            Some((0x01, said)) => {
                plugin.permitted(required)?;
                if let Some(answer) = plugin.go_on(said, &target.password, way, required)? {
                    incoming.reply(&answer)?;
                }
            }
            _ => return Err(protocol("something that no login has")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn others_are_recognised() {
        for other in [&b""[..], b"SSH-2.0", b"\x0a", b"\x0a5.5.7\0\x01"] {
            assert!(Greeting::read(other).is_err_and(|error| error.message().contains("does not speak")));
        }
        let refused = Greeting::read(b"\xff\x10\x04Too many connections").err().unwrap();
        assert_eq!(refused.message(), "Too many connections");
    }

    proptest! {
        #[test]
        fn an_arbitrary_greeting_is_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Greeting::read(&bytes);
            if let Some(first) = bytes.first_mut() {
                *first = HANDSHAKE;
            }
            let _ = Greeting::read(&bytes);
        }
    }
}
