//! A connection that one query at a time uses.

use std::sync::Arc;

use super::binary::{self, Wanted};
use super::cancel;
use super::copy_out::CopyOut;
use super::delivery::Delivery;
use super::link::{Link, Server};
use super::message;
use super::request;
use super::route::Route;
use super::servers;
use super::simple::{self, Job};
use super::target::Conninfo;
use crate::partition::Offer;
use crate::rows::Rows;
use crate::session::{self, Event, Peer, Reader, Session};
use crate::socket::Socket;
use crate::{
    Answer, Cancel, Connection, Described, Dialect, Error, ErrorKind, Keep, Pool, QueryOptions, ResultStream,
    Transaction,
};

/// A connection to a server that speaks the Colonnade format, or to a PostgreSQL as it is.
pub struct PostgresConnection {
    pub(super) session: Arc<Session<Postgres>>,
    pool: Pool,
}

/// The other end.
pub(crate) struct Postgres {
    /// The way that a cancel request takes.
    pub(super) route: Arc<Route>,
    server: Server,
    /// The server's software and version.
    software: String,
}

/// Connects, logs in, and learns how the server delivers, which it either says itself or is asked once.
///
/// # Errors
/// Nobody answers, or the server refuses.
pub fn connect(conninfo: impl Into<Conninfo>, keep: Keep<'_>) -> Result<PostgresConnection, Error> {
    let conninfo = conninfo.into();
    let name = conninfo.targets.first().map_or_else(String::new, ToString::to_string);
    let link = session::connect(&name, keep, move || servers::open(&conninfo))?;
    let (server, route) = (link.server.clone(), link.route.clone());
    let (name, software) = (route.target.to_string(), server.delivery.software(&server.version));
    let session = Session::new(name, Postgres { route, server, software }, link)?;
    Ok(PostgresConnection { session, pool: Pool::default() })
}

impl Peer for Postgres {
    type Link = Link;

    fn cancel(&self) -> Result<(), Error> {
        cancel::request(&self.route, self.server.key)
    }

    fn socket(link: &Link) -> &Socket {
        link.incoming.socket()
    }

    fn received(link: &Link) -> u64 {
        link.incoming.received()
    }
}

impl Connection for PostgresConnection {
    fn query(&self, sql: &str, options: &QueryOptions, keep: Keep<'_>) -> Result<Box<dyn ResultStream>, Error> {
        let (pool, delivery) = (self.pool.clone(), self.delivery());
        if *delivery == Delivery::Stock {
            let reader = self.binary(sql, options, Wanted::Rows, keep)?;
            return Ok(Box::new(Rows::<_, binary::Decoder>::open(reader, options, keep)?));
        }
        let copy = request::copy(sql, options, self.dialect())?;
        let (asked, limits) = (request::chunks(options), request::limits(options));
        let again = delivery.reload(&copy).map(|both| message::query(&both)).transpose()?;
        let query = message::query(&copy)?;
        let reader = self.session.start(keep, move |link, tick, tell| {
            simple::answer(
                link,
                tick,
                Job::Copy { pool: &pool, asked, limit: limits.message_bytes, tell },
                &query,
                again.as_deref(),
            )
        })?;
        Ok(Box::new(CopyOut::open(reader, asked, limits, keep)?))
    }

    fn execute(&self, sql: &str, keep: Keep<'_>) -> Result<Option<u64>, Error> {
        let query = message::query(sql)?;
        let reader = self.session.start(keep, move |link, tick, _: &mut dyn FnMut(())| {
            simple::answer(link, tick, Job::Execute, &query, None)
        })?;
        reader.finish(keep)
    }

    fn run(&self, sql: &str, options: &QueryOptions, keep: Keep<'_>) -> Result<Answer, Error> {
        match self.delivery() {
            Delivery::Served(_) => {
                let message = "a Colonnade server cannot be told a statement that may or may not give rows";
                Err(Error::new(ErrorKind::Unsupported, message).with_origin(self.name()))
            }
            Delivery::Extension { .. } if request::is_read(sql) => self.query(sql, options, keep).map(Answer::Rows),
            Delivery::Extension { .. } | Delivery::Stock => {
                Rows::<_, binary::Decoder>::answer(self.binary(sql, options, Wanted::Any, keep)?, options, keep)
            }
        }
    }

    fn describe(&self, sql: &str, keep: Keep<'_>) -> Result<Option<Described>, Error> {
        if let Delivery::Served(_) = self.delivery() {
            return Ok(None);
        }
        let sql = request::plain(sql, &QueryOptions::default(), Dialect::Postgres)?.to_owned();
        let mut reader = self.session.start(keep, move |link, tick, tell| binary::describe(link, tick, &sql, tell))?;
        let mut found = None;
        while let Some(event) = reader.next(keep)? {
            if let Event::Part(described) = event {
                found = Some(described);
            }
        }
        Ok(found)
    }

    fn transaction(&self) -> Option<Transaction> {
        self.session.look(|link| link.transaction)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        self.session.clone()
    }

    fn partitioning(&self) -> Offer<'_> {
        match self.delivery() {
            // Its engine uses all cores for one stream.
            Delivery::Served(_) => Offer::OneStream,
            Delivery::Extension { .. } | Delivery::Stock => Offer::Parts(self),
        }
    }

    fn dialect(&self) -> Dialect {
        // What a Colonnade server is in front of may change how it reads literals, and says so then.
        self.session.look(|link| link.server.dialect()).unwrap_or_else(|| self.session.peer.server.dialect())
    }

    fn name(&self) -> &str {
        self.session.name()
    }

    fn server(&self) -> &str {
        &self.session.peer.software
    }

    fn is_open(&self) -> bool {
        self.session.is_open()
    }

    fn close(&self) {
        self.session.close();
    }
}

impl PostgresConnection {
    /// Starts a statement by the extended query protocol.
    fn binary(
        &self,
        sql: &str,
        options: &QueryOptions,
        wanted: Wanted,
        keep: Keep<'_>,
    ) -> Result<Reader<Postgres, binary::Part>, Error> {
        let (sql, chosen) = (request::plain(sql, options, Dialect::Postgres)?.to_owned(), options.clone());
        let pool = self.pool.clone();
        self.session.start(keep, move |link, tick, tell| binary::answer(link, &pool, tick, &sql, &chosen, wanted, tell))
    }

    fn delivery(&self) -> &Delivery {
        &self.session.peer.server.delivery
    }
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        self.session.retire();
    }
}
