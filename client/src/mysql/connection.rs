//! A connection that one query at a time uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use super::answer::{self, ResultMode};
use super::decoder::Decoder;
use super::incoming::Block;
use super::kind::ColumnDescription;
use super::packet::status;
use super::parameters::BoundStatement;
use super::server_connection::{ServerConnection, ServerProperties};
use super::uri::Target;
use crate::partition::PartSupport;
use crate::rows::{Part, RowStream};
use crate::shared_connection::{self, EventReader, Peer, SharedConnection};
use crate::system::Socket;
use crate::{
    Access, Answer, Cancel, Connection, ContinueCheck, Dialect, Error, ErrorKind, Login, Pool, QueryOptions,
    ResultStream, SchemaCheck, Statement, Transaction, Transport, Writing,
};

/// How long a server may take to process a cancel request.
const CANCEL_LIMIT: Duration = Duration::from_secs(5);

/// A connection to a MySQL or MariaDB server.
pub struct MysqlConnection {
    pub(super) session: Arc<SharedConnection<Mysql>>,
    pool: Pool,
    /// The server's last status flags.
    pub(super) status: Arc<AtomicU16>,
}

/// The server of the connection.
pub(super) struct Mysql {
    pub(super) target: Target,
    server: ServerProperties,
}

/// Connects to the server that a `mysql://` or `mariadb://` URI names, and logs in. Sessions have text in UTF-8.
///
/// # Errors
/// The URI is wrong, the server does not answer, or it refuses.
pub fn connect(uri: &str, keep: ContinueCheck<'_>) -> Result<MysqlConnection, Error> {
    connect_for(Access::Own, uri, keep)
}

/// The same for a gateway's clients, or for this program.
///
/// # Errors
/// As for [`connect`].
pub fn connect_for(access: Access, uri: &str, keep: ContinueCheck<'_>) -> Result<MysqlConnection, Error> {
    connect_with(access, uri, &Login::default(), keep)
}

/// The same as a user who is named outside of the URI.
///
/// # Errors
/// As for [`connect`].
pub(crate) fn connect_with(
    access: Access,
    uri: &str,
    login: &Login,
    keep: ContinueCheck<'_>,
) -> Result<MysqlConnection, Error> {
    open(Target { access, ..Target::parse(uri, login)? }, keep)
}

/// The same for a parsed target.
pub(super) fn open(target: Target, keep: ContinueCheck<'_>) -> Result<MysqlConnection, Error> {
    let name = target.to_string();
    let place = target.clone();
    let connection = shared_connection::connect(&name, keep, move || ServerConnection::open(&place))?;
    let (server, status) = (connection.server.clone(), connection.status);
    let session = SharedConnection::new(name, Mysql { target, server }, connection)?;
    Ok(MysqlConnection { session, pool: Pool::default(), status: Arc::new(AtomicU16::new(status)) })
}

impl Peer for Mysql {
    type ServerConnection = ServerConnection;

    /// Sends KILL QUERY, which needs another connection.
    fn cancel(&self) -> Result<(), Error> {
        let timeout = self.target.connect_timeout.unwrap_or(CANCEL_LIMIT).min(CANCEL_LIMIT);
        let mut connection = ServerConnection::open(&Target { connect_timeout: Some(timeout), ..self.target.clone() })?;
        connection.tell(&format!("KILL QUERY {}", self.server.thread), &mut limit())
    }

    /// A KILL QUERY that arrives late stops this statement, which does nothing.
    fn absorb_late_cancel(&self, connection: &mut ServerConnection) -> Result<(), Error> {
        match connection.tell("DO 0", &mut limit()) {
            Err(error) if error.kind() != ErrorKind::Database => Err(error),
            _ => Ok(()),
        }
    }

    fn socket(connection: &ServerConnection) -> &Socket {
        connection.incoming.socket()
    }

    fn received(connection: &ServerConnection) -> u64 {
        connection.incoming.received()
    }
}

impl Connection for MysqlConnection {
    fn query(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        Ok(Box::new(RowStream::<_, Decoder>::open(
            self.prepared(statement, options, ResultMode::Rows(None), keep)?,
            options,
            keep,
        )?))
    }

    fn query_checked(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        check: SchemaCheck,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        let reader = self.prepared(statement, options, ResultMode::Rows(Some(check)), keep)?;
        Ok(Box::new(RowStream::<_, Decoder>::open(reader, options, keep)?))
    }

    fn run(&self, statement: Statement<'_>, options: &QueryOptions, keep: ContinueCheck<'_>) -> Result<Answer, Error> {
        RowStream::<_, Decoder>::answer(self.prepared(statement, options, ResultMode::Any, keep)?, options, keep)
    }

    fn time_zone(&self) -> Option<String> {
        self.session.look(|connection| connection.time_zone.clone()).flatten()
    }

    fn transport(&self) -> Option<Transport> {
        self.session.look(|connection| connection.incoming.channel().transport())
    }

    fn transaction(&self) -> Option<Transaction> {
        let status = self.session.look(|connection| connection.status)?;
        Some(if status & status::IN_TRANSACTION == 0 { Transaction::None } else { Transaction::Open })
    }

    fn execute(&self, statement: Statement<'_>, keep: ContinueCheck<'_>) -> Result<Option<u64>, Error> {
        if statement.parameters.is_none() {
            return self.start(statement.sql, keep)?.finish(keep);
        }
        let bound = BoundStatement::new(statement, self.dialect())?;
        let literals = statement.with_literals(self.dialect())?.into_owned();
        let reader = self.session.start(keep, {
            let status = self.status.clone();
            move |connection, tick, _: &mut dyn FnMut(())| {
                let outcome = answer::execute_bound(connection, tick, &bound, &literals)?;
                connection.check_state(tick)?;
                status.store(connection.status, Ordering::Release);
                Ok(outcome)
            }
        })?;
        reader.finish(keep)
    }

    fn writing(&self) -> Result<&dyn Writing, Error> {
        Ok(self)
    }

    fn partitioning(&self) -> PartSupport<'_> {
        PartSupport::Parts(self)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        self.session.clone()
    }

    fn dialect(&self) -> Dialect {
        Dialect::MySql { backslashes: self.status.load(Ordering::Acquire) & status::NO_BACKSLASH_ESCAPES == 0 }
    }

    fn name(&self) -> &str {
        self.session.name()
    }

    fn server(&self) -> &str {
        &self.session.peer.server.software
    }

    fn is_open(&self) -> bool {
        self.session.is_open()
    }

    fn close(&self) {
        self.session.close();
    }
}

impl MysqlConnection {
    /// Starts a prepared statement.
    fn prepared(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        wanted: ResultMode,
        keep: ContinueCheck<'_>,
    ) -> Result<EventReader<Mysql, Part<ColumnDescription, Block>>, Error> {
        check(options)?;
        let (bound, chosen) = (BoundStatement::new(statement, self.dialect())?, options.clone());
        let (pool, status) = (self.pool.clone(), self.status.clone());
        self.session.start(keep, move |connection, tick, tell| {
            let outcome = answer::rows(connection, &pool, tick, &bound, &chosen, wanted, tell)?;
            connection.check_state(tick)?;
            status.store(connection.status, Ordering::Release);
            Ok(outcome)
        })
    }

    /// Sends a statement that is run for its effect, and does not wait for its end.
    pub(super) fn start(&self, sql: &str, keep: ContinueCheck<'_>) -> Result<EventReader<Mysql, ()>, Error> {
        let (statement, status) = (sql.to_owned(), self.status.clone());
        self.session.start(keep, move |connection, tick, _: &mut dyn FnMut(())| {
            let outcome = answer::execute(connection, tick, &statement)?;
            connection.check_state(tick)?;
            status.store(connection.status, Ordering::Release);
            Ok(outcome)
        })
    }
}

impl Drop for MysqlConnection {
    fn drop(&mut self) {
        self.session.retire();
    }
}

/// A tick that ends a wait of more than the limit.
fn limit() -> impl FnMut() -> Result<(), Error> {
    let deadline = Instant::now() + CANCEL_LIMIT;
    move || {
        if Instant::now() < deadline {
            return Ok(());
        }
        Err(Error::new(ErrorKind::ConnectionLost, "the server did not answer in time"))
    }
}

fn check(options: &QueryOptions) -> Result<(), Error> {
    options.refuse_for_plain_source(true)?;
    let sizes = [
        ("chunk_rows", options.chunk_rows.map(u64::from)),
        ("chunk_bytes", options.chunk_bytes),
        ("max_message_bytes", options.max_message_bytes),
    ];
    match sizes.into_iter().find(|(_, size)| *size == Some(0)) {
        Some((name, _)) => Err(Error::new(ErrorKind::Usage, format!("{name} must be at least 1"))),
        None => Ok(()),
    }
}
