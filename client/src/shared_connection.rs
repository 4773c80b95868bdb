//! A connection that one query at a time uses, independent of the protocol: its current owner, the events of its
//! answers, and cancellation.
//!
//! The caller's thread sends a statement and waits for the beginning of the answer (`receiving.rs`). It receives an
//! answer to its end if it has at most 16 KiB and arrives within 2 ms, so a small result needs no other thread, and
//! leaving it unread needs no cancel request. A separate thread receives the rest of any other answer, into buffers of
//! a pool. Decoding runs concurrently.

mod event_reader;
mod receiving;
mod thread;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::feed::{self, NoItem, POLL, spawn};
use crate::partition::siblings::Siblings;
use crate::system::Socket;
use crate::system::lost;
use crate::{Cancel, ContinueCheck, Error, ErrorKind};

pub(crate) use event_reader::EventReader;
pub(crate) use receiving::Started;
use thread::IdleThread;

/// The time within which a cancelled query must end. Afterwards its connection is closed.
pub(crate) const DRAIN_LIMIT: Duration = Duration::from_secs(10);
const CLOSED: &str = "the connection is closed: open a new one";
const BUSY: &str = "the connection still delivers a result: read it to its end, drop it, or open a second connection";

/// Called after each timeout without bytes, and before each message. An error ends the wait.
pub(crate) type Tick<'a> = &'a mut dyn FnMut() -> Result<(), Error>;

/// The server of a connection.
pub(crate) trait Peer: Send + Sync + 'static {
    /// A logged-in connection. Dropping it ends the session.
    type ServerConnection: Send + 'static;

    /// Requests the server, from any thread, to cancel the running query. Returns when the server has processed the
    /// request.
    ///
    /// # Errors
    /// The request could not be delivered.
    fn cancel(&self) -> Result<(), Error>;

    /// Makes sure that a late cancel request does not cancel the next query, if `cancel` alone does not guarantee
    /// this.
    ///
    /// # Errors
    /// The connection is lost.
    fn absorb_late_cancel(&self, _link: &mut Self::ServerConnection) -> Result<(), Error> {
        Ok(())
    }

    /// The socket of a connection.
    fn socket(connection: &Self::ServerConnection) -> &Socket;

    /// Bytes received on a connection so far.
    fn received(connection: &Self::ServerConnection) -> u64;

    /// What the server has said of the rows of its last answer: [`Stats::rows_from`](crate::Stats::rows_from).
    fn rows_from(_connection: &Self::ServerConnection) -> &'static str {
        ""
    }
}

/// The state that the user's side, the receiving thread and cancellers share.
pub(crate) struct SharedConnection<P: Peer> {
    name: String,
    pub(crate) peer: P,
    /// Ends the connection while a thread is blocked in it.
    socket: Socket,
    /// The number of the query that was cancelled last. While this is locked, the next query does not begin.
    cancelled: Mutex<u64>,
    /// The same number for the receiving thread, which must not wait while a request is being delivered.
    stopping: AtomicU64,
    /// Connections that read parts of this connection's results.
    pub(crate) siblings: Siblings,
    state: Mutex<State<P::ServerConnection>>,
    changed: Condvar,
    /// Set when the user closes the connection. The running query ends first.
    closing: AtomicBool,
    /// Whether the receiving thread waits for the reader.
    is_handing_over: AtomicBool,
    thread: IdleThread,
}

enum State<L> {
    Idle(L, u64),
    /// The number of the running query, and whether its reader has stopped.
    Busy(u64, Arc<AtomicBool>),
    Closed,
}

/// The events of an answer. The last one is the end or an error.
pub(crate) enum Event<T> {
    /// A part of the answer.
    Part(T),
    /// The answer is complete, and the connection is free.
    Finished(Finished),
}

/// How an answer without an error ended.
pub(crate) struct Finished {
    /// The rows that the server counted.
    pub(crate) rows: Option<u64>,
    received: u64,
    rows_from: &'static str,
}

/// The end of an answer: the rows that the server counted. The outer error ends the connection. After the inner error,
/// it can be used again.
pub(crate) type AnswerOutcome = Result<Result<Option<u64>, Error>, Error>;

/// Why a statement failed.
pub(crate) enum AnswerError {
    /// The connection is lost.
    Lost(Error),
    /// The server or this client refused the statement. The connection can be used again.
    Refused(Error),
}

/// An error without further information is an error of the connection.
impl From<Error> for AnswerError {
    fn from(error: Error) -> Self {
        Self::Lost(error)
    }
}

impl<P: Peer> SharedConnection<P> {
    /// # Errors
    /// The system cannot share the socket.
    pub(crate) fn new(name: String, peer: P, connection: P::ServerConnection) -> Result<Arc<Self>, Error> {
        let socket = P::socket(&connection).share().map_err(|cause| lost(cause).with_origin(&name))?;
        let state = Mutex::new(State::Idle(connection, 0));
        Ok(Arc::new(Self {
            name,
            peer,
            socket,
            cancelled: Mutex::new(0),
            stopping: AtomicU64::new(0),
            siblings: Siblings::default(),
            state,
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
            is_handing_over: AtomicBool::new(false),
            thread: IdleThread::default(),
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.closing.load(Ordering::Acquire) && !matches!(*self.state(), State::Closed)
    }

    /// Reads the connection's state, if no query runs.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&P::ServerConnection) -> T) -> Option<T> {
        match &*self.state() {
            State::Idle(connection, _) => Some(at(connection)),
            State::Busy(..) | State::Closed => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State<P::ServerConnection>> {
        // Every change is one assignment, so a panic elsewhere leaves nothing half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of an abandoned result, and takes the connection.
    fn take(&self, keep: ContinueCheck<'_>) -> Result<(P::ServerConnection, u64, Arc<AtomicBool>), Error> {
        let mut state = self.state();
        loop {
            match &*state {
                _ if self.closing.load(Ordering::Acquire) => return Err(unavailable(CLOSED)),
                State::Closed => return Err(unavailable(CLOSED)),
                State::Busy(_, stop) if !stop.load(Ordering::Acquire) => return Err(unavailable(BUSY)),
                State::Busy(..) => {
                    drop(self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner));
                    // It may wait for a lock whose holder asks for the state.
                    if !keep() {
                        return Err(interrupted().with_origin(&self.name));
                    }
                    state = self.state();
                }
                State::Idle(_, last) => {
                    let (number, stop) = (last + 1, Arc::<AtomicBool>::default());
                    if let State::Idle(connection, _) =
                        std::mem::replace(&mut *state, State::Busy(number, stop.clone()))
                    {
                        return Ok((connection, number, stop));
                    }
                }
            }
        }
    }

    /// Returns the connection, or closes it if `connection` is `None`.
    fn give_back(&self, connection: Option<P::ServerConnection>, number: u64) {
        // A cancel request that is being delivered still means this query.
        let cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = connection.and_then(|mut connection| {
            let absorbed = if *cancelled == number { self.peer.absorb_late_cancel(&mut connection) } else { Ok(()) };
            absorbed.ok().map(|()| connection)
        });
        let mut state = self.state();
        *state = match connection {
            Some(connection) if matches!(*state, State::Busy(..)) => State::Idle(connection, number),
            _ => State::Closed,
        };
        self.changed.notify_all();
    }

    /// Cancels the query with this number, or any query. Without a running query this has no effect.
    ///
    /// # Errors
    /// The request could not be delivered.
    fn cancel_query(&self, number: Option<u64>) -> Result<(), Error> {
        let mut cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match *self.state() {
            State::Busy(running, _) if number.is_none_or(|number| number == running) => running,
            _ => return Ok(()),
        };
        *cancelled = running;
        self.stopping.store(running, Ordering::Release);
        self.peer.cancel().map_err(|error| error.with_origin(&self.name))
    }

    /// Whether the user has cancelled the running query.
    pub(crate) fn is_cancelled(&self) -> bool {
        let told = self.stopping.load(Ordering::Acquire);
        matches!(*self.state(), State::Busy(running, _) if running == told)
    }

    /// Closes the connection, after a running query has been cancelled: a server notices a closed connection only when
    /// it sends something, which may be hours later.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.end_query();
        self.abandon();
    }

    /// Cancels a running query, and waits until it has ended, for a limited time.
    fn end_query(&self) {
        let (number, stop) = match &*self.state() {
            State::Busy(number, stop) => (*number, Arc::clone(stop)),
            State::Idle(..) | State::Closed => return,
        };
        stop.store(true, Ordering::Release);
        if self.cancel_query(Some(number)).is_err() {
            return;
        }
        // The thread that receives repeats the request. While it waits for the reader it cannot, and need not: the
        // server has begun to send.
        let deadline = Instant::now() + DRAIN_LIMIT;
        let mut state = self.state();
        while matches!(*state, State::Busy(running, _) if running == number)
            && !self.is_handing_over.load(Ordering::Acquire)
            && Instant::now() < deadline
        {
            state = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Closes the connection whatever the server does.
    fn abandon(&self) {
        let before = std::mem::replace(&mut *self.state(), State::Closed);
        self.changed.notify_all();
        if let State::Busy(..) = before {
            self.socket.reset_at_close();
        }
        // This ends the session, if no query runs.
        drop(before);
        self.socket.shutdown();
    }

    /// Called when no further query will follow. A result that is being read keeps the connection until its end.
    pub(crate) fn retire(&self) {
        let mut state = self.state();
        if let State::Idle(..) = *state {
            *state = State::Closed;
        }
    }
}

/// Cancels the running queries of this connection and of its siblings.
impl<P: Peer> Cancel for SharedConnection<P> {
    fn cancel(&self) -> Result<(), Error> {
        self.cancel_query(None).and(self.siblings.cancel())
    }
}

/// Runs `open` on a separate thread, because resolving names and connecting sockets cannot be interrupted.
///
/// # Errors
/// Those of `open`, or an interruption.
pub(crate) fn connect<L: Send + 'static>(
    name: &str,
    keep: ContinueCheck<'_>,
    open: impl FnOnce() -> Result<L, Error> + Send + 'static,
) -> Result<L, Error> {
    let (sender, receiver) = sync_channel(1);
    spawn("colonnade-connect", move || {
        let _ = sender.send(open());
    })?;
    match feed::receive(&receiver, keep) {
        Ok(connection) => connection.map_err(before_session),
        Err(NoItem::Interrupted) => Err(interrupted().with_origin(name)),
        Err(NoItem::Gone) => Err(died().with_origin(name)),
    }
}

/// If a connection is lost before the session is ready, the error is that the connection failed, whatever the server's
/// speed.
fn before_session(error: Error) -> Error {
    if error.kind() != ErrorKind::ConnectionLost {
        return error;
    }
    let made = Error::new(ErrorKind::Connect, format!("cannot connect: {}", error.message()));
    let made = made.with_detail(error.detail().map(str::to_owned));
    let made = error.sqlstate().into_iter().fold(made, Error::with_sqlstate);
    let made = error.hint().into_iter().fold(made, Error::with_hint);
    let made = error.origin().into_iter().fold(made, Error::with_origin);
    made.with_cause(error)
}

fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "interrupted")
}

/// A thread of this process ended without an event, which only a defect explains.
pub(crate) fn died() -> Error {
    Error::new(ErrorKind::ConnectionLost, "the receiving thread died")
}

fn unavailable(message: &str) -> Error {
    Error::new(ErrorKind::Unavailable, message)
}
