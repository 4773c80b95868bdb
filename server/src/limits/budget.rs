//! A limit on the memory that the server keeps for a session: prepared statements, bound values, settings, savepoints, rows of open
//! portals, data of COPY.
//!
//! Whatever outlives its message is [`Kept`], or holds a [`Charge`]. Both release their bytes when they are dropped, so no path of a
//! session can forget it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::LimitError;

/// A number of bytes, and how many of them are in use.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    beyond: fn(usize) -> LimitError,
}

/// A part of a budget that is in use until this is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

/// A value and its part of a budget.
#[derive(Debug)]
pub struct Kept<T> {
    value: T,
    _charge: Charge,
}

/// The overhead of a kept value: an entry of a map, headers of allocations.
const OVERHEAD: usize = 128;

impl Budget {
    /// The budget of one session: `limit` bytes; `None` is no limit.
    pub fn new(limit: Option<usize>) -> Arc<Self> {
        Self::of(limit, LimitError::SessionMemory)
    }

    /// A budget whose limit has another error.
    pub fn of(limit: Option<usize>, beyond: fn(usize) -> LimitError) -> Arc<Self> {
        Arc::new(Self { limit: limit.unwrap_or(usize::MAX), used: AtomicUsize::new(0), beyond })
    }

    /// Charges `bytes`.
    ///
    /// # Errors
    /// If there is not as much left.
    pub fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge, LimitError> {
        let mut charge = self.nothing();
        charge.set(bytes)?;
        Ok(charge)
    }

    /// A charge that will grow.
    pub fn nothing(self: &Arc<Self>) -> Charge {
        Charge { budget: Arc::clone(self), bytes: 0 }
    }

    /// Keeps a value of `bytes`.
    ///
    /// # Errors
    /// If there is not as much left.
    pub fn keep<T>(self: &Arc<Self>, value: T, bytes: usize) -> Result<Kept<T>, LimitError> {
        self.nothing().keep(value, bytes)
    }

    /// The bytes that are left.
    pub fn rest(&self) -> usize {
        self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    fn take(&self, bytes: usize) -> Result<(), LimitError> {
        let take = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map(drop).map_err(|_| (self.beyond)(self.limit))
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Charge {
    /// Changes it to `bytes`.
    ///
    /// # Errors
    /// If there is not as much left. Then it does not change.
    pub fn set(&mut self, bytes: usize) -> Result<(), LimitError> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.budget.take(more)?,
            None => self.budget.give_back(self.bytes - bytes),
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Changes it to `bytes`, and keeps a value with it.
    ///
    /// # Errors
    /// If there is not as much left.
    pub fn keep<T>(mut self, value: T, bytes: usize) -> Result<Kept<T>, LimitError> {
        self.set(bytes.saturating_add(OVERHEAD))?;
        Ok(Kept { value, _charge: self })
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_given_back() {
        let budget = Budget::new(Some(1000));
        let mut charge = budget.charge(600).unwrap();
        assert!(matches!(budget.charge(401), Err(LimitError::SessionMemory(1000))));
        assert_eq!(budget.rest(), 400);
        charge.set(1000).unwrap();
        assert!(charge.set(1001).is_err());
        assert_eq!((charge.bytes(), budget.rest()), (1000, 0));
        charge.set(10).unwrap();
        let kept = budget.keep("value", 500).unwrap();
        assert_eq!((*kept, budget.rest()), ("value", 1000 - 10 - 500 - OVERHEAD));
        drop((charge, kept));
        assert_eq!(budget.rest(), 1000);
    }

    #[test]
    fn no_number_overflows_it() {
        let budget = Budget::new(None);
        let _half = budget.charge(usize::MAX / 2).unwrap();
        assert!(budget.keep((), usize::MAX).is_err());
        assert_eq!(Budget::new(Some(0)).rest(), 0);
    }
}
