//! A limit on the memory that the server uses for a session: prepared statements, bound values, settings, savepoints, rows of open
//! portals, data of COPY.
//!
//! A value that the server keeps after its message is a [`Kept`], or holds a [`Charge`]. Both release their bytes when they are dropped,
//! so a session cannot forget to release them.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::LimitError;

/// A limit in bytes, and the number of bytes in use.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    error: fn(usize) -> LimitError,
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
        Self::with_error(limit, LimitError::SessionMemory)
    }

    /// A budget with another error.
    pub fn with_error(limit: Option<usize>, error: fn(usize) -> LimitError) -> Arc<Self> {
        Arc::new(Self { limit: limit.unwrap_or(usize::MAX), used: AtomicUsize::new(0), error })
    }

    /// Charges `bytes`.
    ///
    /// # Errors
    /// If less is left.
    pub fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge, LimitError> {
        let mut charge = self.empty_charge();
        charge.set(bytes)?;
        Ok(charge)
    }

    /// A charge of 0 bytes, which can grow.
    pub fn empty_charge(self: &Arc<Self>) -> Charge {
        Charge { budget: Arc::clone(self), bytes: 0 }
    }

    /// Keeps a value of `bytes`.
    ///
    /// # Errors
    /// If less is left.
    pub fn keep<T>(self: &Arc<Self>, value: T, bytes: usize) -> Result<Kept<T>, LimitError> {
        self.empty_charge().keep(value, bytes)
    }

    /// The bytes that are left.
    pub fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// The bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: usize) -> Result<(), LimitError> {
        let take = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map(drop).map_err(|_| (self.error)(self.limit))
    }

    fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Charge {
    /// Changes it to `bytes`.
    ///
    /// # Errors
    /// If less is left. Then the charge does not change.
    pub fn set(&mut self, bytes: usize) -> Result<(), LimitError> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.budget.reserve(more)?,
            None => self.budget.release(self.bytes - bytes),
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Changes it to `bytes`, and keeps a value with it.
    ///
    /// # Errors
    /// If less is left.
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
        self.budget.release(self.bytes);
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
    fn dropped_charges_are_released() {
        let budget = Budget::new(Some(1000));
        let mut charge = budget.charge(600).unwrap();
        assert!(matches!(budget.charge(401), Err(LimitError::SessionMemory(1000))));
        assert_eq!(budget.remaining(), 400);
        charge.set(1000).unwrap();
        assert!(charge.set(1001).is_err());
        assert_eq!((charge.bytes(), budget.remaining()), (1000, 0));
        charge.set(10).unwrap();
        let kept = budget.keep("value", 500).unwrap();
        assert_eq!((*kept, budget.remaining()), ("value", 1000 - 10 - 500 - OVERHEAD));
        drop((charge, kept));
        assert_eq!(budget.remaining(), 1000);
    }

    #[test]
    fn no_number_overflows_a_budget() {
        let budget = Budget::new(None);
        let _half = budget.charge(usize::MAX / 2).unwrap();
        assert!(budget.keep((), usize::MAX).is_err());
        assert_eq!(Budget::new(Some(0)).remaining(), 0);
    }
}
