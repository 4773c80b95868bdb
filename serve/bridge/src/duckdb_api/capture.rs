//! The arguments of one call of a statement, instead of its result: EXPLAIN (INPUTS …).
//!
//! While a session captures, each bound call of a function in Python notes itself in the order of binding. DuckDB binds
//! what a call reads before the call: operands, and clauses such as FROM and WHERE. The first call that runs decides
//! what all of them do, because then the whole statement is bound. Calls before the one that is captured run. It keeps
//! its arguments and gives NULL. Calls behind it give NULL too, so that no function sees NULLs that the statement does
//! not have.

mod array;
mod store;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use arrow_array::{ArrayRef, RecordBatch};
use colonnade_udf::{MemoryBudget, MemoryCharge};

pub(super) use array::{from_decoded, from_parts, from_vector};
pub(super) use store::{Sampling, StoreError};
use store::{Store, Units};

use super::arguments::WriteError;
use super::handles::CallbackError;

/// What a bound call does.
#[derive(Clone)]
pub(super) enum Role {
    /// It calls the function.
    Run,
    /// It keeps its arguments.
    Capture(Arc<Capture>),
    /// It gives NULL.
    Skip,
}

/// Why the arguments of a call are not kept.
pub(super) enum KeepError {
    /// There is no room for them.
    Store(StoreError),
    /// DuckDB does not give them.
    Callback(CallbackError),
}

impl From<StoreError> for KeepError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<WriteError> for KeepError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Memory(exceeded) => Self::Store(StoreError::Memory(exceeded)),
            WriteError::Engine(error) => Self::Callback(error),
            WriteError::Call(error) => Self::Callback(CallbackError::failed(error.to_string())),
        }
    }
}

impl From<CallbackError> for KeepError {
    fn from(error: CallbackError) -> Self {
        Self::Callback(error)
    }
}

/// A call that was bound during a capture, as long as its plan lives.
pub(super) struct CapturedCall {
    capture: Arc<Capture>,
    id: u64,
    role: OnceLock<Role>,
}

/// A capture, for a statement.
pub(super) struct Capture {
    id: u64,
    /// Which call of the function, from 1.
    call: usize,
    /// The calls that were bound, by their function's id.
    bound: Mutex<Vec<(u64, Weak<CapturedCall>)>>,
    /// How many calls of the function the plan has that runs.
    planned: OnceLock<usize>,
    store: Mutex<Store>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Capture {
    /// A capture of the arguments of a function's call.
    pub fn new(id: u64, call: usize, sampling: Option<Sampling>, budget: &Arc<MemoryBudget>) -> Self {
        Self {
            id,
            call,
            bound: Mutex::default(),
            planned: OnceLock::new(),
            store: Mutex::new(Store::new(sampling, budget)),
        }
    }

    /// Notes a call that is bound.
    pub fn note(self: &Arc<Self>, id: u64) -> Arc<CapturedCall> {
        let call = Arc::new(CapturedCall { capture: Arc::clone(self), id, role: OnceLock::new() });
        lock(&self.bound).push((id, Arc::downgrade(&call)));
        call
    }

    /// Decides what the calls do that are bound.
    fn decide(self: &Arc<Self>) {
        let bound: Vec<_> = lock(&self.bound).iter().filter_map(|(_, call)| call.upgrade()).collect();
        let mut number = 0;
        for call in bound {
            let is_sought = call.id == self.id;
            number += usize::from(is_sought);
            let role = match number.cmp(&self.call) {
                std::cmp::Ordering::Less => Role::Run,
                std::cmp::Ordering::Equal if is_sought => Role::Capture(Arc::clone(self)),
                _ => Role::Skip,
            };
            // Another thread decides the same.
            let _ = call.role.set(role);
        }
        let _ = self.planned.set(number);
    }

    /// How many calls of the function the statement has. If none ran, those that were bound are counted, which the plan
    /// may not need.
    pub fn calls(&self) -> usize {
        let bound = || lock(&self.bound).iter().filter(|(id, _)| *id == self.id).count();
        self.planned.get().copied().unwrap_or_else(bound)
    }

    /// Keeps the rows of a call. `groups` has the number of rows of each of an aggregate's groups. `columns` makes the
    /// arrays of the rows that are chosen.
    ///
    /// # Errors
    /// If the rows need too much memory, or `columns` fails.
    pub fn keep(
        &self,
        rows: usize,
        groups: Option<&[usize]>,
        columns: impl FnOnce(&[usize]) -> Result<Vec<ArrayRef>, KeepError>,
    ) -> Result<(), KeepError> {
        let (ticket, units) = lock(&self.store).choose(rows, groups);
        let chosen: Vec<usize> = Units::rows(&units).collect();
        if chosen.is_empty() {
            return Ok(());
        }
        let columns = columns(&chosen)?;
        Ok(lock(&self.store).add(ticket, units, columns)?)
    }

    /// The rows, in the order in which they came: the arguments, the number of the group for aggregates, and the number
    /// of the call. Then what is charged for them.
    ///
    /// # Errors
    /// If arrays do not fit together.
    pub fn take(&self) -> Result<(Vec<RecordBatch>, Vec<MemoryCharge>), StoreError> {
        lock(&self.store).take()
    }
}

impl CapturedCall {
    /// What the call does. It is decided when the first call runs.
    pub fn role(self: &Arc<Self>) -> Role {
        if self.role.get().is_none() {
            self.capture.decide();
        }
        // A call that is bound while the statement runs was not there when the others were decided.
        self.role.get().cloned().unwrap_or(Role::Skip)
    }
}
