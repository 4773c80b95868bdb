//! The slots for function processes of all sessions, and the idle processes that hold them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::compiled::Compiled;
use crate::layout::RequestHead;
use crate::pace::Pace;
use crate::process::Process;

/// The slots of a server. One lock guards the free ones and the idle processes: so whoever finds no slot has seen that
/// all are in use at one moment.
#[derive(Debug)]
pub(crate) struct Slots {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// The processes that wait for their session's next call, the least recently used one first. Each holds a slot, so
    /// there are not many.
    idle: VecDeque<IdleProcess>,
}

#[derive(Debug)]
struct IdleProcess {
    session: u64,
    since: Instant,
    state: ProcessState,
}

/// The right to one function process.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Slots>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.lock().free += 1;
    }
}

/// The right to one of the processes that a session may have.
#[derive(Debug)]
pub(crate) struct SessionSlot(Arc<AtomicUsize>);

impl SessionSlot {
    /// Takes a slot, if fewer than `most` are `used`.
    pub fn take(used: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let more = |used| (used < most).then_some(used + 1);
        let is_taken = used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok();
        is_taken.then(|| Self(Arc::clone(used)))
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A function process and the server's record of its state.
#[derive(Debug, Default)]
pub(crate) struct ProcessState {
    pub process: Option<Arc<Process>>,
    /// The process's slot among those of all sessions, and among those of its own. They are dropped after it.
    pub slot: Option<Slot>,
    _session_slot: Option<SessionSlot>,
    pub compiled: Compiled,
    pub pace: Pace,
    /// The head and the words of its last call, if that is done and nothing else has been asked since.
    pub last: Option<(RequestHead, Vec<u64>)>,
}

impl ProcessState {
    pub fn new(process: Arc<Process>, slot: Slot, session_slot: SessionSlot) -> Self {
        Self { process: Some(process), slot: Some(slot), _session_slot: Some(session_slot), ..Self::default() }
    }
}

impl Slots {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, state: Mutex::new(State { free: limit, idle: VecDeque::new() }) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of slots that are taken.
    pub fn taken(&self) -> usize {
        self.limit - self.lock().free
    }

    /// Takes a free slot, or that of the least recently used idle process, whichever session it belongs to. That
    /// process ends: what a session has left in a process must never be there for another one.
    pub fn take(self: &Arc<Self>) -> Option<Slot> {
        let mut state = self.lock();
        if state.free > 0 {
            state.free -= 1;
            return Some(Slot(Arc::clone(self)));
        }
        let ended = state.idle.pop_front();
        // Outside of the lock, because ending a process takes longer.
        drop(state);
        ended.and_then(|mut idle| idle.state.slot.take())
    }

    /// The session's most recently used idle process.
    pub fn take_idle(&self, session: u64) -> Option<ProcessState> {
        let mut state = self.lock();
        let at = state.idle.iter().rposition(|idle| idle.session == session)?;
        state.idle.remove(at).map(|idle| idle.state)
    }

    /// Keeps a process for the next call of its session, if that `continues`.
    pub fn give_back(&self, session: u64, idle: ProcessState, continues: impl FnOnce() -> bool) {
        let mut state = self.lock();
        // Asked under the lock: a session that ends says so before it ends its idle processes, and then none is missed.
        if continues() {
            state.idle.push_back(IdleProcess { session, since: Instant::now(), state: idle });
        } else {
            drop(state);
            drop(idle);
        }
    }

    /// Ends the session's processes that have been idle for this time.
    pub fn end_idle(&self, session: u64, time: Duration) {
        self.end(|idle| idle.session == session && idle.since.elapsed() >= time);
    }

    /// Gives up the slots of idle processes that were killed.
    pub fn end_killed(&self) {
        self.end(|idle| idle.state.process.as_ref().is_some_and(|process| process.is_killed()));
    }

    fn end(&self, ends: impl Fn(&IdleProcess) -> bool) {
        // Outside of the lock, because ending a process takes longer.
        let mut ended = Vec::new();
        self.lock().idle.retain_mut(|idle| {
            let is_end = ends(idle);
            if is_end {
                ended.push(std::mem::take(&mut idle.state));
            }
            !is_end
        });
    }
}
