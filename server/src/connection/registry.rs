//! All sessions, by the numbers that cancel requests use.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::connection::alarm::Alarm;
use crate::connection::cancel::{Control, Reason, expire, stop_and_wait};
use crate::connection::socket::Socket;
use crate::engine::{Interrupt, Who};
use crate::error::Failure;
use crate::limits::{LimitError, Limits};
use crate::observe::Observer;
use crate::rows::spool::Spools;

/// All sessions, by the numbers that cancel requests use.
#[derive(Default)]
pub struct Registry {
    sessions: Mutex<Sessions>,
    emptied: Condvar,
    pub alarm: Arc<Alarm>,
}

/// A client that has logged in, and how to reach its session.
pub struct Arrival {
    pub who: Who,
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

    /// Registers a session until the ticket is dropped.
    ///
    /// # Errors
    /// If the limit is reached, or the operating system has no random numbers.
    pub fn register(
        self: &Arc<Self>,
        arrival: Arrival,
        limits: &Arc<Limits>,
        spools: &Arc<Spools>,
        observer: &Arc<Observer>,
    ) -> Result<Ticket, Failure> {
        let Arrival { who, interrupt, socket, secret_bytes } = arrival;
        let mut secret = vec![0; secret_bytes];
        rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty()).map_err(io::Error::from)?;
        let secret: Arc<[u8]> = secret.into();
        let control = Arc::new(Control::new(
            who,
            Arc::clone(limits),
            Arc::clone(spools),
            Arc::clone(observer),
            interrupt,
            Arc::clone(&self.alarm),
            socket,
        ));
        let mut sessions = self.sessions();
        sessions.admit(&control.who, limits)?;
        // Numbers wrap around; one in use is skipped.
        let process = loop {
            sessions.last = sessions.last.checked_add(1).unwrap_or(1);
            if !sessions.by_process.contains_key(&sessions.last) {
                break sessions.last;
            }
        };
        sessions.by_process.insert(process, (Arc::clone(&secret), Arc::clone(&control)));
        Ok(Ticket { process, secret, control, registry: Arc::clone(self) })
    }

    /// Fails if there is no room for another session.
    pub fn admit(&self, who: &Who, limits: &Limits) -> Result<(), LimitError> {
        self.sessions().admit(who, limits)
    }

    pub fn expire(&self) {
        let now = Instant::now();
        for control in self.controls() {
            expire(control, now);
        }
    }

    /// Waits for `patience` at most until all sessions have ended; gives whether they have.
    pub fn wait_until_empty(&self, patience: Duration) -> bool {
        let is_open = |sessions: &mut Sessions| !sessions.by_process.is_empty();
        let waited = self.emptied.wait_timeout_while(self.sessions(), patience, is_open);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
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
        is_same(expected, secret).then(|| Arc::clone(control))
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

    /// Ends all sessions. Within `patience`, those that still send can tell their client. Then their sockets are closed, and they have
    /// the same time again to end.
    pub fn end_all(&self, patience: Duration) {
        let reason = if self.alarm.cause().is_some() { Reason::EngineFailed } else { Reason::Shutdown };
        for control in self.controls() {
            control.socket.shutdown(Shutdown::Read);
            if stop_and_wait(&control, reason).is_err() {
                control.stop(reason);
            }
        }
        self.wait_until_empty(patience);
        self.controls().iter().for_each(|control| control.socket.shutdown(Shutdown::Both));
        self.wait_until_empty(patience);
    }

    fn controls(&self) -> Vec<Arc<Control>> {
        self.sessions().by_process.values().map(|(_, control)| Arc::clone(control)).collect()
    }
}

/// Whether two secrets are equal, in constant time.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && std::hint::black_box(difference) == 0
}

/// A session's place in the registry.
pub struct Ticket {
    pub process: i32,
    pub secret: Arc<[u8]>,
    pub control: Arc<Control>,
    registry: Arc<Registry>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.registry.sessions().by_process.remove(&self.process);
        self.registry.emptied.notify_all();
    }
}
