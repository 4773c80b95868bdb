//! One logged-in connection, and the server's description of itself.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>,
//! <https://mariadb.com/kb/en/connection/>

use std::time::{Duration, Instant};

use super::incoming::Incoming;
use super::login::{LoggedIn, login};
use super::packet::{Command, Definition, Done, PacketReader, capability, err, protocol};
use super::state;
use super::text_answer::TextAnswer;
use super::uri::{Address, Target};
use super::zone::Ambiguous;
use crate::channel::Channel;
use crate::feed::POLL;
use crate::inbox::AnswerSize;
use crate::shared_connection::{AnswerError, Tick};
use crate::system::{Socket, plain};
use crate::{Access, Error, ErrorKind};

/// The timeout for the server's first message, without `connect_timeout`.
const LOGIN_LIMIT: Duration = Duration::from_secs(60);
/// The most columns of a result: a prepared statement counts them in 16 bits.
const MAX_COLUMNS: usize = u16::MAX as usize;
/// The SQLSTATE of a killed statement, and how often a question is repeated after it.
const INTERRUPTED: &str = "70100";
const ATTEMPTS: usize = 10;
/// The settings of every session: text in UTF-8, and a long timeout for readers that pause.
const SETTINGS: &str = "SET NAMES utf8mb4, net_write_timeout = 3600";
const QUESTION: &str = "SELECT @@version, @@version_comment, CONNECTION_ID()";

/// A connection.
#[derive(Debug)]
pub(super) struct ServerConnection {
    pub(super) incoming: Incoming,
    pub(super) server: ServerProperties,
    /// The server's last status flags.
    pub(super) status: u16,
    /// For a gateway's clients, or for this program.
    pub(super) access: Access,
    /// The session's time zone, if a gateway needs it.
    pub(super) time_zone: Option<String>,
    /// The zone that was asked last for its ambiguous points in time, and these.
    pub(super) ambiguous: Option<(String, Ambiguous)>,
}

/// The server's description of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerProperties {
    /// Its name and version.
    pub(super) software: String,
    /// The number of the connection in KILL.
    pub(super) thread: u64,
    /// The collation of all text that the server sends, unless the session's character set is changed.
    pub(super) collation: u16,
    /// The capabilities of both sides.
    pub(super) capabilities: u64,
}

impl ServerProperties {
    pub(super) fn is_mariadb(&self) -> bool {
        self.software.starts_with("MariaDB")
    }
}

impl ServerConnection {
    /// Connects, logs in and sets up the session.
    ///
    /// # Errors
    /// The server does not answer, refuses, or requests something that this client does not support.
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
            channel.socket().set_timeout(Some(POLL));
            let LoggedIn { incoming, capabilities, status } = login(Incoming::new(channel), target, &mut tick)?;
            let server = ServerProperties { capabilities, ..ServerProperties::default() };
            let access = target.access;
            let mut connection = Self { incoming, server, status, access, time_zone: None, ambiguous: None };
            connection.set_up_session(&mut tick)?;
            Ok(connection)
        });
        opened.map_err(|error| error.with_origin(&target.to_string()))
    }

    /// Sends a command.
    pub(super) fn command(&mut self, command: Command, arguments: &[u8]) -> Result<(), Error> {
        self.incoming.command(&[&[command as u8], arguments].concat())
    }

    /// Records an OK packet or the end of rows.
    pub(super) fn note(&mut self, done: Done) -> Done {
        self.status = done.status;
        done
    }

    /// The columns of a result, after their number.
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
            let end = Done::end(&self.incoming.packet(tick)?, capabilities)?;
            self.note(end);
        }
        Ok(columns)
    }

    /// Runs a statement of this client. Returns its answer.
    pub(super) fn ask(&mut self, sql: &str, tick: Tick<'_>) -> Result<TextAnswer, Error> {
        self.answer(sql, tick).map_err(|end| match end {
            AnswerError::Lost(error) | AnswerError::Refused(error) => error,
        })
    }

    /// The same, with the difference between errors.
    pub(super) fn answer(&mut self, sql: &str, tick: Tick<'_>) -> Result<TextAnswer, AnswerError> {
        self.command(Command::Query, sql.as_bytes())?;
        let first = self.incoming.packet(tick)?;
        let mut answer = TextAnswer::default();
        match first.first() {
            Some(0xff) => return Err(refused(&first)?),
            Some(0) => {
                answer.warnings = self.note(Done::ok(&first)?).warnings;
                return Ok(answer);
            }
            _ => {}
        }
        let count = PacketReader(&first).length()? as usize;
        answer.columns = self.columns(count, tick)?;
        let mut kept = AnswerSize::default();
        loop {
            let packet = self.incoming.packet(tick)?;
            kept.add(packet.len())?;
            match packet.first() {
                Some(0xff) => return Err(refused(&packet)?),
                Some(0xfe) => {
                    answer.warnings = self.note(Done::end(&packet, self.server.capabilities)?).warnings;
                    return Ok(answer);
                }
                _ => {}
            }
            let mut body = PacketReader(&packet);
            let mut row = Vec::new();
            for _ in 0..count {
                row.push(body.text_value()?.map(|value| String::from_utf8_lossy(value).into_owned()));
            }
            answer.rows.push(row);
        }
    }

    /// Runs a statement of this client for its effect.
    pub(super) fn tell(&mut self, sql: &str, tick: Tick<'_>) -> Result<(), Error> {
        self.ask(sql, tick).map(drop)
    }

    /// Checks that the server will read the next statement by the rules that its writer knows.
    ///
    /// # Errors
    /// The settings have changed, or the server does not return them.
    pub(super) fn check_state(&mut self, tick: Tick<'_>) -> Result<(), Error> {
        if self.access == Access::Own {
            return Ok(());
        }
        let mut attempts = 1..=ATTEMPTS;
        let question = state::question();
        let answer = loop {
            match self.ask(&question, tick) {
                // A late KILL for the previous statement.
                Err(error) if error.sqlstate() == Some(INTERRUPTED) && attempts.next().is_some() => {}
                answer => break answer?,
            }
        };
        self.time_zone = Some(state::read(&answer)?);
        Ok(())
    }

    /// Sets the session's settings and reads what the server says of itself.
    fn set_up_session(&mut self, tick: Tick<'_>) -> Result<(), Error> {
        self.tell(SETTINGS, tick)?;
        if self.access == Access::Gateway {
            self.tell(state::MODES, tick)?;
            self.check_state(tick)?;
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

impl Drop for ServerConnection {
    fn drop(&mut self) {
        // Best effort: the server also notices the closed socket. A server that does not read is not waited for.
        self.incoming.socket().set_send_timeout(POLL);
        let _ = self.command(Command::Quit, &[]);
    }
}

/// The error of an ERR packet.
fn refused(packet: &[u8]) -> Result<AnswerError, Error> {
    Ok(match err(packet)? {
        (error, true) => AnswerError::Lost(error),
        (error, false) => AnswerError::Refused(error),
    })
}

fn connect(target: &Target) -> Result<Channel, Error> {
    let socket = match &target.address {
        Address::Unix(path) => Socket::file(path),
        Address::Tcp(host, port) => Socket::tcp(host, *port, target.connect_timeout),
    };
    socket.map(Channel::Plain).map_err(|cause| {
        Error::new(ErrorKind::Connect, format!("cannot connect: {}", plain(&cause)))
            .with_hint("check that the server runs and listens there")
            .with_cause(cause)
    })
}
