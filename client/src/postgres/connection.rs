//! A connection that one query at a time uses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::binary::Rows;
use super::cancel::Canceller;
use super::copy_out::{CopyOut, Event, Job, Statement, receive};
use super::delivery::Delivery;
use super::link::{Link, Server};
use super::message;
use super::reader::Reader;
use super::request;
use super::route::Route;
use super::servers;
use super::target::Conninfo;
use crate::channel::lost;
use crate::feed::{AHEAD, POLL};
use crate::partition::Offer;
use crate::session::{self, interrupted, spawn, unavailable};
use crate::socket::Socket;
use crate::{Cancel, Connection, Dialect, Error, Keep, Pool, QueryOptions, ResultStream};

/// A connection to a server that speaks the Colonnade format, or to a PostgreSQL as it is.
pub struct PostgresConnection(pub(super) Arc<Shared>);

/// What the user's side, the receiving thread and cancellers share.
pub(crate) struct Shared {
    pub(crate) name: String,
    /// The server's software and version.
    software: String,
    /// The way that a cancel request takes.
    pub(crate) route: Arc<Route>,
    pub(crate) server: Server,
    pub(crate) pool: Pool,
    pub(crate) cancelling: Mutex<()>,
    state: Mutex<State>,
    changed: Condvar,
    /// Ends the connection under a thread that is blocked in it.
    socket: Socket,
}

enum State {
    Idle(Link, u64),
    /// Which query runs, and whether its reader has lost interest.
    Busy(u64, Arc<AtomicBool>),
    Closed,
}

/// Connects, logs in, and learns how the server delivers, which it either says itself or is asked once.
///
/// # Errors
/// Nobody answers, or the server refuses.
pub fn connect(conninfo: impl Into<Conninfo>, keep: Keep<'_>) -> Result<PostgresConnection, Error> {
    let conninfo = conninfo.into();
    let name = conninfo.targets.first().map_or_else(String::new, ToString::to_string);
    let mut link = session::connect(&name, keep, move || servers::open(&conninfo))?;
    let (server, route) = (link.server.clone(), link.route.clone());
    let name = route.target.to_string();
    let socket = link.incoming.channel().socket().share().map_err(|cause| lost(cause).with_origin(&name))?;
    Ok(PostgresConnection(Arc::new(Shared {
        name,
        software: server.delivery.software(&server.version),
        route,
        server,
        pool: Pool::default(),
        cancelling: Mutex::new(()),
        state: Mutex::new(State::Idle(link, 0)),
        changed: Condvar::new(),
        socket,
    })))
}

impl Connection for PostgresConnection {
    fn query(&self, sql: &str, options: &QueryOptions, keep: Keep<'_>) -> Result<Box<dyn ResultStream>, Error> {
        if self.0.server.delivery == Delivery::Stock {
            let sql = request::plain(sql, options)?.to_owned();
            let statement = Statement::Rows { sql, options: options.clone() };
            let (events, control) = self.start(statement, keep)?;
            let reader = Reader::new(self.0.clone(), control, events);
            return Ok(Box::new(Rows::open(reader, options, keep)?));
        }
        let copy = request::copy(sql, options)?;
        let limit = options.max_message_bytes;
        let again = self.0.server.delivery.reload(&copy).map(|both| message::query(&both)).transpose()?;
        let statement = Statement::Simple { job: Job::Copy { limit }, query: message::query(&copy)?, again };
        let (events, control) = self.start(statement, keep)?;
        let reader = Reader::new(self.0.clone(), control, events);
        Ok(Box::new(CopyOut::open(reader, limit, keep)?))
    }

    fn execute(&self, sql: &str, keep: Keep<'_>) -> Result<Option<u64>, Error> {
        let statement = Statement::Simple { job: Job::Execute, query: message::query(sql)?, again: None };
        let (events, control) = self.start(statement, keep)?;
        CopyOut::run(&self.0, &control, &events, keep)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::new(Canceller(self.0.clone()))
    }

    fn partitioning(&self) -> Offer<'_> {
        match self.0.server.delivery {
            // Its engine uses all cores for one stream.
            Delivery::Served(_) => Offer::OneStream,
            Delivery::Extension { .. } | Delivery::Stock => Offer::Parts(self),
        }
    }

    fn dialect(&self) -> Dialect {
        self.0.server.delivery.dialect()
    }

    fn name(&self) -> &str {
        &self.0.name
    }

    fn server(&self) -> &str {
        &self.0.software
    }

    fn is_open(&self) -> bool {
        !matches!(*self.0.state(), State::Closed)
    }

    fn close(&self) {
        self.0.close();
    }
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        // A result that is still being read keeps the connection until its end.
        let mut state = self.0.state();
        if let State::Idle(..) = *state {
            *state = State::Closed;
        }
    }
}

/// One running query, seen from the reader's side.
pub(crate) struct Control {
    pub(crate) number: u64,
    /// Set when the reader wants nothing more: the receiving thread then cancels and discards.
    pub(crate) stop: Arc<AtomicBool>,
}

pub(super) type Started = (std::sync::mpsc::Receiver<Event>, Control);

impl PostgresConnection {
    pub(super) fn start(&self, statement: Statement, keep: Keep<'_>) -> Result<Started, Error> {
        let shared = &self.0;
        let (link, control) = shared.take(keep)?;
        let (sender, receiver) = sync_channel(AHEAD);
        let (number, stop) = (control.number, control.stop.clone());
        let place = shared.clone();
        spawn("colonnade-receive", move || receive(&place, link, number, &stop, &statement, &sender))
            .inspect_err(|_| shared.close())?;
        Ok((receiver, control))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one assignment, so a panic elsewhere leaves nothing half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a result that was given up, then takes the connection.
    fn take(&self, keep: Keep<'_>) -> Result<(Link, Control), Error> {
        let mut state = self.state();
        loop {
            match &*state {
                State::Closed => return Err(unavailable("the connection is closed: open a new one")),
                State::Busy(_, stop) if !stop.load(Ordering::Acquire) => {
                    return Err(unavailable(
                        "the connection still delivers a result: read it to its end, drop it, or \
                                            open a second connection",
                    ));
                }
                State::Busy(..) => {
                    state = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
                    if !keep() {
                        return Err(interrupted().with_origin(&self.name));
                    }
                }
                State::Idle(_, last) => {
                    let control = Control { number: last + 1, stop: Arc::default() };
                    let busy = State::Busy(control.number, control.stop.clone());
                    if let State::Idle(link, _) = std::mem::replace(&mut *state, busy) {
                        return Ok((link, control));
                    }
                }
            }
        }
    }

    /// Whether the user has begun a transaction, as far as no query runs.
    pub(crate) fn in_transaction(&self) -> bool {
        matches!(&*self.state(), State::Idle(link, _) if !link.idle)
    }

    /// Gives the connection back, or ends it if `link` is `None`.
    pub(crate) fn give_back(&self, link: Option<Link>) {
        // A cancel request that is on its way still means this query.
        let _none = self.cancelling.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        let number = match *state {
            State::Busy(number, _) => number,
            State::Idle(..) | State::Closed => 0,
        };
        *state = match link {
            Some(link) if number > 0 => State::Idle(link, number),
            _ => State::Closed,
        };
        self.changed.notify_all();
    }

    pub(crate) fn runs(&self, number: Option<u64>) -> bool {
        matches!(*self.state(), State::Busy(running, _) if number.is_none_or(|number| number == running))
    }

    pub(crate) fn close(&self) {
        let idle = std::mem::replace(&mut *self.state(), State::Closed);
        self.changed.notify_all();
        if let State::Busy(..) = idle {
            self.socket.reset_at_close();
        }
        // Says goodbye, if nothing runs.
        drop(idle);
        self.socket.shutdown();
    }
}
