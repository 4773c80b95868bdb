//! All sessions, by the numbers that cancel requests use.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::connection::cancel::{Control, enforce_limits, stop_in_background};
use crate::connection::process_exit::ProcessExit;
use crate::connection::socket::Socket;
use crate::connection::stop_reason::StopReason;
use crate::engine::{Interrupt, SessionUser};
use crate::error::Failure;
use crate::limits::{LimitError, Limits};
use crate::observe::Observer;
use crate::rows::spool::Spools;

/// All sessions, by the numbers that cancel requests use.
#[derive(Default)]
pub struct Registry {
    sessions: Mutex<Sessions>,
    session_ended: Condvar,
    pub process_exit: Arc<ProcessExit>,
}

/// What has become of a signal.
pub enum Stop {
    Sent(Weak<Control>),
    NoSession,
    OtherUser,
    NoThread,
}

/// A client that has logged in, with the handles that stop its statements.
pub struct NewSession {
    pub user: SessionUser,
    pub interrupt: Arc<dyn Interrupt>,
    pub socket: Arc<Socket>,
    /// The length of the secret for cancel requests.
    pub secret_bytes: usize,
}

#[derive(Default)]
struct Sessions {
    last: i32,
    by_process: HashMap<i32, (Arc<[u8]>, Arc<Control>)>,
}

impl Sessions {
    fn check_limits(&self, user: &SessionUser, limits: &Limits) -> Result<(), LimitError> {
        if self.by_process.len() >= limits.connections {
            return Err(LimitError::Connections);
        }
        let Some(limit) = user.connections.or(limits.user_connections) else { return Ok(()) };
        let own = self.by_process.values().filter(|(_, control)| control.user.name == user.name).count();
        if own >= limit { Err(LimitError::UserConnections(user.name.clone())) } else { Ok(()) }
    }
}

impl Registry {
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a session until the registration is dropped.
    ///
    /// # Errors
    /// If the limit is reached, or the operating system has no random numbers.
    pub fn register(
        self: &Arc<Self>,
        new: NewSession,
        limits: &Arc<Limits>,
        spools: &Arc<Spools>,
        observer: &Arc<Observer>,
    ) -> Result<Registration, Failure> {
        let NewSession { user, interrupt, socket, secret_bytes } = new;
        let mut secret = vec![0; secret_bytes];
        rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty()).map_err(io::Error::from)?;
        let secret: Arc<[u8]> = secret.into();
        let control = Arc::new(Control::new(
            user,
            Arc::clone(limits),
            Arc::clone(spools),
            Arc::clone(observer),
            interrupt,
            Arc::clone(&self.process_exit),
            socket,
        ));
        let mut sessions = self.sessions();
        sessions.check_limits(&control.user, limits)?;
        // Numbers wrap around; one in use is skipped.
        let process = loop {
            sessions.last = sessions.last.checked_add(1).unwrap_or(1);
            if !sessions.by_process.contains_key(&sessions.last) {
                break sessions.last;
            }
        };
        sessions.by_process.insert(process, (Arc::clone(&secret), Arc::clone(&control)));
        Ok(Registration { process, secret, control, registry: Arc::clone(self) })
    }

    /// Fails if another session would exceed a limit.
    pub fn check_limits(&self, user: &SessionUser, limits: &Limits) -> Result<(), LimitError> {
        self.sessions().check_limits(user, limits)
    }

    pub fn enforce_limits(&self) {
        let now = Instant::now();
        for control in self.controls() {
            enforce_limits(control, now);
        }
    }

    /// Waits until all sessions have ended, for `timeout` at most. Gives whether they have.
    pub fn wait_until_empty(&self, timeout: Duration) -> bool {
        let is_open = |sessions: &mut Sessions| !sessions.by_process.is_empty();
        let waited = self.session_ended.wait_timeout_while(self.sessions(), timeout, is_open);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Waits until a session has ended, for `timeout` at most.
    pub fn wait_for_an_end(&self, timeout: Duration) {
        drop(self.session_ended.wait_timeout(self.sessions(), timeout));
    }

    /// Ends the idle sessions that are in no transaction.
    pub fn end_idle(&self) {
        for control in self.controls() {
            control.end_if_idle();
        }
    }

    /// The session that a cancel request names.
    pub fn find(&self, process: i32, secret: &[u8]) -> Option<Arc<Control>> {
        let sessions = self.sessions();
        let (expected, control) = sessions.by_process.get(&process)?;
        is_equal(expected, secret).then(|| Arc::clone(control))
    }

    /// Stops a session that is the user's.
    ///
    /// A function of SQL calls this, on a thread that must not drop a session: that may need Python's lock, which the
    /// engine has released there. So the caller only gets what it can compare.
    pub fn stop(&self, process: i32, user: &SessionUser, reason: StopReason) -> Stop {
        let sessions = self.sessions();
        match sessions.by_process.get(&process) {
            None => Stop::NoSession,
            Some((_, control)) if (&control.user.name, control.user.entry) != (&user.name, user.entry) => {
                Stop::OtherUser
            }
            Some((_, control)) => match control.stop_if_idle(reason) || stop_in_background(control, reason).is_ok() {
                true => Stop::Sent(Arc::downgrade(control)),
                false => Stop::NoThread,
            },
        }
    }

    /// Whether the session with this number is still this one, and not a later one.
    pub fn has(&self, process: i32, session: &Weak<Control>) -> bool {
        let sessions = self.sessions();
        sessions.by_process.get(&process).is_some_and(|(_, control)| ptr::eq(Arc::as_ptr(control), session.as_ptr()))
    }

    /// The session's control, for callers within this process, which need no secret.
    pub fn by_process(&self, process: i32) -> Option<Arc<Control>> {
        self.sessions().by_process.get(&process).map(|(_, control)| Arc::clone(control))
    }

    pub fn len(&self) -> usize {
        self.sessions().by_process.len()
    }

    pub fn sent(&self) -> u64 {
        self.controls().iter().map(|control| control.socket.sent()).sum()
    }

    /// Ends the sessions of users who do not exist any more.
    pub fn end_others(&self, exists: impl Fn(&SessionUser) -> bool) {
        self.controls()
            .iter()
            .filter(|control| !exists(&control.user))
            .for_each(|control| end(control, StopReason::Shutdown));
    }

    /// Ends all sessions. For `timeout`, they can still send an error to their clients. Then their sockets are closed,
    /// and they have the same time again to end.
    pub fn end_all(&self, timeout: Duration) {
        let reason = if self.process_exit.cause().is_some() { StopReason::EngineFailed } else { StopReason::Shutdown };
        self.controls().iter().for_each(|control| end(control, reason));
        self.wait_until_empty(timeout);
        self.controls().iter().for_each(|control| control.socket.shutdown(Shutdown::Both));
        self.wait_until_empty(timeout);
    }

    fn controls(&self) -> Vec<Arc<Control>> {
        self.sessions().by_process.values().map(|(_, control)| Arc::clone(control)).collect()
    }
}

/// Ends a session after its statement, which is interrupted.
fn end(control: &Arc<Control>, reason: StopReason) {
    if stop_in_background(control, reason).is_err() {
        control.stop(reason);
    }
}

/// Whether two secrets are equal, in constant time.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && std::hint::black_box(difference) == 0
}

/// A session's entry in the registry. Dropping it removes the entry.
pub struct Registration {
    pub process: i32,
    pub secret: Arc<[u8]>,
    pub control: Arc<Control>,
    registry: Arc<Registry>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.sessions().by_process.remove(&self.process);
        self.registry.session_ended.notify_all();
    }
}
