//! The memory into which vectors of arguments are written before they are appended.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ring::Ring;

/// How many are kept for later collectors: making one takes as long as the call of a function with a row.
const MAX_SPARE: usize = 4;

static SPARE: Mutex<Vec<Arc<Ring>>> = Mutex::new(Vec::new());

/// The memory of one vector's arguments. No other process has it, and what a collector reads of it, it has written itself.
pub(super) struct VectorMemory(Arc<Ring>);

impl VectorMemory {
    /// Memory that can grow to `limit` bytes.
    pub fn new(limit: usize) -> io::Result<Self> {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = spare.iter().position(|ring| ring.has_limit(limit)).map(|at| spare.swap_remove(at));
        drop(spare);
        match found {
            Some(ring) => Ok(Self(ring)),
            None => Ring::new(limit).map(Arc::new).map(Self),
        }
    }
}

impl Deref for VectorMemory {
    type Target = Ring;

    fn deref(&self) -> &Ring {
        &self.0
    }
}

impl Drop for VectorMemory {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.is_small() && spare.len() < MAX_SPARE {
            spare.push(Arc::clone(&self.0));
        }
    }
}
