//! A vector whose memory is charged.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::{Budget, Charge};

/// A vector that charges its memory before it grows.
pub struct ChargedVec<T, E> {
    items: Vec<T>,
    charge: Charge<E>,
}

impl<T: fmt::Debug, E> fmt::Debug for ChargedVec<T, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(formatter)
    }
}

impl<T, E> ChargedVec<T, E> {
    /// An empty vector, which has no memory yet.
    pub fn new(budget: &Arc<Budget<E>>) -> Self {
        Self { items: Vec::new(), charge: budget.empty_charge() }
    }

    /// Whose memory it takes.
    pub fn budget(&self) -> &Arc<Budget<E>> {
        self.charge.budget()
    }

    /// Makes room for `more` items. The capacity grows by half, as long as the budget has room for that.
    ///
    /// # Errors
    /// If the budget has no room for the items.
    pub fn reserve(&mut self, more: usize) -> Result<(), E> {
        let needed = self.items.len().saturating_add(more);
        if needed <= self.items.capacity() {
            return Ok(());
        }
        let bytes = |count: usize| count.saturating_mul(size_of::<T>());
        let larger = needed.max(self.items.capacity() + self.items.capacity() / 2);
        let capacity = match self.charge.set(bytes(larger)) {
            Ok(()) => larger,
            Err(_) => self.charge.set(bytes(needed)).map(|()| needed)?,
        };
        self.items.reserve_exact(capacity - self.items.len());
        Ok(())
    }

    /// Appends an item.
    ///
    /// # Errors
    /// If the budget has no room for it. The same holds for all methods that append.
    pub fn push(&mut self, item: T) -> Result<(), E> {
        self.reserve(1)?;
        self.items.push(item);
        Ok(())
    }

    /// Appends items, whose number is known.
    ///
    /// # Errors
    /// As for `push`.
    pub fn extend(&mut self, items: impl ExactSizeIterator<Item = T>) -> Result<(), E> {
        self.reserve(items.len())?;
        self.items.extend(items);
        Ok(())
    }

    /// Has `append` append up to `most` items to the vector.
    ///
    /// # Errors
    /// As for `push`.
    pub fn append_with<R>(&mut self, most: usize, append: impl FnOnce(&mut Vec<T>) -> R) -> Result<R, E> {
        self.reserve(most)?;
        let before = self.items.capacity();
        let result = append(&mut self.items);
        debug_assert_eq!(self.items.capacity(), before, "more items were appended than charged");
        Ok(result)
    }

    /// Leaves the first items. Their memory stays what it is.
    pub fn truncate(&mut self, length: usize) {
        self.items.truncate(length);
    }

    /// The vector and its charge.
    pub fn into_parts(self) -> (Vec<T>, Charge<E>) {
        (self.items, self.charge)
    }
}

impl<T: Copy, E> ChargedVec<T, E> {
    /// Appends items.
    ///
    /// # Errors
    /// As for `push`.
    pub fn extend_from_slice(&mut self, items: &[T]) -> Result<(), E> {
        self.reserve(items.len())?;
        self.items.extend_from_slice(items);
        Ok(())
    }

    /// Makes it this long, with copies of `item` if it becomes longer.
    ///
    /// # Errors
    /// As for `push`.
    pub fn resize(&mut self, length: usize, item: T) -> Result<(), E> {
        self.reserve(length.saturating_sub(self.items.len()))?;
        self.items.resize(length, item);
        Ok(())
    }
}

impl<T, E> Deref for ChargedVec<T, E> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T, E> DerefMut for ChargedVec<T, E> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}
