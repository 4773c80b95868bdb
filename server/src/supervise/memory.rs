//! The limit on this process's memory, enforced by the kernel: allocations beyond it fail.
//!
//! The engine has a limit of its own, which does not cover everything: not the rows of one list, the text of one value, or the plan
//! of a statement.

use std::sync::{Mutex, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit in bytes, without sessions; none if there is no limit.
static LIMIT: Mutex<Option<u64>> = Mutex::new(None);

/// The part of a session besides its stack: batches in transfer, messages, and what the server keeps for it.
const BUFFERS: u64 = 48 << 20;

/// The reserve for work that must not fail for lack of memory, such as the end of a transaction.
const RESERVE: u64 = 32 << 20;
/// Held by the session that uses the reserve. There is one reserve for all.
static RESERVED: Mutex<()> = Mutex::new(());

/// Limits the memory of this process to so many bytes, plus the part of each session. Memory that is reserved and never touched counts,
/// as in RLIMIT_DATA.
pub fn limit_memory(bytes: u64) {
    *LIMIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    change(|limit| limit);
}

/// A session's part, until it is dropped.
pub(crate) struct Room(u64);

impl Room {
    /// The part of a session whose thread has a stack of so many bytes.
    pub fn new(stack: usize) -> Self {
        let bytes = stack as u64 + BUFFERS;
        change(|limit| limit + bytes);
        Self(bytes)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        change(|limit| limit.saturating_sub(self.0));
    }
}

/// Does work with the reserve added to the limit, one session at a time. Other sessions may allocate from the reserve meanwhile, so the
/// work may still fail.
pub(crate) fn with_reserve<T>(work: impl FnOnce() -> T) -> T {
    let _one = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    change(|limit| limit + RESERVE);
    let _room = Room(RESERVE);
    work()
}

fn change(to: impl FnOnce(u64) -> u64) {
    let mut limit = LIMIT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(limit) = &mut *limit {
        *limit = to(*limit);
        let maximum = getrlimit(Resource::Data).maximum;
        // It fails above the operator's own limit, which then stays.
        let _ = setrlimit(Resource::Data, Rlimit { current: Some(*limit), maximum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_add_to_the_limit_and_take_it_along() {
        let current = || getrlimit(Resource::Data).current;
        let before = current();
        drop(Room::new(1));
        assert_eq!(current(), before);
        limit_memory(1 << 50);
        let room = Room::new(1 << 20);
        assert_eq!(current(), Some((1 << 50) + (1 << 20) + BUFFERS));
        drop(room);
        assert_eq!(with_reserve(current), Some((1 << 50) + RESERVE));
        assert_eq!(current(), Some(1 << 50));
    }
}
