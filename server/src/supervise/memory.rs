//! The limit on this process's memory, enforced by the kernel: allocations beyond it fail.
//!
//! The engine's own limit does not include the items of one list, the text of one value, or the plan of a statement.

use std::sync::{Mutex, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The present limit in bytes; `None` if there is no limit.
static LIMIT: Mutex<Option<u64>> = Mutex::new(None);

/// The memory of a session besides its stack: batches in transfer, messages, and values that the server keeps.
const SESSION_BUFFER_BYTES: u64 = 48 << 20;

/// The reserve for work that must not fail for lack of memory, such as the end of a transaction.
const RESERVE_BYTES: u64 = 32 << 20;
/// The session that uses the reserve holds this lock.
static RESERVE_LOCK: Mutex<()> = Mutex::new(());

/// Limits the memory of this process to this number of bytes, plus a share for each session. As for RLIMIT_DATA, memory that is reserved
/// and never touched counts.
pub fn limit_memory(bytes: u64) {
    *LIMIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    change_limit(|limit| limit);
}

/// A session's share of the limit. Dropping it lowers the limit again.
pub(crate) struct MemoryShare(u64);

impl MemoryShare {
    /// The share of a session whose thread has a stack of this number of bytes.
    pub fn new(stack: usize) -> Self {
        let bytes = stack as u64 + SESSION_BUFFER_BYTES;
        change_limit(|limit| limit + bytes);
        Self(bytes)
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        change_limit(|limit| limit.saturating_sub(self.0));
    }
}

/// Does work with the reserve added to the limit, one session at a time. Other sessions may allocate from the reserve at the same time, so
/// the work may still fail.
pub(crate) fn with_reserve<T>(work: impl FnOnce() -> T) -> T {
    let _one = RESERVE_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    change_limit(|limit| limit + RESERVE_BYTES);
    let _room = MemoryShare(RESERVE_BYTES);
    work()
}

fn change_limit(to: impl FnOnce(u64) -> u64) {
    let mut limit = LIMIT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(limit) = &mut *limit {
        *limit = to(*limit);
        let maximum = getrlimit(Resource::Data).maximum;
        // It fails above the hard limit of the process. Then the present limit stays.
        let _ = setrlimit(Resource::Data, Rlimit { current: Some(*limit), maximum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_raise_the_limit_until_they_end() {
        let current = || getrlimit(Resource::Data).current;
        let before = current();
        drop(MemoryShare::new(1));
        assert_eq!(current(), before);
        limit_memory(1 << 50);
        let share = MemoryShare::new(1 << 20);
        assert_eq!(current(), Some((1 << 50) + (1 << 20) + SESSION_BUFFER_BYTES));
        drop(share);
        assert_eq!(with_reserve(current), Some((1 << 50) + RESERVE_BYTES));
        assert_eq!(current(), Some(1 << 50));
    }
}
