//! The worker processes of one SQL session.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::CallError;
use crate::layout::MAX_NOTICES;
use crate::memory::MemoryBudget;
use crate::places::{SessionPlace, WorkerState};
use crate::pool::PoolState;
use crate::process::Process;
use crate::stop::StopFlag;
use crate::worker::FunctionWorker;

/// The worker processes of one SQL session. No other session ever uses them. Clones are handles to the same.
#[derive(Clone)]
pub struct SessionWorkers(Arc<SessionState>);

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

impl SessionWorkers {
    pub(crate) fn new(pool: Arc<PoolState>) -> Self {
        Self(Arc::new(SessionState {
            id: pool.source.next_id(),
            budget: pool.session_budget(),
            pool,
            running: Mutex::default(),
            used: Arc::default(),
            cancelled: StopFlag::default(),
            has_ended: AtomicBool::new(false),
            notices: Mutex::default(),
        }))
    }

    /// Begins a statement: a cancellation and printed text of the one before are forgotten.
    pub fn begin_statement(&self) {
        self.0.cancelled.reset();
        lock(&self.0.notices).clear();
    }

    /// A worker for one thread. Its process is an idle one of the session, or is forked at the first call. Dropping it gives it back.
    pub fn worker(&self) -> FunctionWorker {
        FunctionWorker::new(Arc::clone(&self.0))
    }

    /// The memory that its functions may use in this process (`--udf-memory`): rows that are collected, results, rows of groups.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.0.budget
    }

    /// Cancels the statement: processes that run a function are killed, and their calls fail, as later ones of the statement do.
    pub fn cancel(&self) {
        self.0.cancelled.stop();
        let running: Vec<_> = lock(&self.0.running).iter().filter_map(Weak::upgrade).collect();
        running.iter().filter(|process| process.is_busy()).for_each(|process| process.kill());
    }

    /// Ends the session: its processes end, whoever still has a handle, and calls fail from now on.
    pub fn end(&self) {
        self.0.has_ended.store(true, Ordering::SeqCst);
        self.cancel();
        self.0.pool.places.end_idle(self.0.id, Duration::ZERO);
    }

    /// Tells the session's client something, in a line, beside what functions print.
    pub fn note(&self, line: &str) {
        self.0.add_notices(&format!("{line}\n"));
    }

    /// The text that the statement's functions have printed since it was last taken.
    pub fn take_notices(&self) -> String {
        std::mem::take(&mut lock(&self.0.notices))
    }

    /// Ends processes that have been idle for this time. A server calls this from time to time for each session.
    pub fn end_idle(&self, time: Duration) {
        self.0.pool.places.end_idle(self.0.id, time);
    }

    /// The ids of the session's worker processes.
    pub fn process_ids(&self) -> Vec<i32> {
        let running = lock(&self.0.running);
        let alive = running.iter().filter_map(Weak::upgrade).filter(|process| !process.is_killed());
        alive.filter_map(|process| process.id()).collect()
    }
}

impl Drop for SessionState {
    fn drop(&mut self) {
        self.pool.places.end_idle(self.id, Duration::ZERO);
    }
}

impl SessionState {
    /// An idle process, whose next call has begun. One that has died or was killed meanwhile is dropped. It may live for a moment after it was
    /// killed.
    pub fn take_idle(&self) -> Option<WorkerState> {
        loop {
            let state = self.pool.places.take_idle(self.id)?;
            if state.process.as_ref().is_some_and(|process| process.begin_call() && !process.has_ended()) {
                return Some(state);
            }
        }
    }

    pub fn give_back(&self, state: WorkerState) {
        let Some(process) = &state.process else { return };
        process.end_call();
        if !process.is_killed() {
            self.pool.places.give_back(self.id, state, || !self.has_ended.load(Ordering::SeqCst));
        }
    }

    /// Forks a process, whose first call has begun.
    pub fn start(&self) -> Result<WorkerState, CallError> {
        if self.has_ended.load(Ordering::SeqCst) {
            return Err(CallError::Start("the session has ended".to_owned()));
        }
        let limits = &self.pool.source.limits;
        let most = limits.session_workers.unwrap_or(usize::MAX);
        let Some(session_place) = SessionPlace::take(&self.used, most) else {
            // Another thread of the session may have given one back meanwhile.
            return self.take_idle().ok_or(CallError::TooManySessionWorkers(most));
        };
        let place = self.pool.places.take().ok_or(CallError::TooManyWorkers(limits.workers))?;
        let process = Arc::new(Process::start(&self.pool.source)?);
        self.pool.idle_watch.watch(&process)?;
        let mut running = lock(&self.running);
        running.retain(|process| process.strong_count() > 0);
        running.push(Arc::downgrade(&process));
        Ok(WorkerState::new(process, place, session_place))
    }

    /// Adds printed text, up to the limit of a statement.
    pub fn add_notices(&self, text: &str) {
        let mut notices = lock(&self.notices);
        let room = MAX_NOTICES.saturating_sub(notices.len());
        notices.push_str(&text[..text.floor_char_boundary(room)]);
    }
}
