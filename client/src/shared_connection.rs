//! A connection that one query at a time uses, whatever its protocol: who holds it, what its receiving thread tells the
//! reader, and how a query is stopped.

mod event_reader;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::channel::lost;
use crate::feed::{self, AHEAD, Nothing, POLL, spawn};
use crate::partition::siblings::Siblings;
use crate::socket::Socket;
use crate::stats::Meter;
use crate::{Cancel, Error, ErrorKind, Keep};

pub(crate) use event_reader::EventReader;

/// How long a cancelled query may take to end before its connection is given up.
pub(crate) const DRAIN_LIMIT: Duration = Duration::from_secs(10);
const BUSY: &str = "the connection still delivers a result: read it to its end, drop it, or open a second connection";
/// How often it is told to stop: a request that comes while the server waits for the rest of a question does nothing.
const INSIST: Duration = Duration::from_millis(500);

/// Called whenever nothing came for a while, and before each message: an error ends the wait.
pub(crate) type Tick<'a> = &'a mut dyn FnMut() -> Result<(), Error>;

/// The other end of a connection.
pub(crate) trait Peer: Send + Sync + 'static {
    /// A connection that is logged in. Dropping it says goodbye.
    type ServerConnection: Send + 'static;

    /// Asks the server, from any thread, to stop what runs; returns when it has taken notice.
    ///
    /// # Errors
    /// The request could not be delivered.
    fn cancel(&self) -> Result<(), Error>;

    /// Makes sure that a request to stop which came too late does not hit the next query, where having taken notice of
    /// it is not enough for that.
    ///
    /// # Errors
    /// The connection is lost.
    fn settle(&self, _link: &mut Self::ServerConnection) -> Result<(), Error> {
        Ok(())
    }

    /// What lies below a connection.
    fn socket(connection: &Self::ServerConnection) -> &Socket;

    /// Bytes received on a connection so far.
    fn received(connection: &Self::ServerConnection) -> u64;
}

/// What the user's side, the receiving thread and cancellers share.
pub(crate) struct SharedConnection<P: Peer> {
    name: String,
    pub(crate) peer: P,
    /// Ends the connection under a thread that is blocked in it.
    socket: Socket,
    /// The number of the query that was cancelled last. Whoever holds it keeps the next query from beginning.
    cancelled: Mutex<u64>,
    /// The same number, for the receiving thread, which must not wait for a request that is being delivered.
    stopping: AtomicU64,
    /// They read parts of this one's results.
    pub(crate) siblings: Siblings,
    state: Mutex<State<P::ServerConnection>>,
    changed: Condvar,
}

enum State<L> {
    Idle(L, u64),
    /// Which query runs, and whether its reader has lost interest.
    Busy(u64, Arc<AtomicBool>),
    Closed,
}

/// What the receiving thread tells; last is an end or an error.
pub(crate) enum Event<T> {
    /// A part of the answer.
    Part(T),
    /// The answer is complete and the connection free again.
    Finished(Finished),
}

/// How an answer without an error ended.
pub(crate) struct Finished {
    /// Rows that the server counted.
    pub(crate) rows: Option<u64>,
    received: u64,
}

/// What an answer came to: the rows that the server counted. The outer error ends the connection; the inner one leaves
/// it usable.
pub(crate) type AnswerOutcome = Result<Result<Option<u64>, Error>, Error>;

/// Why an answer came to nothing.
pub(crate) enum AnswerError {
    /// The connection did.
    Lost(Error),
    /// The server or this client refused; the connection can go on.
    Refused(Error),
}

/// Errors of the connection are the usual ones.
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
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(*self.state(), State::Closed)
    }

    /// What the connection says of itself, if no query runs.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&P::ServerConnection) -> T) -> Option<T> {
        match &*self.state() {
            State::Idle(connection, _) => Some(at(connection)),
            State::Busy(..) | State::Closed => None,
        }
    }

    /// Runs `work` with the connection, on a thread of its own; `work` passes on the parts of the answer.
    ///
    /// # Errors
    /// The connection is closed or busy, or the wait for it was interrupted.
    pub(crate) fn start<T: Send + 'static>(
        self: &Arc<Self>,
        keep: Keep<'_>,
        work: impl FnOnce(&mut P::ServerConnection, Tick<'_>, &mut dyn FnMut(T)) -> AnswerOutcome + Send + 'static,
    ) -> Result<EventReader<P, T>, Error> {
        let (connection, number, stop) = self.take(keep)?;
        let (sender, events) = sync_channel(AHEAD);
        let (session, stopped) = (self.clone(), stop.clone());
        spawn("colonnade-receive", move || session.receive(connection, number, &stopped, &sender, work))
            .inspect_err(|_| self.close())?;
        Ok(EventReader { session: self.clone(), number, stop, events: Some(events), meter: Meter::start() })
    }

    fn receive<T>(
        &self,
        mut connection: P::ServerConnection,
        number: u64,
        stop: &AtomicBool,
        events: &SyncSender<Result<Event<T>, Error>>,
        work: impl FnOnce(&mut P::ServerConnection, Tick<'_>, &mut dyn FnMut(T)) -> AnswerOutcome,
    ) {
        // How long the reader has kept the answer waiting: a server cannot help that.
        let paused = Cell::new(Duration::ZERO);
        // When the query is given up, but for pauses, and when the server is told next.
        let mut stopping = None;
        let mut tick = || {
            let told = self.stopping.load(Ordering::Acquire) == number;
            if !told && !stop.load(Ordering::Acquire) {
                return Ok(());
            }
            let now = Instant::now();
            let (deadline, next) = stopping
                .get_or_insert_with(|| (now + DRAIN_LIMIT - paused.get(), if told { now + INSIST } else { now }));
            if now >= *deadline + paused.get() {
                return Err(Error::new(ErrorKind::ConnectionLost, "the server did not stop a cancelled query"));
            }
            if now >= *next {
                *next = now + INSIST;
                // If the request cannot be delivered, reading on is all that is left, up to the deadline.
                let _ = self.cancel_query(Some(number));
            }
            Ok(())
        };
        let before = P::received(&connection);
        let outcome = work(&mut connection, &mut tick, &mut |part| {
            if stop.load(Ordering::Acquire) {
                return;
            }
            let handing = Instant::now();
            if events.send(Ok(Event::Part(part))).is_err() {
                stop.store(true, Ordering::Release);
            }
            paused.set(paused.get() + handing.elapsed());
        });
        let received = P::received(&connection) - before;
        let (connection, outcome) = match outcome {
            Ok(outcome) => (Some(connection), outcome),
            // `close` ends the socket as a server does. It changes the state before, which tells the two apart.
            Err(error) if error.kind() == ErrorKind::ConnectionLost && !self.is_open() => {
                let message = "the connection was closed before its result was read: read it first";
                (None, Err(Error::new(ErrorKind::ConnectionLost, message)))
            }
            Err(error) => (None, Err(error)),
        };
        self.give_back(connection, number);
        let finished = outcome.map(|rows| Event::Finished(Finished { rows, received }));
        // A reader that is gone needs no news.
        let _ = events.send(finished.map_err(|error| error.with_origin(&self.name)));
    }

    fn state(&self) -> MutexGuard<'_, State<P::ServerConnection>> {
        // Every change is one assignment, so a panic elsewhere leaves nothing half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a result that was given up, then takes the connection.
    fn take(&self, keep: Keep<'_>) -> Result<(P::ServerConnection, u64, Arc<AtomicBool>), Error> {
        let mut state = self.state();
        loop {
            match &*state {
                State::Closed => return Err(unavailable("the connection is closed: open a new one")),
                State::Busy(_, stop) if !stop.load(Ordering::Acquire) => return Err(unavailable(BUSY)),
                State::Busy(..) => {
                    state = self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner).0;
                    if !keep() {
                        return Err(interrupted().with_origin(&self.name));
                    }
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

    /// Gives the connection back, or ends it if `connection` is `None`.
    fn give_back(&self, connection: Option<P::ServerConnection>, number: u64) {
        // A request to stop that is on its way still means this query.
        let cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = connection.and_then(|mut connection| {
            let settled = if *cancelled == number { self.peer.settle(&mut connection) } else { Ok(()) };
            settled.ok().map(|()| connection)
        });
        let mut state = self.state();
        *state = match connection {
            Some(connection) if matches!(*state, State::Busy(..)) => State::Idle(connection, number),
            _ => State::Closed,
        };
        self.changed.notify_all();
    }

    /// Cancels the query with this number, or any; does nothing if it has ended.
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

    /// Ends the connection, and a query that runs on it.
    pub(crate) fn close(&self) {
        let before = std::mem::replace(&mut *self.state(), State::Closed);
        self.changed.notify_all();
        if let State::Busy(..) = before {
            self.socket.reset_at_close();
        }
        // Says goodbye, if nothing runs.
        drop(before);
        self.socket.shutdown();
    }

    /// Nobody will ask for another query: a result that is still being read keeps the connection until its end.
    pub(crate) fn retire(&self) {
        let mut state = self.state();
        if let State::Idle(..) = *state {
            *state = State::Closed;
        }
    }
}

/// Stops whatever runs, here and on the siblings.
impl<P: Peer> Cancel for SharedConnection<P> {
    fn cancel(&self) -> Result<(), Error> {
        self.cancel_query(None).and(self.siblings.cancel())
    }
}

/// Runs `open` on a thread of its own: names are resolved and sockets connected without a way to interrupt them.
///
/// # Errors
/// Those of `open`, or an interruption.
pub(crate) fn connect<L: Send + 'static>(
    name: &str,
    keep: Keep<'_>,
    open: impl FnOnce() -> Result<L, Error> + Send + 'static,
) -> Result<L, Error> {
    let (sender, receiver) = sync_channel(1);
    spawn("colonnade-connect", move || {
        let _ = sender.send(open());
    })?;
    match feed::receive(&receiver, keep) {
        Ok(connection) => connection.map_err(before_session),
        Err(Nothing::Interrupted) => Err(interrupted().with_origin(name)),
        Err(Nothing::Gone) => Err(died().with_origin(name)),
    }
}

/// Whenever a connection breaks before the session is ready, no connection came about. When that is depends on the server's pace.
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

/// A thread of this process ended without a word, which only a defect in it explains.
pub(crate) fn died() -> Error {
    Error::new(ErrorKind::ConnectionLost, "the receiving thread died")
}

fn unavailable(message: &str) -> Error {
    Error::new(ErrorKind::Unavailable, message)
}
