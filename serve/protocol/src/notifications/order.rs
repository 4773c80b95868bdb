//! The order of the commits that send notifications: one runs at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a waiting session takes at most to notice that it is stopped.
const TICK: Duration = Duration::from_millis(20);

/// Gives sessions their turns to commit.
#[derive(Debug, Default)]
pub(super) struct CommitOrder {
    is_taken: Mutex<bool>,
    freed: Condvar,
}

/// A session's turn to commit. It ends when this is dropped.
pub(crate) struct Turn<'a>(&'a CommitOrder);

impl CommitOrder {
    fn is_taken(&self) -> MutexGuard<'_, bool> {
        self.is_taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other session has its turn.
    ///
    /// # Errors
    /// If `check` fails while the session waits.
    pub(super) fn turn<E>(&self, check: impl Fn() -> Result<(), E>) -> Result<Turn<'_>, E> {
        let mut is_taken = self.is_taken();
        while *is_taken {
            is_taken = self.freed.wait_timeout(is_taken, TICK).unwrap_or_else(PoisonError::into_inner).0;
            check()?;
        }
        *is_taken = true;
        Ok(Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.is_taken() = false;
        self.0.freed.notify_one();
    }
}
