//! The memory into which a vector of arguments is written before it is appended.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::memory::{MemoryBudget, MemoryCharge, MemoryExceeded};
use crate::ring::Ring;

/// How many are kept for later vectors: making one takes as long as the call of a function with a row.
const MAX_SPARE: usize = 4;

static SPARE: Mutex<Vec<Arc<Ring>>> = Mutex::new(Vec::new());

/// The memory of one vector's arguments. No other process has it, and what a collector reads of it, it has written itself.
#[derive(Debug)]
pub(crate) struct VectorMemory {
    ring: Arc<Ring>,
    /// What it has grown by.
    charge: MemoryCharge,
}

impl VectorMemory {
    /// Memory that can grow as long as the budget has room.
    pub fn new(budget: &Arc<MemoryBudget>) -> io::Result<Self> {
        let limit = budget.limit();
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = spare.iter().position(|ring| ring.has_limit(limit)).map(|at| spare.swap_remove(at));
        drop(spare);
        let ring = found.map_or_else(|| Ring::new(limit).map(Arc::new), Ok)?;
        Ok(Self { ring, charge: budget.empty_charge() })
    }

    /// The budget.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        self.charge.budget()
    }

    /// Makes it at least this large.
    pub fn grow(&mut self, size: usize) -> Result<(), MemoryExceeded> {
        let more = self.ring.grown(size) - self.ring.size();
        self.charge.set(self.charge.bytes() + more)?;
        if self.ring.grow(size) { Ok(()) } else { Err(MemoryExceeded::Session(self.ring.limit())) }
    }
}

impl Deref for VectorMemory {
    type Target = Ring;

    fn deref(&self) -> &Ring {
        &self.ring
    }
}

impl Drop for VectorMemory {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if self.ring.is_small() && spare.len() < MAX_SPARE {
            spare.push(Arc::clone(&self.ring));
        }
    }
}
