//! Stopping a session's statement from outside: cancel requests, clients that are gone, a server that stops.

use std::io;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::connection::alarm::{Alarm, Cause};
use crate::connection::socket::Socket;
use crate::connection::thread_clock::ThreadClock;
use crate::engine::{Interrupt, Who};
use crate::error::Failure;
use crate::limits::budget::Budget;
use crate::limits::{LimitError, Limits, Time};
use crate::observe::{Observer, Value, count};
use crate::rows::spool::Spools;

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
    /// The engine cannot go on.
    EngineFailed,
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
    /// For all that the session has the server keep.
    pub budget: Arc<Budget>,
    /// Where its results are set aside.
    pub spools: Arc<Spools>,
    state: Mutex<State>,
    idle: Condvar,
    interrupt: Arc<dyn Interrupt>,
    alarm: Arc<Alarm>,
    pub(crate) socket: Arc<Socket>,
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
    /// Of the thread that the work runs on.
    clock: Option<ThreadClock>,
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
/// How long the session's thread may compute after its client has been cut off, before the engine is given up with all sessions:
/// a new process of it is of more use than one that cannot be stopped. It is CPU time, because beside two hundred clients on two
/// cores a statement that ends after 4 s of computing took longer than a minute.
const STUCK_COMPUTING: Duration = Duration::from_secs(20);
/// How long it may take at most, whatever it does: other threads of the engine may compute for it, or it may wait for something.
const STUCK: Duration = Duration::from_secs(300);

impl Control {
    pub(crate) fn new(
        who: Who,
        limits: Arc<Limits>,
        spools: Arc<Spools>,
        observer: Arc<Observer>,
        interrupt: Arc<dyn Interrupt>,
        alarm: Arc<Alarm>,
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
            clock: None,
            is_in_transaction: false,
            own,
            sent: 0,
        };
        let (budget, state) = (Budget::new(limits.session_memory), Mutex::new(state));
        Self { who, limits, budget, spools, observer, state, idle: Condvar::new(), interrupt, alarm, socket }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine is about to be given this statement: if that ends the process, others can tell which one it was.
    pub fn concerns(&self, statement: &str) {
        if let Some(slot) = self.socket.slot() {
            slot.statement(&self.who.name, statement);
        }
    }

    /// Work for the client starts; it ends when the guard is dropped.
    pub fn start(self: &Arc<Self>) -> Running {
        if let Some(slot) = self.socket.slot() {
            slot.works(true);
        }
        let mut state = self.state();
        state.started += 1;
        state.is_busy = true;
        state.since = Instant::now();
        state.clock = ThreadClock::of_this_thread();
        state.sent = self.socket.sent();
        state.reason = state.reason.filter(|reason| reason.ends_session());
        Running { control: Arc::clone(self) }
    }

    /// A statement is run: it counts, and is written into the log if the operator wants it there.
    pub fn runs(&self, statement: &str) {
        self.concerns(statement);
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
        if matches!(failure, Failure::Engine(error) if error.ends_engine) {
            self.alarm.ring(Cause::EngineFailed);
        }
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
            Some(Reason::EngineFailed) => Err(Failure::EngineFailed),
            Some(Reason::Gone) => Err(Failure::Disconnected(io::ErrorKind::ConnectionReset.into())),
        }
    }

    /// Why the session is to be stopped now, if it takes longer than it may and has not been stopped for that or for more. A cancel
    /// request is less: what does not end by it is still held to its time.
    fn overdue(&self, state: &State, now: Instant) -> Option<Reason> {
        let (reason, limit) = self.limit(state);
        let is_over = limit.is_some_and(|limit| now.saturating_duration_since(state.since) >= limit);
        (is_over && state.reason < Some(reason)).then_some(reason)
    }

    /// How long the session may take for what it is at, and what stops it then.
    fn limit(&self, state: &State) -> (Reason, Option<Duration>) {
        let (time, limit, reason) = match (state.is_busy, state.is_in_transaction) {
            (true, _) => (Time::Statement, self.limits.statement, Reason::TimedOut),
            (false, true) => (Time::IdleInTransaction, self.limits.idle_in_transaction, Reason::IdleInTransaction),
            (false, false) => (Time::Idle, self.limits.idle, Reason::Idle),
        };
        (reason, limit.into_iter().chain(state.own[time as usize]).min())
    }

    /// Cuts off a session that was ended while it was idle and goes on, since its client does not take what was sent.
    fn cut_off(&self, now: Instant) {
        let state = self.state();
        let (_, limit) = self.limit(&state);
        let is_ended = !state.is_busy && state.reason.is_some_and(Reason::ends_session);
        let is_over = limit.is_some_and(|limit| now.saturating_duration_since(state.since) >= limit + CUT_OFF);
        if is_ended && is_over {
            self.socket.shutdown(Shutdown::Both);
        }
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
    pub(crate) fn end_if_idle(&self) {
        let mut state = self.state();
        if !state.is_busy && !state.is_in_transaction {
            state.reason = state.reason.max(Some(Reason::Shutdown));
            self.socket.shutdown(Shutdown::Read);
        }
    }

    /// Wants the running statement to end; gives what runs, if anything does and nobody waits for its end for this reason already.
    /// Except for cancel requests the session ends with it, and does even if nothing runs.
    pub fn stop(&self, reason: Reason) -> Option<Stopping<'_>> {
        let mut state = self.state();
        let is_waited_for = state.reason == Some(reason);
        if state.is_busy || reason.ends_session() {
            state.reason = state.reason.max(Some(reason));
        }
        if !state.is_busy {
            return None;
        }
        // The lock is held, so that the interruption cannot hit the session's next statement.
        self.interrupt.interrupt();
        (!is_waited_for).then(|| Stopping { control: self, statement: state.started })
    }

    /// The session's statement does not stop: the engine is given up.
    fn give_up(&self) {
        if let Some(slot) = self.socket.slot() {
            slot.gives_up();
        }
        self.alarm.ring(Cause::Stuck);
    }
}

/// A statement that was asked to end.
pub struct Stopping<'a> {
    control: &'a Control,
    statement: u64,
}

impl Stopping<'_> {
    /// Waits until it has ended, and interrupts it again from time to time until then. After `patience`, if there is any, the client
    /// is cut off: it may be that it does not take what was sent. What still goes on after that is given up in the end.
    pub fn wait(self, patience: Option<Duration>) {
        let mut pause = INSIST;
        let begun = Instant::now();
        let mut cut_off: Option<CutOff> = None;
        let mut state = self.control.state();
        loop {
            state = self.control.idle.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
            if !state.is_busy || state.started != self.statement {
                return;
            }
            if cut_off.is_none() && patience.is_some_and(|patience| begun.elapsed() >= patience) {
                self.control.socket.shutdown(Shutdown::Both);
                cut_off = Some(CutOff::now(state.clock));
            }
            if cut_off.as_ref().is_some_and(|cut_off| cut_off.is_stuck()) {
                self.control.give_up();
            }
            self.control.interrupt.interrupt();
            pause = (pause * 2).min(INSIST_AT_MOST);
        }
    }
}

/// When a client was cut off, and what its session's thread had computed until then.
struct CutOff {
    at: Instant,
    clock: Option<ThreadClock>,
    computed: Option<Duration>,
}

impl CutOff {
    fn now(clock: Option<ThreadClock>) -> Self {
        Self { at: Instant::now(), clock, computed: clock.and_then(ThreadClock::elapsed) }
    }

    fn is_stuck(&self) -> bool {
        let computed = self.clock.and_then(ThreadClock::elapsed).zip(self.computed);
        let computing = computed.map_or(Duration::ZERO, |(now, before)| now.saturating_sub(before));
        computing >= STUCK_COMPUTING || self.at.elapsed() >= STUCK
    }
}

/// A statement that runs.
pub struct Running {
    control: Arc<Control>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(slot) = self.control.socket.slot() {
            slot.works(false);
        }
        let mut state = self.control.state();
        state.is_busy = false;
        state.since = Instant::now();
        drop(state);
        self.control.idle.notify_all();
    }
}

/// Stops what a session is at, if that takes longer than it may, without making the caller wait. Without memory for a thread it
/// stays overdue, and is stopped the next time.
pub(crate) fn expire(control: Arc<Control>, now: Instant) {
    if control.is_overdue(now) {
        let _ = in_background(move || {
            if let Some(stopping) = control.expire(now) {
                stopping.wait(Some(CUT_OFF));
            }
        });
    } else {
        control.cut_off(now);
    }
}

/// Stops what a session runs, and sees to it, without making the caller wait.
///
/// # Errors
/// If there is no memory for a thread. Then nothing was done.
pub fn stop_and_wait(control: &Arc<Control>, reason: Reason) -> io::Result<()> {
    let control = Arc::clone(control);
    in_background(move || {
        if let Some(stopping) = control.stop(reason) {
            // Who has hung up, and who only says so, is not waited for.
            stopping.wait((reason == Reason::Gone).then_some(CUT_OFF));
        }
    })
}

/// A thread of its own, since an engine may be slow to take an interruption: a source is told by a connection.
fn in_background(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("stop".to_owned()).spawn(work).map(drop)
}

#[cfg(test)]
mod tests;
