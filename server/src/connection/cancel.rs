//! Stops a session's statement from other threads: cancel requests, clients that are gone, time limits, a server that stops.

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
use crate::limits::{LimitError, Limits, Timeout};
use crate::observe::{FieldValue, Observer, count};
use crate::rows::spool::Spools;

/// Why a statement is stopped. Of several reasons, the last one in this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Canceled,
    /// Its time limit.
    TimedOut,
    /// The client closed its connection. If this side ends the reads, that looks the same, and one of the next reasons is set.
    Gone,
    /// The time limit between statements.
    Idle,
    /// The same, within a transaction.
    IdleInTransaction,
    Shutdown,
    EngineFailed,
}

impl Reason {
    /// Whether it ends the session, not only its statement.
    fn ends_session(self) -> bool {
        self > Self::TimedOut
    }
}

/// A session, as other threads see it.
pub struct Control {
    pub who: Who,
    pub observer: Arc<Observer>,
    pub limits: Arc<Limits>,
    /// The memory that the server may keep for the session.
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
    /// The number of the last piece of work. Preparing a statement is one, and running it is another.
    started: u64,
    statements: u64,
    is_busy: bool,
    reason: Option<Reason>,
    /// When it became busy, or idle.
    since: Instant,
    /// The clock of the thread that does the work.
    clock: Option<ThreadClock>,
    is_in_transaction: bool,
    /// The time limits that the session has set: for a statement, between those of a transaction, and between others.
    own: [Option<Duration>; 3],
    /// The bytes sent when the last statement started.
    sent: u64,
}

/// How long an engine may take to notice an interrupt before it is sent again. An interrupt just before the engine starts a
/// statement is lost.
const INSIST: Duration = Duration::from_millis(20);
const INSIST_AT_MOST: Duration = Duration::from_secs(1);
/// How long a client may take to read what was sent before the time limit of its statement.
const CUT_OFF: Duration = Duration::from_secs(10);
/// How long the session's thread may compute after its client was cut off, before the engine's process is ended with all its
/// sessions. It is CPU time, because beside two hundred clients on two cores a statement that ends after 4 s of computing took
/// longer than a minute.
const STUCK_COMPUTING: Duration = Duration::from_secs(20);
/// The limit in wall time, because other threads of the engine may compute for the statement, or it may wait.
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

    /// Notes the next statement for the supervisor, which names it if the process dies.
    pub fn concerns(&self, statement: &str) {
        if let Some(slot) = self.socket.slot() {
            slot.statement(&self.who.name, statement);
        }
    }

    /// Starts work for the client. It ends when the guard is dropped.
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

    /// Counts a statement that runs, and logs it if the operator wants that.
    pub fn runs(&self, statement: &str) {
        self.concerns(statement);
        self.state().statements += 1;
        self.observer.statement(&self.who.name, statement);
    }

    pub fn statements(&self) -> u64 {
        self.state().statements
    }

    /// Counts and logs an error. Neither the statement nor its values are logged.
    pub fn failed(&self, failure: &Failure) {
        count(&self.observer.errors);
        if matches!(failure, Failure::Engine(error) if error.ends_engine) {
            self.alarm.ring(Cause::EngineFailed);
        }
        let user = FieldValue::Text(&self.who.name);
        self.observer.tell("error", &[("user", user), ("code", FieldValue::Text(failure.code().as_str()))]);
    }

    /// Notes that the session waits for its client, within a transaction or not.
    pub fn wait(&self, is_in_transaction: bool) {
        let mut state = self.state();
        state.since = Instant::now();
        state.is_in_transaction = is_in_transaction;
    }

    /// Sets a time limit of the session that is below the server's.
    pub fn shorten(&self, time: Timeout, to: Option<Duration>) {
        self.state().own[time as usize] = to;
    }

    /// Fails if the statement is to be stopped, or its result is too large.
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

    /// The time limit that is exceeded, unless the session is being stopped for it or for a later reason. A cancel request is an earlier
    /// reason: a statement that ignores it still has its time limit.
    fn overdue(&self, state: &State, now: Instant) -> Option<Reason> {
        let (reason, limit) = self.limit(state);
        let is_over = limit.is_some_and(|limit| now.saturating_duration_since(state.since) >= limit);
        (is_over && state.reason < Some(reason)).then_some(reason)
    }

    /// The time limit of the current state, and its reason.
    fn limit(&self, state: &State) -> (Reason, Option<Duration>) {
        let (time, limit, reason) = match (state.is_busy, state.is_in_transaction) {
            (true, _) => (Timeout::Statement, self.limits.statement, Reason::TimedOut),
            (false, true) => (Timeout::IdleInTransaction, self.limits.idle_in_transaction, Reason::IdleInTransaction),
            (false, false) => (Timeout::Idle, self.limits.idle, Reason::Idle),
        };
        (reason, limit.into_iter().chain(state.own[time as usize]).min())
    }

    /// Closes the socket of a session that was ended while it was idle and has not ended, because its client does not read.
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

    /// Stops what has exceeded its time limit; gives the statement, if one runs.
    pub fn expire(&self, now: Instant) -> Option<Stopping<'_>> {
        let mut state = self.state();
        state.reason = Some(self.overdue(&state, now)?);
        if !state.is_busy {
            // Wakes the session from its read.
            self.socket.shutdown(Shutdown::Read);
            return None;
        }
        self.interrupt.interrupt();
        Some(Stopping { control: self, statement: state.started })
    }

    /// Ends the session if it is idle and in no transaction.
    pub(crate) fn end_if_idle(&self) {
        let mut state = self.state();
        if !state.is_busy && !state.is_in_transaction {
            state.reason = state.reason.max(Some(Reason::Shutdown));
            self.socket.shutdown(Shutdown::Read);
        }
    }

    /// Interrupts the running statement; gives it, unless none runs or another thread waits for its end for the same reason. All reasons
    /// but a cancel request end the session, also if nothing runs.
    pub fn stop(&self, reason: Reason) -> Option<Stopping<'_>> {
        let mut state = self.state();
        let is_waited_for = state.reason == Some(reason);
        if state.is_busy || reason.ends_session() {
            state.reason = state.reason.max(Some(reason));
        }
        if !state.is_busy {
            return None;
        }
        // The lock is held, so that the interrupt cannot reach the session's next statement.
        self.interrupt.interrupt();
        (!is_waited_for).then(|| Stopping { control: self, statement: state.started })
    }

    /// Ends the engine's process, because the session's statement does not stop.
    fn give_up(&self) {
        if let Some(slot) = self.socket.slot() {
            slot.gives_up();
        }
        self.alarm.ring(Cause::Stuck);
    }
}

/// An interrupted statement.
pub struct Stopping<'a> {
    control: &'a Control,
    statement: u64,
}

impl Stopping<'_> {
    /// Waits until it has ended, and repeats the interrupt. After `patience`, if given, it closes the client's socket, because the client
    /// may not read what was sent. If the statement still does not end, the engine's process is ended.
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

/// When a client was cut off, and the CPU time of its session's thread at that time.
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

/// Stops what exceeds its time limit in a session. The caller does not wait. Without memory for a thread, the next call tries again.
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

/// Stops what a session runs, and waits for its end on another thread.
///
/// # Errors
/// If there is no memory for a thread. Then nothing has happened.
pub fn stop_and_wait(control: &Arc<Control>, reason: Reason) -> io::Result<()> {
    let control = Arc::clone(control);
    in_background(move || {
        if let Some(stopping) = control.stop(reason) {
            // A client that has hung up is not waited for.
            stopping.wait((reason == Reason::Gone).then_some(CUT_OFF));
        }
    })
}

/// A thread of its own, because an interrupt may be slow: a source needs a new connection for it.
fn in_background(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("stop".to_owned()).spawn(work).map(drop)
}

#[cfg(test)]
mod tests;
