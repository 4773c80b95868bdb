//! Whether a session waits for its client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A thread that is in a system call for a shorter time is only passing.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// Since when a thread has been in a system call that receives from a client or sends to it.
#[derive(Debug)]
pub(super) struct Waits {
    created: Instant,
    /// Milliseconds after `created`, and one more; 0 if no thread is in such a call.
    since: AtomicU64,
}

impl Waits {
    pub(super) fn new() -> Self {
        Self { created: Instant::now(), since: AtomicU64::new(0) }
    }

    /// Notes the call of this thread until the guard is dropped.
    pub(super) fn begin(&self) -> Wait<'_> {
        self.since.store(self.now() + 1, Ordering::Relaxed);
        Wait(self)
    }

    /// Whether a thread waits for the client.
    pub(super) fn is_long(&self) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        since > 0 && u128::from((self.now() + 1).saturating_sub(since)) >= SHORTEST_WAIT.as_millis()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }
}

/// A system call that may wait for the client.
pub(super) struct Wait<'a>(&'a Waits);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.0.since.store(0, Ordering::Relaxed);
    }
}
