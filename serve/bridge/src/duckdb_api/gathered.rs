//! The rows of an aggregate's groups, until the function is called for them.
//!
//! A thread of DuckDB appends its rows to a segment of its own, with the number of each row's group. So a row costs the
//! same for few and for many groups, and no group has memory of its own. The first result that needs a segment seals
//! it, and sorts its rows by group (a counting sort, which keeps their order). Its columns are sorted too, so that the
//! rows of a group are one piece of memory: each value is moved once. That is one pass with accesses in any order; to
//! gather the values of each call from where they came would be another one.
//!
//! DuckDB combines states of different threads, and for windows combines the same states many times. So parts are never
//! changed after they were combined: a state is one part, or a pair of states.

mod column;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use colonnade_udf::{MemoryBudget, MemoryExceeded, MemoryVec};

use super::arguments::Rows;
use super::sql_type::SqlType;
use super::vectors::VectorValues;

use column::Column;
pub(super) use column::{Contiguous, PartsError, contiguous, values_of, write_parts};

/// A state as DuckDB keeps it: 0 has no rows. The lowest bits say what it is.
///
/// ```text
/// part   bits 0-1: 1   bit 2: combined   bits 8-31: segment   bits 32-63: number in the segment
/// pair   bits 0-1: 2                                          bits 32-63: number of the pair
/// ```
pub(super) type State = u64;

pub(super) const NO_ROWS: State = 0;
const PART: State = 1;
const PAIR: State = 2;
/// The state was combined into another one, so that its rows must not change.
pub(super) const COMBINED: State = 4;
const KIND: State = 3;
/// Segments of one execution.
const MAX_SEGMENTS: u32 = 1 << 24;

/// All rows of one bound call.
pub(super) struct Gathered {
    inner: Mutex<Inner>,
    types: Vec<SqlType>,
    budget: Arc<MemoryBudget>,
}

struct Inner {
    /// The segment that each thread appends to.
    open: HashMap<ThreadId, Arc<Segment>>,
    segments: HashMap<u32, Arc<Segment>>,
    last: u32,
    pairs: MemoryVec<(State, State)>,
    /// The states that DuckDB has not destroyed.
    living: u64,
}

impl Inner {
    fn new(budget: &Arc<MemoryBudget>, last: u32) -> Self {
        let (open, segments, pairs) = (HashMap::new(), HashMap::new(), MemoryVec::new(budget));
        Self { open, segments, last, pairs, living: 0 }
    }
}

struct Segment {
    id: u32,
    log: Mutex<Option<Log>>,
    sealed: OnceLock<Sealed>,
}

/// Rows in the order in which they came.
struct Log {
    groups: u32,
    of_rows: MemoryVec<u32>,
    columns: Vec<Column>,
}

/// Rows by group.
struct Sealed {
    /// Where each group's rows begin in `columns`, and their end.
    starts: MemoryVec<u32>,
    columns: Vec<Column>,
}

/// Why rows cannot be gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GatherError {
    /// They need more memory than functions may use.
    Memory(MemoryExceeded),
    /// A state is none of this call.
    State,
    /// DuckDB does not give the values of an argument.
    Values,
}

impl From<MemoryExceeded> for GatherError {
    fn from(exceeded: MemoryExceeded) -> Self {
        Self::Memory(exceeded)
    }
}

/// The rows of one part of a group.
pub(super) struct Part {
    segment: Arc<Segment>,
    start: usize,
    end: usize,
}

impl Gathered {
    /// No rows.
    pub fn new(types: Vec<SqlType>, budget: Arc<MemoryBudget>) -> Self {
        Self { inner: Mutex::new(Inner::new(&budget, 0)), types, budget }
    }

    /// The memory of the rows.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes states that DuckDB has made.
    pub fn begin(&self, states: u64) {
        self.lock().living += states;
    }

    /// Notes states that DuckDB has destroyed. Without states no rows are needed: a prepared statement keeps this for
    /// its next execution.
    pub fn end(&self, states: u64) {
        let mut inner = self.lock();
        inner.living = inner.living.saturating_sub(states);
        if inner.living == 0 {
            *inner = Inner::new(&self.budget, inner.last);
        }
    }

    /// Appends rows of vectors. `state_of` gives a row's state, `None` if it has none; `set` changes it.
    pub fn append(
        &self,
        arguments: &[VectorValues],
        rows: Rows<'_>,
        state_of: impl Fn(usize) -> Option<State>,
        mut set: impl FnMut(usize, State),
    ) -> Result<(), GatherError> {
        let mut stale = None;
        loop {
            let segment = self.own_segment(arguments.len(), stale)?;
            if let Some(log) = lock(&segment.log).as_mut() {
                return self.append_to(log, segment.id, arguments, rows, &state_of, &mut set);
            }
            // Another thread has sealed it meanwhile, because a window's frame needs rows of it.
            stale = Some(segment.id);
        }
    }

    fn append_to(
        &self,
        log: &mut Log,
        segment: u32,
        arguments: &[VectorValues],
        rows: Rows<'_>,
        state_of: &impl Fn(usize) -> Option<State>,
        set: &mut impl FnMut(usize, State),
    ) -> Result<(), GatherError> {
        let own = PART | State::from(segment) << 8;
        log.of_rows.reserve(rows.len())?;
        for row in rows.iter() {
            let state = state_of(row).ok_or(GatherError::State)?;
            let number = if state & 0xffff_ffff == own {
                (state >> 32) as u32
            } else {
                let number = log.groups;
                log.groups = number.checked_add(1).ok_or(GatherError::State)?;
                let part = own | State::from(number) << 32;
                let next = if state == NO_ROWS { part } else { self.pair(state, part)? };
                set(row, next);
                number
            };
            log.of_rows.push(number)?;
        }
        for ((column, values), type_) in log.columns.iter_mut().zip(arguments).zip(&self.types) {
            column.append(type_, values, rows)?;
        }
        Ok(())
    }

    /// The segment of this thread, which is not sealed, and not `stale`.
    fn own_segment(&self, columns: usize, stale: Option<u32>) -> Result<Arc<Segment>, GatherError> {
        let mut inner = self.lock();
        let thread = thread::current().id();
        if let Some(segment) = inner.open.get(&thread)
            && segment.sealed.get().is_none()
            && stale != Some(segment.id)
        {
            return Ok(Arc::clone(segment));
        }
        inner.last = (inner.last + 1) % MAX_SEGMENTS;
        let id = inner.last;
        let columns = self.types.iter().take(columns).map(|type_| Column::new(type_.storage, &self.budget));
        let columns = columns.collect::<Result<_, _>>()?;
        let log = Mutex::new(Some(Log { groups: 0, of_rows: MemoryVec::new(&self.budget), columns }));
        let segment = Arc::new(Segment { id, log, sealed: OnceLock::new() });
        if inner.segments.insert(id, Arc::clone(&segment)).is_some() {
            return Err(GatherError::State);
        }
        inner.open.insert(thread, Arc::clone(&segment));
        Ok(segment)
    }

    /// The state with the rows of two, in this order.
    pub fn pair(&self, first: State, second: State) -> Result<State, GatherError> {
        let mut inner = self.lock();
        let number = u32::try_from(inner.pairs.len()).map_err(|_| GatherError::State)?;
        inner.pairs.push((first, second))?;
        Ok(PAIR | State::from(number) << 32)
    }

    /// The parts of a state in the order of their rows.
    pub fn parts(&self, state: State, parts: &mut MemoryVec<Part>) -> Result<usize, GatherError> {
        let mut rest = vec![state];
        let mut rows = 0;
        while let Some(state) = rest.pop() {
            let number = (state >> 32) as usize;
            match state & KIND {
                PART => {
                    let id = (state >> 8) as u32 & (MAX_SEGMENTS - 1);
                    let segment = self.lock().segments.get(&id).cloned().ok_or(GatherError::State)?;
                    let sealed = segment.seal()?;
                    let start = *sealed.starts.get(number).ok_or(GatherError::State)? as usize;
                    let end = *sealed.starts.get(number + 1).ok_or(GatherError::State)? as usize;
                    rows += end - start;
                    parts.push(Part { segment, start, end })?;
                }
                PAIR => {
                    let (first, second) = *self.lock().pairs.get(number).ok_or(GatherError::State)?;
                    rest.push(second);
                    rest.push(first);
                }
                _ if state == NO_ROWS => {}
                _ => return Err(GatherError::State),
            }
        }
        Ok(rows)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Segment {
    fn seal(&self) -> Result<&Sealed, GatherError> {
        if let Some(sealed) = self.sealed.get() {
            return Ok(sealed);
        }
        if let Some(log) = lock(&self.log).take() {
            // Another thread cannot have set it: only who takes the log does.
            let _ = self.sealed.set(log.sorted()?);
        }
        self.sealed.get().ok_or(GatherError::State)
    }
}

impl Log {
    fn sorted(self) -> Result<Sealed, GatherError> {
        u32::try_from(self.of_rows.len()).map_err(|_| GatherError::State)?;
        let mut starts = MemoryVec::<u32>::new(self.of_rows.budget());
        starts.resize(self.groups as usize + 1, 0)?;
        self.of_rows.iter().for_each(|group| starts[*group as usize + 1] += 1);
        for group in 1..starts.len() {
            starts[group] += starts[group - 1];
        }
        let Self { mut of_rows, columns, .. } = self;
        // The rows of one group, or of groups that came one after the other, are in order already.
        if of_rows.is_sorted() {
            return Ok(Sealed { starts, columns });
        }
        let mut next = MemoryVec::new(of_rows.budget());
        next.extend_from_slice(&starts)?;
        for row in of_rows.iter_mut() {
            let place = &mut next[*row as usize];
            *row = *place;
            *place += 1;
        }
        let columns = columns.into_iter().map(|column| column.moved(&of_rows)).collect::<Result<_, _>>()?;
        Ok(Sealed { starts, columns })
    }
}
