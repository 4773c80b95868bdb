//! A connection that one query at a time uses.

use std::sync::{Arc, OnceLock};

use colonnade_wire::{DecodeLimits, RequestedSize};

use super::binary::{self, Reading};
use super::copy_out::{CopyAnswer, CopyOut};
use super::delivery::{Delivery, extension_versions};
use super::message;
use super::parameters::{self, takes_values};
use super::request::{self, CopiedQuery, Request, ResultMode};
use super::server_connection::ServerConnection;
use super::servers;
use super::session::{Postgres, PostgresConnection};
use super::simple::{self, AnswerMode, Copying};
use super::state::{checked, checked_begin};
use super::target::Conninfo;
use crate::partition::{PartSupport, Spooling};
use crate::rows::RowStream;
use crate::shared_connection::{self, AnswerOutcome, Event, SharedConnection, Started, Tick};
use crate::write::Writing;
use crate::{
    Answer, Cancel, Connection, ContinueCheck, Dialect, EncoderKind, Error, ErrorKind, ExtensionVersions, Pool,
    QueryOptions, ResultStream, SchemaCheck, Statement, StatementDescription, StreamFormat, Transaction, Transport,
};

/// Connects and logs in. How PostgreSQL delivers results is found out with the first statement, if it does not announce
/// it.
///
/// # Errors
/// The server does not answer, or refuses.
pub fn connect(conninfo: impl Into<Conninfo>, keep: ContinueCheck<'_>) -> Result<PostgresConnection, Error> {
    let conninfo = conninfo.into();
    let name = conninfo.targets.first().map_or_else(String::new, ToString::to_string);
    let connection = shared_connection::connect(&name, keep, move || servers::open(&conninfo))?;
    let (server, route) = (connection.server.clone(), connection.route.clone());
    let (name, delivery) = (route.target.to_string(), server.delivery.clone());
    let software = Delivery::Stock.software(&server.version);
    let peer = Postgres { route, server, software, found: OnceLock::new() };
    let session = SharedConnection::new(name, peer, connection)?;
    let connection = PostgresConnection { session, pool: Pool::default() };
    delivery.into_iter().for_each(|delivery| connection.note(delivery));
    Ok(connection)
}

impl Connection for PostgresConnection {
    fn query(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        match self.answer(&Request { statement, options, wanted: ResultMode::Rows }, keep)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Done(_) => Err(Error::no_rows()),
        }
    }

    fn query_checked(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        check: SchemaCheck,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        // A statement without columns is refused by `query` before it runs.
        if let Some(schema) = self.describe(statement.sql, &[], options, keep)?.and_then(|found| found.schema) {
            check(&schema)?;
            return self.query(statement, options, keep);
        }
        let rows = self.query(statement, options, keep)?;
        check(rows.schema())?;
        Ok(rows)
    }

    fn execute(&self, statement: Statement<'_>, keep: ContinueCheck<'_>) -> Result<Option<u64>, Error> {
        // Within a transaction of the user, the question for the extension could fail and abort it.
        let is_served = matches!(self.delivery(keep)?, Delivery::Served(_));
        if !is_served && statement.parameters.is_some() && takes_values(statement.sql) {
            let bound = parameters::bound(statement)?;
            let reader = self.session.begin(keep, |connection, tick, _: &mut dyn FnMut(())| {
                checked(connection, |connection| binary::execute(connection, tick, &bound)).map(Started::Ended)
            });
            let finished = reader.and_then(|reader| reader.finish(keep));
            return finished.map_err(|error| error.with_sent(&bound.sql));
        }
        let sql = statement.with_literals(self.literals(statement)?)?;
        let query = message::query(&sql)?;
        let reader = self.session.begin(keep, |connection, tick, _: &mut dyn FnMut(())| {
            checked(connection, |connection| simple::answer(connection, tick, AnswerMode::Execute, &query))
                .map(Started::Ended)
        });
        reader.and_then(|reader| reader.finish(keep)).map_err(|error| error.with_sent(&sql))
    }

    fn run(&self, statement: Statement<'_>, options: &QueryOptions, keep: ContinueCheck<'_>) -> Result<Answer, Error> {
        self.answer(&Request { statement, options, wanted: ResultMode::Any }, keep)
    }

    fn describe(
        &self,
        sql: &str,
        types: &[u32],
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Option<StatementDescription>, Error> {
        if let Delivery::Served(_) = self.delivery(keep)? {
            return Ok(None);
        }
        let sql = request::plain(sql, options)?.to_owned();
        let (types, options, sent) = (types.to_vec(), options.clone(), sql.clone());
        let described = self.question(keep, move |connection, tick, tell| {
            binary::describe(connection, tick, &sent, &types, &options, tell)
        });
        described.map_err(|error| error.with_sent(&sql))
    }

    fn transaction(&self) -> Option<Transaction> {
        self.session.look(|connection| connection.transaction)
    }

    fn time_zone(&self) -> Option<String> {
        self.session.look(|connection| connection.server.reports.time_zone().map(str::to_owned)).flatten()
    }

    fn transport(&self) -> Option<Transport> {
        self.session.look(|connection| connection.incoming.transport())
    }

    fn stream_format(&self) -> Option<StreamFormat> {
        match *self.known_delivery()? {
            Delivery::Served(version) => Some(StreamFormat { version, encoder: EncoderKind::Server }),
            Delivery::Extension { format, .. } => {
                Some(StreamFormat { version: format, encoder: EncoderKind::Extension })
            }
            Delivery::Stock => None,
        }
    }

    fn extension(&self, keep: ContinueCheck<'_>) -> Result<Option<ExtensionVersions>, Error> {
        if let Delivery::Served(_) = self.delivery(keep)? {
            return Ok(None);
        }
        self.question(keep, |connection, tick, tell| {
            Ok(extension_versions(connection, tick)?.map(|versions| {
                tell(versions);
                None
            }))
        })
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        self.session.clone()
    }

    fn partitioning(&self) -> PartSupport<'_> {
        // Its engine uses all cores for one stream.
        if self.is_served() { PartSupport::OneStream } else { PartSupport::Parts(self) }
    }

    fn spooling(&self) -> Option<&dyn Spooling> {
        self.is_served().then_some(self as &dyn Spooling)
    }

    fn writing(&self) -> Result<&dyn Writing, Error> {
        Ok(self)
    }

    fn dialect(&self) -> Dialect {
        // The source behind a Colonnade server may change how it reads literals. The server then reports the new
        // dialect.
        self.session
            .look(|connection| connection.server.dialect())
            .unwrap_or_else(|| self.session.peer.server.dialect())
    }

    fn name(&self) -> &str {
        self.session.name()
    }

    fn address(&self) -> Option<&str> {
        Some(&self.session.peer.route.target.shareable)
    }

    fn server(&self) -> &str {
        let Postgres { found, software, .. } = &self.session.peer;
        found.get().map_or(software, |(_, software)| software)
    }

    fn identify(&self, keep: ContinueCheck<'_>) -> Result<(), Error> {
        self.delivery(keep).map(drop)
    }

    fn is_open(&self) -> bool {
        self.session.is_open()
    }

    fn close(&self) {
        self.session.close();
    }
}

impl PostgresConnection {
    /// Runs a statement in the way in which the server delivers its result.
    fn answer(&self, request: &Request<'_>, keep: ContinueCheck<'_>) -> Result<Answer, Error> {
        if self.known_delivery().is_none()
            && let Some(answer) = self.first(request, keep)?
        {
            return Ok(answer);
        }
        let (is_served, is_copied) = match self.delivery(keep)? {
            Delivery::Served(_) => (true, true),
            Delivery::Extension { .. } => (false, request.is_copied()),
            Delivery::Stock => (false, false),
        };
        if !is_copied {
            let reading = self.reading(request)?;
            let reader = self.session.begin(keep, move |connection, tick, tell| {
                checked_begin(connection, |connection| reading.begin(connection, tick, tell))
            })?;
            return RowStream::<_, binary::Decoder>::answer(reader, request.options, keep);
        }
        let query = CopiedQuery::new(request.statement, self.literals(request.statement)?)?;
        // COPY refuses a statement without rows; others have to be told apart before they run.
        let may_have_none = is_served && request.wanted == ResultMode::Any && !request::is_read(&query.sql);
        if may_have_none && self.column_types(query.text(), keep)?.is_none() {
            return self.execute(query.sql.as_ref().into(), keep).map(Answer::Done);
        }
        let copy = query.copy(request.options)?;
        // `colonnade serve` cannot describe every query that it can run.
        let are_told = request.options.type_names && !is_served;
        let types = if are_told { self.column_types(query.text(), keep)?.unwrap_or_default() } else { Vec::new() };
        let copied = self.copied(&copy, CopyAnswer::Stream { types: &types }, request.options, keep);
        copied.map(Answer::Rows).map_err(|error| query.error(error))
    }

    /// Starts a COPY that sends streams.
    pub(super) fn copied(
        &self,
        copy: &str,
        answer: CopyAnswer<'_>,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        let (copying, asked, limits) = self.copying(copy, self.known_delivery(), options)?;
        let reader = self.session.begin(keep, move |connection, tick, tell| {
            checked_begin(connection, |connection| copying.begin(connection, tick, tell))
        })?;
        Ok(Box::new(CopyOut::open(reader, asked, limits, answer, keep)?))
    }

    /// A COPY that sends streams, and what they may be.
    pub(super) fn copying(
        &self,
        copy: &str,
        delivery: Option<&Delivery>,
        options: &QueryOptions,
    ) -> Result<(Copying, RequestedSize, DecodeLimits), Error> {
        let (asked, limits) = (request::chunks(options), request::limits(options));
        let again = delivery.and_then(|delivery| delivery.reload(copy));
        let again = again.map(|both| message::query(&both)).transpose()?;
        let (query, pool) = (message::query(copy)?, self.pool.clone());
        Ok((Copying { query, again, pool, asked, limit: limits.message_bytes }, asked, limits))
    }

    /// A statement for the extended query protocol.
    pub(super) fn reading(&self, request: &Request<'_>) -> Result<Reading, Error> {
        let (statement, options) = (request.bound()?, request.options.clone());
        Ok(Reading { statement, options, wanted: request.wanted, pool: self.pool.clone() })
    }

    /// Asks the server for the numbers of the types of a statement's columns; `None` if it gives no rows. It does not
    /// run.
    fn column_types(&self, sql: &str, keep: ContinueCheck<'_>) -> Result<Option<Vec<u32>>, Error> {
        let sent = sql.to_owned();
        let found = self
            .question(keep, move |connection, tick, tell| binary::column_types(connection, tick, &sent, tell))
            .map_err(|error| error.with_sent(sql))?;
        Ok(found.flatten())
    }

    /// Asks the server something about a statement.
    fn question<T: Send + 'static>(
        &self,
        keep: ContinueCheck<'_>,
        ask: impl FnOnce(&mut ServerConnection, Tick<'_>, &mut dyn FnMut(T)) -> AnswerOutcome + Send + 'static,
    ) -> Result<Option<T>, Error> {
        let mut reader = self.session.begin(keep, |connection, tick, tell| {
            checked(connection, |connection| ask(connection, tick, tell)).map(Started::Ended)
        })?;
        let mut found = None;
        while let Some(event) = reader.next(keep)? {
            if let Event::Part(answer) = event {
                found = Some(answer);
            }
        }
        Ok(found)
    }

    /// The dialect of the literals in a statement.
    ///
    /// # Errors
    /// The session's encoding differs from the statement's, so a byte of a value could end a literal.
    pub(super) fn literals(&self, statement: Statement<'_>) -> Result<Dialect, Error> {
        let reads_utf8 = self.session.look(|connection| connection.server.sends_utf8()) != Some(false);
        if statement.parameters.is_none() || reads_utf8 {
            return Ok(self.dialect());
        }
        let message = "the session's client_encoding is not UTF8, so values cannot be written into a statement";
        let error = Error::new(ErrorKind::Usage, message).with_hint("reset it: RESET client_encoding");
        Err(error.with_origin(self.name()))
    }
}
