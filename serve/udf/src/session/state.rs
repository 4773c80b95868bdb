//! The state of a session, which its function processes and its handles share.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::CallError;
use crate::layout::MAX_NOTICES;
use crate::memory::MemoryBudget;
use crate::pool::state::PoolState;
use crate::process::Process;
use crate::slots::{ProcessState, SessionSlot};
use crate::stop::StopFlag;

/// What function processes and handles of one SQL session share.
pub(crate) struct SessionState {
    pub pool: Arc<PoolState>,
    /// By which the pool knows whose idle processes it keeps.
    id: u64,
    /// All processes, also those in use.
    running: Mutex<Vec<Weak<Process>>>,
    /// Their number.
    used: Arc<AtomicUsize>,
    /// Set from a cancellation to the next statement.
    pub cancelled: StopFlag,
    has_ended: AtomicBool,
    notices: Mutex<String>,
    /// The memory of its functions in this process.
    pub budget: Arc<MemoryBudget>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionState {
    pub fn new(pool: Arc<PoolState>) -> Self {
        Self {
            id: pool.source.next_id(),
            budget: pool.session_budget(),
            pool,
            running: Mutex::default(),
            used: Arc::default(),
            cancelled: StopFlag::default(),
            has_ended: AtomicBool::new(false),
            notices: Mutex::default(),
        }
    }

    pub fn begin_statement(&self) {
        self.cancelled.reset();
        lock(&self.notices).clear();
    }

    pub fn cancel(&self) {
        self.cancelled.stop();
        let running: Vec<_> = lock(&self.running).iter().filter_map(Weak::upgrade).collect();
        running.iter().filter(|process| process.is_busy()).for_each(|process| process.kill());
    }

    pub fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
        self.cancel();
        self.end_idle(Duration::ZERO);
    }

    pub fn end_idle(&self, time: Duration) {
        self.pool.slots.end_idle(self.id, time);
    }

    pub fn process_ids(&self) -> Vec<i32> {
        let running = lock(&self.running);
        let alive = running.iter().filter_map(Weak::upgrade).filter(|process| !process.is_killed());
        alive.filter_map(|process| process.id()).collect()
    }

    pub fn take_notices(&self) -> String {
        std::mem::take(&mut lock(&self.notices))
    }

    /// An idle process, whose next call has begun. One that has died or was killed meanwhile is dropped. It may live
    /// for a moment after it was killed.
    pub fn take_idle(&self) -> Option<ProcessState> {
        loop {
            let state = self.pool.slots.take_idle(self.id)?;
            if state.process.as_ref().is_some_and(|process| process.begin_call() && !process.has_ended()) {
                return Some(state);
            }
        }
    }

    pub fn give_back(&self, state: ProcessState) {
        let Some(process) = &state.process else { return };
        process.end_call();
        if !process.is_killed() {
            self.pool.slots.give_back(self.id, state, || !self.has_ended.load(Ordering::SeqCst));
        }
    }

    /// Forks a process, whose first call has begun.
    pub fn start(&self) -> Result<ProcessState, CallError> {
        if self.has_ended.load(Ordering::SeqCst) {
            return Err(CallError::Start("the session has ended".to_owned()));
        }
        let limits = &self.pool.source.limits;
        let most = limits.session_processes.unwrap_or(usize::MAX);
        let Some(session_slot) = SessionSlot::take(&self.used, most) else {
            // Another thread of the session may have given one back meanwhile.
            return self.take_idle().ok_or(CallError::TooManySessionProcesses(most));
        };
        let slot = self.pool.slots.take().ok_or(CallError::TooManyProcesses(limits.processes))?;
        let process = Arc::new(Process::start(&self.pool.source)?);
        self.pool.idle_watch.watch(&process)?;
        let mut running = lock(&self.running);
        running.retain(|process| process.strong_count() > 0);
        running.push(Arc::downgrade(&process));
        Ok(ProcessState::new(process, slot, session_slot))
    }

    /// Adds printed text, up to the limit of a statement.
    pub fn add_notices(&self, text: &str) {
        let mut notices = lock(&self.notices);
        let room = MAX_NOTICES.saturating_sub(notices.len());
        notices.push_str(&text[..text.floor_char_boundary(room)]);
    }
}

impl Drop for SessionState {
    fn drop(&mut self) {
        self.end_idle(Duration::ZERO);
    }
}
