//! Stopping a session's statement from outside: cancel requests, clients that are gone, a server that stops.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::{Interrupt, Who};
use crate::error::Failure;
use crate::limits::{LimitError, Limits, Time};
use crate::observe::{Observer, Value, count};
use crate::socket::Socket;

/// Why a statement is stopped; of several reasons the last one here counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A cancel request.
    Canceled,
    /// It takes too long.
    TimedOut,
    /// The client closed its connection; or this side has ended the reading, which looks the same and has its own reason below.
    Gone,
    /// Nothing was asked for too long.
    Idle,
    /// The same, within a transaction.
    IdleInTransaction,
    /// The server stops.
    Shutdown,
}

impl Reason {
    /// Whether the session ends with it, and not its statement alone.
    fn ends_session(self) -> bool {
        self > Self::TimedOut
    }
}

/// One session, as others may reach it.
pub struct Control {
    /// Whose it is.
    pub who: Who,
    pub observer: Arc<Observer>,
    pub limits: Arc<Limits>,
    state: Mutex<State>,
    idle: Condvar,
    interrupt: Arc<dyn Interrupt>,
    socket: Arc<Socket>,
}

struct State {
    /// How many pieces of work have started, of which preparing a statement is one and running it another; the last one's number.
    started: u64,
    /// How many statements were run.
    statements: u64,
    is_busy: bool,
    reason: Option<Reason>,
    /// Since when it is busy, or idle.
    since: Instant,
    is_in_transaction: bool,
    /// What the session itself has asked for: a statement's time, that between two of a transaction, that between others.
    own: [Option<Duration>; 3],
    /// What had been sent when the last statement started.
    sent: u64,
}

/// How long an engine may take to notice an interruption before it is told again: one that comes just before the
/// engine starts on the statement is lost.
const INSIST: Duration = Duration::from_millis(20);
const INSIST_AT_MOST: Duration = Duration::from_secs(1);
/// How long a client may take to take what was sent before its statement's time was over.
const CUT_OFF: Duration = Duration::from_secs(10);

impl Control {
    fn new(
        who: Who,
        limits: Arc<Limits>,
        observer: Arc<Observer>,
        interrupt: Arc<dyn Interrupt>,
        socket: Arc<Socket>,
    ) -> Self {
        let since = Instant::now();
        let own = [None; 3];
        let state = State {
            started: 0,
            statements: 0,
            is_busy: false,
            reason: None,
            since,
            is_in_transaction: false,
            own,
            sent: 0,
        };
        Self { who, limits, observer, state: Mutex::new(state), idle: Condvar::new(), interrupt, socket }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Work for the client starts; it ends when the guard is dropped.
    pub fn start(self: &Arc<Self>) -> Running {
        let mut state = self.state();
        state.started += 1;
        state.is_busy = true;
        state.since = Instant::now();
        state.sent = self.socket.sent();
        state.reason = state.reason.filter(|reason| reason.ends_session());
        Running { control: Arc::clone(self) }
    }

    /// A statement is run: it counts, and is written into the log if the operator wants it there.
    pub fn runs(&self, statement: &str) {
        self.state().statements += 1;
        self.observer.statement(&self.who.name, statement);
    }

    /// How many statements were run.
    pub fn statements(&self) -> u64 {
        self.state().statements
    }

    /// A statement has failed. What it was and what it held is not written down.
    pub fn failed(&self, failure: &Failure) {
        count(&self.observer.errors);
        let user = Value::Text(&self.who.name);
        self.observer.tell("error", &[("user", user), ("code", Value::Text(failure.code().as_str()))]);
    }

    /// The session waits for its client's next word, within a transaction or not.
    pub fn wait(&self, is_in_transaction: bool) {
        let mut state = self.state();
        state.since = Instant::now();
        state.is_in_transaction = is_in_transaction;
    }

    /// The session wants less time than it may have.
    pub fn shorten(&self, time: Time, to: Option<Duration>) {
        self.state().own[time as usize] = to;
    }

    /// Fails if somebody wants the statement to end, or its result is too large.
    pub fn check(&self) -> Result<(), Failure> {
        let state = self.state();
        match state.reason {
            None => match self.limits.result_bytes {
                Some(limit) if self.socket.sent() - state.sent > limit => Err(LimitError::Result(limit).into()),
                _ => Ok(()),
            },
            Some(Reason::Canceled) => Err(Failure::Canceled),
            Some(Reason::TimedOut) => Err(LimitError::Statement.into()),
            Some(Reason::Idle) => Err(LimitError::Idle.into()),
            Some(Reason::IdleInTransaction) => Err(LimitError::IdleInTransaction.into()),
            Some(Reason::Shutdown) => Err(Failure::Shutdown),
            Some(Reason::Gone) => Err(Failure::Disconnected(io::ErrorKind::ConnectionReset.into())),
        }
    }

    /// Why the session is to be stopped now, if it takes longer than it may and nobody has stopped it yet.
    fn overdue(&self, state: &State, now: Instant) -> Option<Reason> {
        let (time, limit, reason) = match (state.is_busy, state.is_in_transaction) {
            (true, _) => (Time::Statement, self.limits.statement, Reason::TimedOut),
            (false, true) => (Time::IdleInTransaction, self.limits.idle_in_transaction, Reason::IdleInTransaction),
            (false, false) => (Time::Idle, self.limits.idle, Reason::Idle),
        };
        let limit = limit.into_iter().chain(state.own[time as usize]).min();
        let is_over = limit.is_some_and(|limit| now.saturating_duration_since(state.since) >= limit);
        (is_over && state.reason.is_none()).then_some(reason)
    }

    fn is_overdue(&self, now: Instant) -> bool {
        self.overdue(&self.state(), now).is_some()
    }

    /// Stops what has taken longer than it may; gives what runs, if that is it.
    pub fn expire(&self, now: Instant) -> Option<Stopping<'_>> {
        let mut state = self.state();
        state.reason = Some(self.overdue(&state, now)?);
        if !state.is_busy {
            // Wakes the session, which waits for its client.
            self.socket.shutdown(Shutdown::Read);
            return None;
        }
        self.interrupt.interrupt();
        Some(Stopping { control: self, statement: state.started })
    }

    /// The server stops: ends the session if it waits for its client and is not in a transaction.
    fn end_if_idle(&self) {
        let mut state = self.state();
        if !state.is_busy && !state.is_in_transaction {
            state.reason = state.reason.max(Some(Reason::Shutdown));
            self.socket.shutdown(Shutdown::Read);
        }
    }

    /// Wants the running statement to end; gives what runs, if anything does. Except for cancel requests the session
    /// ends with it, and does even if nothing runs.
    pub fn stop(&self, reason: Reason) -> Option<Stopping<'_>> {
        let mut state = self.state();
        if state.is_busy || reason.ends_session() {
            state.reason = state.reason.max(Some(reason));
        }
        if !state.is_busy {
            return None;
        }
        // The lock is held, so that the interruption cannot hit the session's next statement.
        self.interrupt.interrupt();
        Some(Stopping { control: self, statement: state.started })
    }
}

/// A statement that was asked to end.
pub struct Stopping<'a> {
    control: &'a Control,
    statement: u64,
}

impl Stopping<'_> {
    /// Waits until it has ended, and interrupts it again from time to time until then. After `patience`, if there is any, the client
    /// is cut off: it may be that it does not take what was sent.
    pub fn wait(self, patience: Option<Duration>) {
        let mut pause = INSIST;
        let begun = Instant::now();
        let mut state = self.control.state();
        loop {
            state = self.control.idle.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
            if !state.is_busy || state.started != self.statement {
                return;
            }
            if patience.is_some_and(|patience| begun.elapsed() > patience) {
                self.control.socket.shutdown(Shutdown::Both);
            }
            self.control.interrupt.interrupt();
            pause = (pause * 2).min(INSIST_AT_MOST);
        }
    }
}

/// A statement that runs.
pub struct Running {
    control: Arc<Control>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.control.state();
        state.is_busy = false;
        state.since = Instant::now();
        drop(state);
        self.control.idle.notify_all();
    }
}

/// All sessions, by what a cancel request names them with.
#[derive(Default)]
pub struct Registry {
    sessions: Mutex<Sessions>,
    emptied: Condvar,
}

#[derive(Default)]
struct Sessions {
    last: i32,
    by_process: HashMap<i32, ([u8; 4], Arc<Control>)>,
}

impl Sessions {
    fn admit(&self, who: &Who, limits: &Limits) -> Result<(), LimitError> {
        if self.by_process.len() >= limits.connections {
            return Err(LimitError::Connections);
        }
        let Some(limit) = who.connections.or(limits.user_connections) else { return Ok(()) };
        let own = self.by_process.values().filter(|(_, control)| control.who.name == who.name).count();
        if own >= limit { Err(LimitError::UserConnections(who.name.clone())) } else { Ok(()) }
    }
}

impl Registry {
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a session known, until the ticket is dropped.
    ///
    /// # Errors
    /// If there are as many as there may be, or the operating system has no random numbers.
    pub fn register(
        self: &Arc<Self>,
        who: Who,
        limits: &Arc<Limits>,
        observer: &Arc<Observer>,
        interrupt: Arc<dyn Interrupt>,
        socket: Arc<Socket>,
    ) -> Result<Ticket, Failure> {
        // Protocol 3.0 has room for 32 bits.
        let mut secret = [0; 4];
        rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::empty()).map_err(io::Error::from)?;
        let control = Arc::new(Control::new(who, Arc::clone(limits), Arc::clone(observer), interrupt, socket));
        let mut sessions = self.sessions();
        sessions.admit(&control.who, limits)?;
        // Numbers wrap around; one in use is not given out again.
        let process = loop {
            sessions.last = sessions.last.checked_add(1).unwrap_or(1);
            if !sessions.by_process.contains_key(&sessions.last) {
                break sessions.last;
            }
        };
        sessions.by_process.insert(process, (secret, Arc::clone(&control)));
        Ok(Ticket { process, secret, control, registry: Arc::clone(self) })
    }

    /// Fails if there is no room for another session.
    pub fn admit(&self, who: &Who, limits: &Limits) -> Result<(), LimitError> {
        self.sessions().admit(who, limits)
    }

    /// Stops whatever has taken longer than it may.
    pub fn expire(&self) {
        let now = Instant::now();
        for control in self.controls() {
            expire(control, now);
        }
    }

    /// Waits until all sessions have ended, `patience` at most; gives whether they have.
    pub fn wait_until_empty(&self, patience: Duration) -> bool {
        let is_open = |sessions: &mut Sessions| !sessions.by_process.is_empty();
        let waited = self.emptied.wait_timeout_while(self.sessions(), patience, is_open);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Ends the sessions that wait for their clients outside of a transaction.
    pub fn end_idle(&self) {
        for control in self.controls() {
            control.end_if_idle();
        }
    }

    /// The session a cancel request is about.
    pub fn find(&self, process: i32, secret: &[u8]) -> Option<Arc<Control>> {
        let sessions = self.sessions();
        let (expected, control) = sessions.by_process.get(&process)?;
        (expected == secret).then(|| Arc::clone(control))
    }

    /// The session's control, for those who know its number from this process itself.
    pub fn by_process(&self, process: i32) -> Option<Arc<Control>> {
        self.sessions().by_process.get(&process).map(|(_, control)| Arc::clone(control))
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.sessions().by_process.len()
    }

    /// Bytes that were sent in the sessions that there are.
    pub fn sent(&self) -> u64 {
        self.controls().iter().map(|control| control.socket.sent()).sum()
    }

    /// Ends all sessions. Those that still send have `patience` to tell their client; then they are cut off, and are
    /// waited for as long again.
    pub fn end_all(&self, patience: Duration) {
        for control in self.controls() {
            control.socket.shutdown(Shutdown::Read);
            stop_and_wait(control, Reason::Shutdown);
        }
        self.wait_until_empty(patience);
        self.controls().iter().for_each(|control| control.socket.shutdown(Shutdown::Both));
        self.wait_until_empty(patience);
    }

    fn controls(&self) -> Vec<Arc<Control>> {
        self.sessions().by_process.values().map(|(_, control)| Arc::clone(control)).collect()
    }
}

/// Stops what a session is at, if that takes longer than it may, without making the caller wait.
fn expire(control: Arc<Control>, now: Instant) {
    if control.is_overdue(now) {
        std::thread::spawn(move || {
            if let Some(stopping) = control.expire(now) {
                stopping.wait(Some(CUT_OFF));
            }
        });
    }
}

/// Stops what a session runs, and sees to it, without making the caller wait.
pub fn stop_and_wait(control: Arc<Control>, reason: Reason) {
    std::thread::spawn(move || {
        if let Some(stopping) = control.stop(reason) {
            stopping.wait(None);
        }
    });
}

/// A session's place in the registry.
pub struct Ticket {
    pub process: i32,
    pub secret: [u8; 4],
    pub control: Arc<Control>,
    registry: Arc<Registry>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.registry.sessions().by_process.remove(&self.process);
        self.registry.emptied.notify_all();
    }
}

#[cfg(test)]
#[path = "cancel_tests.rs"]
mod tests;
