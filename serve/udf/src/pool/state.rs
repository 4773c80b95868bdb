//! What the sessions of a pool share.

use std::sync::Arc;

use crate::idle_cpu::IdleWatch;
use crate::memory::{MemoryBudget, MemoryExceeded};
use crate::slots::Slots;
use crate::source::ProcessSource;

pub(crate) struct PoolState {
    pub source: ProcessSource,
    pub slots: Arc<Slots>,
    pub idle_watch: Arc<IdleWatch>,
    /// The memory of all sessions' functions in this process.
    pub budget: Arc<MemoryBudget>,
}

impl PoolState {
    pub fn new(source: ProcessSource) -> Self {
        let slots = Slots::new(source.limits.processes);
        Self {
            idle_watch: IdleWatch::new(Arc::clone(&slots)),
            slots,
            budget: MemoryBudget::new(bytes(source.limits.server_memory), MemoryExceeded::Server),
            source,
        }
    }

    /// The memory of one session's functions in this process.
    pub fn session_budget(&self) -> Arc<MemoryBudget> {
        self.budget.part(bytes(self.source.limits.memory), MemoryExceeded::Session)
    }
}

/// A limit in bytes.
fn bytes(limit: u64) -> Option<usize> {
    usize::try_from(limit).ok()
}
