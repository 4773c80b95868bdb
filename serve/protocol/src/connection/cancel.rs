//! Stops a session's statement from other threads, after a cancel request, a disconnect, a time limit, or a shutdown.

mod interrupted;

use std::io;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use interrupted::InterruptedStatement;

use crate::connection::process_exit::{ExitCause, ProcessExit};
use crate::connection::socket::Socket;
use crate::connection::stop_reason::StopReason;
use crate::connection::thread_clock::ThreadClock;
use crate::engine::{Interrupt, SessionUser};
use crate::error::Failure;
use crate::limits::{Budget, LimitError, Limits, Timeout};
use crate::observe::{FieldValue, Observer, increment};
use crate::rows::spool::Spools;

/// A session, as other threads see it.
pub struct Control {
    pub user: SessionUser,
    pub observer: Arc<Observer>,
    pub limits: Arc<Limits>,
    /// The memory that the server may keep for the session.
    pub budget: Arc<Budget>,
    /// Where its results are set aside.
    pub spools: Arc<Spools>,
    state: Mutex<State>,
    idle: Condvar,
    process_exit: Arc<ProcessExit>,
    pub(crate) socket: Arc<Socket>,
}

struct State {
    interrupt: Arc<dyn Interrupt>,
    /// The number of the last piece of work. Preparing a statement is one, and running it is another.
    started: u64,
    statements: u64,
    is_busy: bool,
    reason: Option<StopReason>,
    /// The last reason for which a thread waits for the end of the present work, and repeats the interrupt.
    waited_for: Option<StopReason>,
    /// When the session was ended first.
    ended: Option<Instant>,
    /// When it became busy, or idle.
    since: Instant,
    /// The clock of the thread that does the work.
    clock: Option<ThreadClock>,
    is_in_transaction: bool,
    /// The time limits that the session has set: for a statement, between those of a transaction, and between others.
    own_timeouts: [Option<Duration>; 3],
    /// The bytes sent when the last statement started.
    sent: u64,
}

/// How long a client may take, after a time limit, to read what was sent before.
const CLIENT_READ_TIMEOUT: Duration = Duration::from_secs(10);
impl State {
    /// Whether a thread already waits for the end of the work, for this reason or a later one.
    fn is_waited_for(&self, reason: StopReason) -> bool {
        self.waited_for >= Some(reason)
    }

    /// Notes that a thread waits for it.
    fn wait_for(&mut self, reason: StopReason) {
        self.waited_for = self.waited_for.max(Some(reason));
    }

    fn note(&mut self, reason: StopReason, now: Instant) {
        self.reason = self.reason.max(Some(reason));
        if reason.ends_session() {
            self.ended.get_or_insert(now);
        }
    }
}

impl Control {
    pub(crate) fn new(
        user: SessionUser,
        limits: Arc<Limits>,
        spools: Arc<Spools>,
        observer: Arc<Observer>,
        interrupt: Arc<dyn Interrupt>,
        process_exit: Arc<ProcessExit>,
        socket: Arc<Socket>,
    ) -> Self {
        let since = Instant::now();
        let own_timeouts = [None; 3];
        let state = State {
            interrupt,
            started: 0,
            statements: 0,
            is_busy: false,
            reason: None,
            waited_for: None,
            ended: None,
            since,
            clock: None,
            is_in_transaction: false,
            own_timeouts,
            sent: 0,
        };
        let (budget, state) = (Budget::new(limits.session_memory, LimitError::SessionMemory), Mutex::new(state));
        Self { user, limits, budget, spools, observer, state, idle: Condvar::new(), process_exit, socket }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the statements of another session of the engine from now on, which continues this one for another client.
    pub fn renew(&self, interrupt: Arc<dyn Interrupt>) {
        self.state().interrupt = interrupt;
    }

    /// Notes the next statement on the board. The supervisor logs it if the process dies.
    pub fn note_statement(&self, statement: &str) {
        if let Some(slot) = self.socket.slot() {
            slot.note_statement(&self.user.name, statement);
        }
    }

    /// Starts work for the client. It ends when the guard is dropped.
    pub fn start(self: &Arc<Self>) -> WorkGuard {
        if let Some(slot) = self.socket.slot() {
            slot.set_busy(true);
        }
        let mut state = self.state();
        state.started += 1;
        state.is_busy = true;
        state.since = Instant::now();
        state.clock = ThreadClock::of_this_thread();
        state.sent = self.socket.sent();
        state.reason = state.reason.filter(|reason| reason.ends_session());
        state.waited_for = None;
        WorkGuard { control: Arc::clone(self) }
    }

    /// Counts a statement that runs, and logs it if the operator wants that.
    pub fn count_statement(&self, statement: &str) {
        self.note_statement(statement);
        self.state().statements += 1;
        self.observer.statement(&self.user.name, statement);
    }

    /// Counts a result of COPY, and logs how its rows come if the operator wants that.
    pub fn count_result(&self, is_gathered: bool) {
        self.observer.result(&self.user.name, is_gathered);
    }

    pub fn statements(&self) -> u64 {
        self.state().statements
    }

    /// Counts and logs an error. Neither the statement nor its values are logged.
    pub fn count_error(&self, failure: &Failure) {
        increment(&self.observer.errors);
        if matches!(failure, Failure::Engine(error) if error.ends_engine) {
            self.process_exit.request(ExitCause::EngineFailed);
        }
        let user = FieldValue::Text(&self.user.name);
        self.observer.log_event("error", &[("user", user), ("code", FieldValue::Text(failure.code().as_str()))]);
    }

    /// Notes that the session waits for its client, within a transaction or not.
    pub fn note_waiting(&self, is_in_transaction: bool) {
        let mut state = self.state();
        state.since = Instant::now();
        state.is_in_transaction = is_in_transaction;
    }

    /// Sets a time limit of the session that is below the server's.
    pub fn set_timeout(&self, time: Timeout, to: Option<Duration>) {
        self.state().own_timeouts[time as usize] = to;
    }

    /// Fails if the statement is to be stopped, or its result is too large.
    pub fn check(&self) -> Result<(), Failure> {
        let state = self.state();
        match state.reason {
            None => match self.limits.result_bytes {
                Some(limit) if self.socket.sent() - state.sent > limit => Err(LimitError::Result(limit).into()),
                _ => Ok(()),
            },
            Some(StopReason::Canceled) => Err(Failure::Canceled),
            Some(StopReason::TimedOut) => Err(LimitError::Statement.into()),
            Some(StopReason::Idle) => Err(LimitError::Idle.into()),
            Some(StopReason::IdleInTransaction) => Err(LimitError::IdleInTransaction.into()),
            Some(StopReason::Terminated) => Err(Failure::Terminated),
            Some(StopReason::Shutdown) => Err(Failure::Shutdown),
            Some(StopReason::EngineFailed) => Err(Failure::EngineFailed),
            Some(StopReason::Gone) => Err(Failure::Disconnected(io::ErrorKind::ConnectionReset.into())),
        }
    }

    /// The time limit that is exceeded, unless the session is already being stopped for it or for a later reason. A
    /// cancel request is an earlier reason, so a statement that ignores it still has its time limit.
    fn exceeded_limit(&self, state: &State, now: Instant) -> Option<StopReason> {
        let (reason, limit) = self.current_limit(state);
        let is_over = limit.is_some_and(|limit| now.saturating_duration_since(state.since) >= limit);
        (is_over && state.reason < Some(reason)).then_some(reason)
    }

    /// The time limit of the current state, and its reason.
    fn current_limit(&self, state: &State) -> (StopReason, Option<Duration>) {
        let (time, limit, reason) = match (state.is_busy, state.is_in_transaction) {
            (true, _) => (Timeout::Statement, self.limits.statement, StopReason::TimedOut),
            (false, true) => {
                (Timeout::IdleInTransaction, self.limits.idle_in_transaction, StopReason::IdleInTransaction)
            }
            (false, false) => (Timeout::Idle, self.limits.idle, StopReason::Idle),
        };
        (reason, limit.into_iter().chain(state.own_timeouts[time as usize]).min())
    }

    /// Closes the socket of an idle session that was ended and does not end, because its client does not read what the
    /// session sends: notifications, or the reason.
    fn close_unread(&self, now: Instant) {
        let state = self.state();
        // The time begins again after a statement that ended late.
        let since = state.ended.filter(|_| !state.is_busy).map(|ended| ended.max(state.since));
        if since.is_some_and(|since| now.saturating_duration_since(since) >= CLIENT_READ_TIMEOUT) {
            self.socket.shutdown(Shutdown::Both);
        }
    }

    fn has_exceeded_limit(&self, now: Instant) -> bool {
        self.exceeded_limit(&self.state(), now).is_some()
    }

    /// Stops the session's statement, or the idle session, after its time limit. Gives the statement, if one runs.
    pub fn stop_if_overdue(&self, now: Instant) -> Option<InterruptedStatement<'_>> {
        let mut state = self.state();
        let reason = self.exceeded_limit(&state, now)?;
        state.note(reason, now);
        if !state.is_busy {
            // Wakes the session from its read.
            self.socket.shutdown(Shutdown::Read);
            return None;
        }
        state.interrupt.interrupt();
        state.wait_for(reason);
        Some(InterruptedStatement { control: self, statement: state.started })
    }

    /// Ends the session if it is idle and in no transaction.
    pub(crate) fn end_if_idle(&self) {
        let mut state = self.state();
        if !state.is_busy && !state.is_in_transaction {
            self.note(&mut state, StopReason::Shutdown);
        }
    }

    /// Notes why the statement that calls this has to end. It ends by itself, so that it is not interrupted.
    pub fn stop_from_within(&self, reason: StopReason) {
        self.note(&mut self.state(), reason);
    }

    /// Notes a reason. If it ends the session, wakes it from its read, so that it can tell the client why it ends.
    fn note(&self, state: &mut State, reason: StopReason) {
        state.note(reason, Instant::now());
        if reason.ends_session() {
            self.socket.shutdown(Shutdown::Read);
        }
    }

    /// Stops an idle session at once: it runs no statement after this, if the reason ends it. Gives whether it is idle.
    pub fn stop_if_idle(&self, reason: StopReason) -> bool {
        let mut state = self.state();
        if !state.is_busy && reason.ends_session() {
            self.note(&mut state, reason);
        }
        !state.is_busy
    }

    /// Interrupts the running statement and gives it. Gives `None` if none runs, or if another thread already waits for
    /// its end for this reason or a later one. A reason that ends the session is noted also if no statement runs.
    pub fn stop(&self, reason: StopReason) -> Option<InterruptedStatement<'_>> {
        let mut state = self.state();
        let is_waited_for = state.is_waited_for(reason);
        if state.is_busy || reason.ends_session() {
            self.note(&mut state, reason);
        }
        if !state.is_busy {
            return None;
        }
        // The lock is held, so that the interrupt cannot reach the session's next statement.
        state.interrupt.interrupt();
        state.wait_for(reason);
        (!is_waited_for).then(|| InterruptedStatement { control: self, statement: state.started })
    }

    /// Interrupts a statement, if it still runs.
    fn interrupt(&self, statement: u64) -> Option<InterruptedStatement<'_>> {
        let state = self.state();
        (state.is_busy && state.started == statement).then(|| {
            state.interrupt.interrupt();
            InterruptedStatement { control: self, statement }
        })
    }

    /// Ends the engine's process, because the session's statement does not stop.
    fn end_process(&self) {
        if let Some(slot) = self.socket.slot() {
            slot.note_stuck();
        }
        self.process_exit.request(ExitCause::Stuck);
    }
}

pub struct WorkGuard {
    control: Arc<Control>,
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        if let Some(slot) = self.control.socket.slot() {
            slot.set_busy(false);
        }
        let mut state = self.control.state();
        state.is_busy = false;
        state.since = Instant::now();
        drop(state);
        self.control.idle.notify_all();
    }
}

/// Enforces the session's time limits without blocking the caller. If no thread can be started, the next call tries
/// again.
pub(crate) fn enforce_limits(control: Arc<Control>, now: Instant) {
    if control.has_exceeded_limit(now) {
        let _ = in_background(move || {
            if let Some(stopping) = control.stop_if_overdue(now) {
                stopping.wait(Some(CLIENT_READ_TIMEOUT));
            }
        });
    } else {
        control.close_unread(now);
    }
}

/// Stops a session's statement, and waits for its end on another thread, unless one waits already. Any number of signals
/// for a reason need one thread.
///
/// # Errors
/// If no thread can be started. Then the session is not stopped.
pub fn stop_in_background(control: &Arc<Control>, reason: StopReason) -> io::Result<()> {
    // The lock is held while the thread starts, so that others do not rely on a thread that does not.
    let mut state = control.state();
    if state.is_busy && !state.is_waited_for(reason) {
        let (control, statement) = (Arc::clone(control), state.started);
        in_background(move || {
            if let Some(stopping) = control.interrupt(statement) {
                // A canceled statement may take any time to end. After a disconnect, nobody reads its result, and a
                // session that was ended may have such a client too, so the wait is limited.
                let is_limited = matches!(reason, StopReason::Gone | StopReason::Terminated);
                stopping.wait(is_limited.then_some(CLIENT_READ_TIMEOUT));
            }
        })?;
        state.wait_for(reason);
    }
    if state.is_busy || reason.ends_session() {
        control.note(&mut state, reason);
    }
    Ok(())
}

/// Runs `work` on a new thread. An interrupt may be slow, because a source needs a new connection for it.
fn in_background(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("stop".to_owned()).spawn(work).map(drop)
}

#[cfg(test)]
mod tests;
