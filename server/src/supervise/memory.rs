//! How much memory this process may have, held by the kernel: what is more fails to be allocated, and the machine goes on.
//!
//! The engine keeps to a limit of its own, but not with everything: the rows of one list, the text of one value and the plan of
//! a statement are outside of it.

use std::sync::{Mutex, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bytes that are allowed, sessions apart; none where nothing is limited.
static LIMIT: Mutex<Option<u64>> = Mutex::new(None);

/// What a session may have beside its stack: batches on their way, messages, and what it has the server keep.
const BUFFERS: u64 = 48 << 20;

/// What is added for work that must not fail for want of memory, such as the end of a transaction.
const RESERVE: u64 = 32 << 20;
/// Held by the one session that has the reserve: it is there once, however many want it.
static RESERVED: Mutex<()> = Mutex::new(());

/// Limits the memory of this process to so many bytes and what its sessions add. Memory that is reserved and never touched
/// counts, as RLIMIT_DATA has it.
pub fn limit_memory(bytes: u64) {
    *LIMIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    change(|limit| limit);
}

/// A session's part. It goes with the session.
pub(crate) struct Room(u64);

impl Room {
    /// Room for a session whose thread has a stack of so many bytes.
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

/// Does work for which the process may have a little more memory than its limit. One session at a time; others may take some of that
/// memory meanwhile, so the work may still fail.
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
        // It fails above the operator's own limit, which then holds.
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
