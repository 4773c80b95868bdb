//! The memory into which a vector of arguments is written before it is appended.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::CallError;
use crate::function::Function;
use crate::inputs::{InputTarget, WrittenInputs};
use crate::memory::{MemoryBudget, MemoryCharge, MemoryExceeded};
use crate::output::CallOutput;
use crate::ring::{Ring, RingSlice};

/// How many are kept for later vectors: making one takes as long as the call of a function with a row.
const MAX_SPARE: usize = 4;

static SPARE: Mutex<Vec<Arc<Ring>>> = Mutex::new(Vec::new());

/// The memory of one vector's arguments. No other process has it, and what a collector reads of it, it has written
/// itself.
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

    /// Makes it at least this large.
    fn enlarge(&mut self, size: usize) -> Result<(), MemoryExceeded> {
        let more = self.ring.grown(size) - self.ring.size();
        self.charge.set(self.charge.bytes() + more)?;
        if self.ring.grow(size) { Ok(()) } else { Err(MemoryExceeded::Session(self.ring.limit())) }
    }
}

impl InputTarget for VectorMemory {
    fn budget(&self) -> &Arc<MemoryBudget> {
        self.charge.budget()
    }

    fn grow(&mut self, size: usize, function: &Function) -> Result<(), CallError> {
        self.enlarge(size).map_err(|exceeded| CallError::exceeded(function, exceeded))
    }

    fn slice(&self, at: usize, bytes: usize) -> Option<RingSlice<'_>> {
        self.ring.slice(at, bytes)
    }

    fn out_of_memory(&self, function: &Function) -> CallError {
        CallError::exceeded(function, MemoryExceeded::Session(self.ring.limit()))
    }

    fn call(&mut self, function: &Arc<Function>, _: WrittenInputs) -> Result<CallOutput<'_>, CallError> {
        Err(CallError::Misuse { function: function.name.clone(), fault: "collected arguments have no worker" })
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
