//! Stopping a session's statement from outside: cancel requests, clients that are gone, a server that stops.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::engine::Interrupt;
use crate::error::Failure;
use crate::socket::Socket;

/// Why a statement is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A cancel request.
    Canceled,
    /// The client closed its connection.
    Gone,
    /// The server stops.
    Shutdown,
}

/// One session, as others may reach it.
pub struct Control {
    state: Mutex<State>,
    idle: Condvar,
    interrupt: Arc<dyn Interrupt>,
    socket: Arc<Socket>,
}

#[derive(Default)]
struct State {
    /// How many statements have started; the last one's number.
    started: u64,
    is_busy: bool,
    reason: Option<Reason>,
}

/// How long an engine may take to notice an interruption before it is told again: one that comes just before the
/// engine starts on the statement is lost.
const INSIST: Duration = Duration::from_millis(20);
const INSIST_AT_MOST: Duration = Duration::from_secs(1);

impl Control {
    fn new(interrupt: Arc<dyn Interrupt>, socket: Arc<Socket>) -> Self {
        Self { state: Mutex::default(), idle: Condvar::new(), interrupt, socket }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A statement starts; it ends when the guard is dropped.
    pub fn start(self: &Arc<Self>) -> Running {
        let mut state = self.state();
        state.started += 1;
        state.is_busy = true;
        state.reason = state.reason.filter(|reason| *reason > Reason::Canceled);
        Running { control: Arc::clone(self) }
    }

    /// Fails if somebody wants the statement to end.
    pub fn check(&self) -> Result<(), Failure> {
        match self.state().reason {
            None => Ok(()),
            Some(Reason::Canceled) => Err(Failure::Canceled),
            Some(Reason::Shutdown) => Err(Failure::Shutdown),
            Some(Reason::Gone) => Err(Failure::Disconnected(io::ErrorKind::ConnectionReset.into())),
        }
    }

    /// Wants the running statement to end; gives what runs, if anything does. Except for cancel requests the session
    /// ends with it, and does even if nothing runs.
    pub fn stop(&self, reason: Reason) -> Option<Stopping<'_>> {
        let mut state = self.state();
        if state.is_busy || reason > Reason::Canceled {
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
    /// Waits until it has ended, and interrupts it again from time to time until then.
    pub fn wait(self) {
        let mut pause = INSIST;
        let mut state = self.control.state();
        loop {
            state = self.control.idle.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
            if !state.is_busy || state.started != self.statement {
                return;
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
        self.control.state().is_busy = false;
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

impl Registry {
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a session known, until the ticket is dropped.
    ///
    /// # Errors
    /// If the operating system has no random numbers.
    pub fn register(self: &Arc<Self>, interrupt: Arc<dyn Interrupt>, socket: Arc<Socket>) -> io::Result<Ticket> {
        // Protocol 3.0 has room for 32 bits.
        let mut secret = [0; 4];
        rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::empty())?;
        let control = Arc::new(Control::new(interrupt, socket));
        let mut sessions = self.sessions();
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

    fn wait_until_empty(&self, patience: Duration) {
        let is_open = |sessions: &mut Sessions| !sessions.by_process.is_empty();
        drop(self.emptied.wait_timeout_while(self.sessions(), patience, is_open));
    }
}

/// Stops what a session runs, and sees to it, without making the caller wait.
pub fn stop_and_wait(control: Arc<Control>, reason: Reason) {
    std::thread::spawn(move || {
        if let Some(stopping) = control.stop(reason) {
            stopping.wait();
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
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Interrupt for Count {
        fn interrupt(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn ticket(registry: &Arc<Registry>) -> (Ticket, Arc<Count>) {
        let count = Arc::new(Count::default());
        let (socket, _) = UnixStream::pair().unwrap();
        (registry.register(count.clone(), Arc::new(Socket::Unix(socket))).unwrap(), count)
    }

    #[test]
    fn only_the_right_secret_finds_a_session() {
        let registry = Arc::new(Registry::default());
        let (ticket, _) = ticket(&registry);
        assert!(registry.find(ticket.process, &ticket.secret).is_some());
        assert!(registry.find(ticket.process, &[ticket.secret.as_slice(), &[0]].concat()).is_none());
        assert!(registry.find(ticket.process + 1, &ticket.secret).is_none());
        let (process, secret) = (ticket.process, ticket.secret);
        drop(ticket);
        assert!(registry.find(process, &secret).is_none());
        assert_eq!(registry.len(), 0);
    }

    #[test]
    fn a_cancel_request_stops_what_runs_and_nothing_after() {
        let registry = Arc::new(Registry::default());
        let (ticket, count) = ticket(&registry);
        assert!(ticket.control.stop(Reason::Canceled).is_none());
        assert_eq!(count.0.load(Ordering::SeqCst), 0);

        let running = ticket.control.start();
        let stopping = ticket.control.stop(Reason::Canceled).unwrap();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(matches!(ticket.control.check(), Err(Failure::Canceled)));
        drop(running);
        let next = ticket.control.start();
        stopping.wait();
        assert_eq!(count.0.load(Ordering::SeqCst), 1, "the next statement was interrupted");
        assert!(ticket.control.check().is_ok());
        drop(next);
    }

    #[test]
    fn an_engine_that_does_not_listen_is_told_again() {
        let registry = Arc::new(Registry::default());
        let (ticket, count) = ticket(&registry);
        let running = ticket.control.start();
        let control = Arc::clone(&ticket.control);
        let stopper = std::thread::spawn(move || control.stop(Reason::Canceled).unwrap().wait());
        while count.0.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        drop(running);
        stopper.join().unwrap();
    }

    #[test]
    fn a_client_that_is_gone_stays_gone() {
        let registry = Arc::new(Registry::default());
        let (ticket, _) = ticket(&registry);
        assert!(ticket.control.stop(Reason::Gone).is_none());
        drop(ticket.control.start());
        assert!(matches!(ticket.control.check(), Err(Failure::Disconnected(_))));
    }
}
