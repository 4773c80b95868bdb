//! Limits on bytes that somebody keeps: memory of a session, files of a user.
//!
//! Bytes are charged before they are taken. What keeps them is a [`Charged`], has its items in a [`ChargedVec`], or
//! holds a [`Charge`]. All of these release their bytes when they are dropped, so nobody can forget to release them.
//!
//! ```
//! use colonnade_budget::Budget;
//!
//! let server = Budget::new(Some(1000), |limit| format!("all sessions use more than {limit} bytes"));
//! let session = server.part(Some(600), |limit| format!("the session uses more than {limit} bytes"));
//! let charge = session.charge(500)?;
//! assert_eq!((session.remaining(), server.remaining()), (100, 500));
//! assert_eq!(session.charge(101).unwrap_err(), "the session uses more than 600 bytes");
//! drop(charge);
//! assert_eq!(server.used(), 0);
//! # Ok::<(), String>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod charged_vec;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use charged_vec::ChargedVec;

/// A limit in bytes, and the number of bytes in use. `E` is the error of who exceeds it.
pub struct Budget<E> {
    limit: usize,
    used: AtomicUsize,
    error: fn(usize) -> E,
    /// The budget that this one is a part of: each charge counts in both.
    whole: Option<Arc<Self>>,
}

/// A part of a budget that is in use until this is dropped.
pub struct Charge<E> {
    budget: Arc<Budget<E>>,
    bytes: usize,
}

/// A value and its part of a budget.
#[derive(Debug)]
pub struct Charged<T, E> {
    value: T,
    _charge: Charge<E>,
}

/// The overhead of a kept value: an entry of a map, headers of allocations.
const OVERHEAD: usize = 128;

impl<E> fmt::Debug for Budget<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Budget").field("limit", &self.limit).field("used", &self.used).finish_non_exhaustive()
    }
}

impl<E> fmt::Debug for Charge<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Charge").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<E> Budget<E> {
    /// A budget of `limit` bytes; `None` is no limit. `error` makes the error from the limit.
    pub fn new(limit: Option<usize>, error: fn(usize) -> E) -> Arc<Self> {
        Arc::new(Self { limit: limit.unwrap_or(usize::MAX), used: AtomicUsize::new(0), error, whole: None })
    }

    /// A part of this budget with a limit of its own.
    pub fn part(self: &Arc<Self>, limit: Option<usize>, error: fn(usize) -> E) -> Arc<Self> {
        let (limit, whole) = (limit.unwrap_or(usize::MAX), Some(Arc::clone(self)));
        Arc::new(Self { limit, used: AtomicUsize::new(0), error, whole })
    }

    /// Charges `bytes`.
    ///
    /// # Errors
    /// If less is left.
    pub fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge<E>, E> {
        let mut charge = self.empty_charge();
        charge.set(bytes)?;
        Ok(charge)
    }

    /// A charge of 0 bytes, which can grow.
    pub fn empty_charge(self: &Arc<Self>) -> Charge<E> {
        Charge { budget: Arc::clone(self), bytes: 0 }
    }

    /// Keeps a value of `bytes`.
    ///
    /// # Errors
    /// If less is left.
    pub fn keep<T>(self: &Arc<Self>, value: T, bytes: usize) -> Result<Charged<T, E>, E> {
        self.empty_charge().keep(value, bytes)
    }

    /// The most bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes that are left of this budget's own limit.
    pub fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.used())
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: usize) -> Result<(), E> {
        let take = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map_err(|_| (self.error)(self.limit))?;
        let of_whole = self.whole.as_ref().map_or(Ok(()), |whole| whole.reserve(bytes));
        of_whole.inspect_err(|_| {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        })
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.release(bytes);
        }
    }
}

impl<E> Charge<E> {
    /// Changes it to `bytes`.
    ///
    /// # Errors
    /// If less is left. Then the charge does not change.
    pub fn set(&mut self, bytes: usize) -> Result<(), E> {
        match bytes.checked_sub(self.bytes) {
            Some(0) => {}
            Some(more) => self.budget.reserve(more)?,
            None => self.budget.release(self.bytes - bytes),
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Moves all bytes to a new charge. This one has none afterwards.
    #[must_use]
    pub fn take(&mut self) -> Self {
        Self { budget: Arc::clone(&self.budget), bytes: std::mem::take(&mut self.bytes) }
    }

    /// What it is a part of.
    pub fn budget(&self) -> &Arc<Budget<E>> {
        &self.budget
    }

    /// Changes it to `bytes`, and keeps a value with it.
    ///
    /// # Errors
    /// If less is left.
    pub fn keep<T>(mut self, value: T, bytes: usize) -> Result<Charged<T, E>, E> {
        self.set(bytes.saturating_add(OVERHEAD))?;
        Ok(Charged { value, _charge: self })
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl<E> Drop for Charge<E> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.release(self.bytes);
        }
    }
}

impl<T, E> Deref for Charged<T, E> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T, E> DerefMut for Charged<T, E> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests;
