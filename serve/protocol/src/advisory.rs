//! Advisory locks: numbers that sessions lock, and that mean nothing to the database.
//! <https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS>
//!
//! A session takes them while it runs a statement, on the thread that plans it; the statement's own threads ask for
//! them. The rules are PostgreSQL's: requests are served in their order, a session never waits for itself, and of
//! sessions that wait for each other, the last one gets an error.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a waiting session takes at most to notice that it is stopped.
const TICK: Duration = Duration::from_millis(20);

/// The most locks of a session: PostgreSQL's table of locks has 6,400 for all sessions by default.
const MOST: usize = 10_000;

/// What is locked: one number or two. They never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the numbers are the client's")]
pub enum LockKey {
    One(i64),
    Two(i32, i32),
}

/// Who else may have a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Nobody.
    Exclusive,
    /// Those that share it.
    Shared,
}

/// When a lock ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockSpan {
    /// With the session.
    Session,
    /// With the transaction.
    Transaction,
}

/// Why a session does not get a lock for which it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockRefusal {
    /// Those that have it wait for this session.
    Deadlock,
    /// The statement is stopped.
    Stopped,
    /// It has very many.
    TooMany,
}

impl fmt::Display for LockRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadlock => "deadlock detected: sessions wait for each other's advisory locks",
            Self::Stopped => "the statement was stopped while it waited for an advisory lock",
            Self::TooMany => "out of shared memory: a session has at most 10,000 advisory locks",
        })
    }
}

/// The locks of all sessions.
#[derive(Debug, Default)]
pub struct AdvisoryLocks {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    grants: HashMap<LockKey, Vec<Grant>>,
    /// The number of each session's entries in `grants`.
    counts: HashMap<u64, usize>,
    /// In the order in which they came.
    requests: Vec<Request>,
    last: u64,
}

#[derive(Debug)]
struct Grant {
    holder: u64,
    mode: LockMode,
    span: LockSpan,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    number: u64,
    holder: u64,
    key: LockKey,
    mode: LockMode,
}

/// A session's locks. They end with it.
pub struct LockHolder {
    locks: Arc<AdvisoryLocks>,
    number: u64,
    is_stopped: Box<dyn Fn() -> bool + Send + Sync>,
    /// Whether a lock ends with the transaction.
    has_transactions: AtomicBool,
}

impl AdvisoryLocks {
    /// A session. `is_stopped` says whether its statement is to end.
    pub fn holder(self: &Arc<Self>, is_stopped: impl Fn() -> bool + Send + Sync + 'static) -> Arc<LockHolder> {
        let number = self.state().next();
        let locks = Arc::clone(self);
        Arc::new(LockHolder { locks, number, is_stopped: Box::new(is_stopped), has_transactions: false.into() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The sessions for which a request has to wait: those with the lock, and those that asked for it before.
    fn before(&self, request: Request) -> impl Iterator<Item = u64> {
        let conflicts = move |mode| mode == LockMode::Exclusive || request.mode == LockMode::Exclusive;
        let grants = self.grants.get(&request.key).map_or(&[][..], Vec::as_slice);
        // It would wait for itself behind others that wait for its own lock.
        let is_first = grants.iter().any(|grant| grant.holder == request.holder);
        let requests = self.requests.iter().filter(move |other| {
            !is_first && other.number < request.number && other.key == request.key && conflicts(other.mode)
        });
        grants
            .iter()
            .filter(move |grant| conflicts(grant.mode))
            .map(|grant| grant.holder)
            .chain(requests.map(|other| other.holder))
            .filter(move |holder| *holder != request.holder)
    }

    fn is_free(&self, request: Request) -> bool {
        self.before(request).next().is_none()
    }

    /// Whether one of those for which this request waits, waits for its session.
    fn is_deadlock(&self, request: Request) -> bool {
        let mut seen = Vec::new();
        let mut open: Vec<_> = self.before(request).collect();
        while let Some(holder) = open.pop() {
            if holder == request.holder {
                return true;
            }
            if !seen.contains(&holder) {
                seen.push(holder);
                let theirs = self.requests.iter().filter(|other| other.holder == holder);
                open.extend(theirs.flat_map(|other| self.before(*other)));
            }
        }
        false
    }

    fn grant(&mut self, request: Request, span: LockSpan) -> Result<(), LockRefusal> {
        let grants = self.grants.entry(request.key).or_default();
        let same = |grant: &&mut Grant| (grant.holder, grant.mode, grant.span) == (request.holder, request.mode, span);
        match grants.iter_mut().find(same) {
            Some(grant) => grant.count += 1,
            None => {
                let count = self.counts.entry(request.holder).or_default();
                if *count == MOST {
                    return Err(LockRefusal::TooMany);
                }
                *count += 1;
                grants.push(Grant { holder: request.holder, mode: request.mode, span, count: 1 });
            }
        }
        Ok(())
    }

    /// Takes away what `ends` says of a session's locks.
    fn release(&mut self, holder: u64, ends: impl Fn(&Grant) -> bool) {
        let mut left = 0;
        self.grants.retain(|_, grants| {
            grants.retain(|grant| grant.holder != holder || !ends(grant));
            left += grants.iter().filter(|grant| grant.holder == holder).count();
            !grants.is_empty()
        });
        match left {
            0 => self.counts.remove(&holder),
            left => self.counts.insert(holder, left),
        };
    }
}

impl LockHolder {
    /// Takes a lock if that needs no waiting. Returns whether the session has got it.
    ///
    /// # Errors
    /// The session has too many.
    pub fn try_lock(&self, key: LockKey, mode: LockMode, span: LockSpan) -> Result<bool, LockRefusal> {
        let mut state = self.locks.state();
        let request = Request { number: state.next(), holder: self.number, key, mode };
        let is_free = state.is_free(request);
        if is_free {
            self.take(&mut state, request, span)?;
        }
        Ok(is_free)
    }

    /// Waits for a lock.
    ///
    /// # Errors
    /// It would never come, the statement is stopped, or the session has too many.
    pub fn lock(&self, key: LockKey, mode: LockMode, span: LockSpan) -> Result<(), LockRefusal> {
        let mut state = self.locks.state();
        let request = Request { number: state.next(), holder: self.number, key, mode };
        if !state.is_free(request) {
            if state.is_deadlock(request) {
                return Err(LockRefusal::Deadlock);
            }
            state.requests.push(request);
            while !state.is_free(request) {
                if (self.is_stopped)() {
                    state.requests.retain(|other| other.number != request.number);
                    self.locks.changed.notify_all();
                    return Err(LockRefusal::Stopped);
                }
                (state, _) = self.locks.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            }
            state.requests.retain(|other| other.number != request.number);
        }
        let taken = self.take(&mut state, request, span);
        // Those behind it may share the lock.
        self.locks.changed.notify_all();
        taken
    }

    fn take(&self, state: &mut State, request: Request, span: LockSpan) -> Result<(), LockRefusal> {
        if span == LockSpan::Transaction {
            self.has_transactions.store(true, Ordering::Relaxed);
        }
        state.grant(request, span)
    }

    /// Gives back a session's lock, once for each time it was taken. Returns whether there was one.
    pub fn unlock(&self, key: LockKey, mode: LockMode) -> bool {
        let mut state = self.locks.state();
        let grants = state.grants.get_mut(&key).map_or(&mut [][..], Vec::as_mut_slice);
        let own = |grant: &&mut Grant| (grant.holder, grant.mode, grant.span) == (self.number, mode, LockSpan::Session);
        let Some(grant) = grants.iter_mut().find(own) else { return false };
        grant.count -= 1;
        state.release(self.number, |grant| grant.count == 0);
        self.locks.changed.notify_all();
        true
    }

    /// Gives back all locks of the session, but not those of its transaction.
    pub fn unlock_all(&self) {
        self.release(|grant| grant.span == LockSpan::Session);
    }

    /// Ends the locks of a transaction that has ended.
    pub fn end_transaction(&self) {
        if self.has_transactions.swap(false, Ordering::Relaxed) {
            self.release(|grant| grant.span == LockSpan::Transaction);
        }
    }

    /// Ends all locks of the session.
    pub fn end(&self) {
        self.release(|_| true);
    }

    fn release(&self, ends: impl Fn(&Grant) -> bool) {
        self.locks.state().release(self.number, ends);
        self.locks.changed.notify_all();
    }
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        self.release(|_| true);
    }
}

#[cfg(test)]
#[path = "advisory/tests.rs"]
mod tests;
