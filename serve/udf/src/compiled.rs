//! Which functions a function process has compiled.

use std::collections::{HashSet, VecDeque};

/// How many functions a process keeps. The one that was compiled first is forgotten for the next one.
const MAX_FUNCTIONS: usize = 256;

/// The functions that a process has compiled.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    ids: HashSet<u64>,
    /// The same, the oldest first.
    order: VecDeque<u64>,
}

impl Compiled {
    pub fn has(&self, id: u64) -> bool {
        self.ids.contains(&id)
    }

    /// Takes out the oldest one, if there is no room for another.
    pub fn make_room(&mut self) -> Option<u64> {
        let oldest = if self.order.len() < MAX_FUNCTIONS { None } else { self.order.pop_front() };
        oldest.inspect(|id| {
            self.ids.remove(id);
        })
    }

    pub fn add(&mut self, id: u64) {
        if self.ids.insert(id) {
            self.order.push_back(id);
        }
    }
}
