//! A message that arrives in parts.

use std::sync::Arc;

use arrow_buffer::{Buffer, MutableBuffer};

use crate::error::Failure;
use crate::limits::{Budget, Charge};

/// The bytes of the next message that have arrived. The buffer is aligned.
pub(super) struct Frame {
    bytes: MutableBuffer,
    charge: Charge,
    budget: Arc<Budget>,
}

impl Frame {
    pub fn new(budget: &Arc<Budget>) -> Self {
        Self { bytes: MutableBuffer::new(0), charge: budget.empty_charge(), budget: Arc::clone(budget) }
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// Moves bytes from `data` until there are `length` bytes. Gives the rest of `data`. The whole message is charged
    /// before it is gathered.
    pub fn fill<'a>(&mut self, data: &'a [u8], length: usize) -> Result<&'a [u8], Failure> {
        if length > self.charge.bytes() {
            self.charge.set(length)?;
            self.bytes.reserve(length - self.bytes.len());
        }
        let (taken, rest) = data.split_at(data.len().min(length - self.bytes.len()));
        self.bytes.extend_from_slice(taken);
        Ok(rest)
    }

    /// Takes the bytes with their charge. The next message begins.
    pub fn take(&mut self) -> (Buffer, Charge) {
        let bytes = std::mem::replace(&mut self.bytes, MutableBuffer::new(0)).into();
        (bytes, std::mem::replace(&mut self.charge, self.budget.empty_charge()))
    }
}
