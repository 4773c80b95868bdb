//! The rows of an aggregate's groups, until the function is called for them.
//!
//! A thread of DuckDB appends its rows to a segment of its own, with the number of each row's group. So a row costs the same for few and for
//! many groups, and no group has memory of its own. The first result that needs a segment seals it, and sorts its rows by group (a counting
//! sort, which keeps their order).
//!
//! DuckDB combines states of different threads, and for windows combines the same states many times. So parts are never changed after they
//! were combined: a state is one part, or a pair of states.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use super::arguments::encoded::Tree;
use super::arguments::{append_fixed, with_text};
use super::handles::Values;
use super::sql_type::{SqlType, Storage};

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
    /// The most bytes of rows.
    limit: usize,
}

#[derive(Default)]
struct Inner {
    /// The segment that each thread appends to.
    open: HashMap<ThreadId, Arc<Segment>>,
    segments: HashMap<u32, Arc<Segment>>,
    last: u32,
    pairs: Vec<(State, State)>,
    /// The states that DuckDB has not destroyed.
    living: u64,
    bytes: usize,
}

struct Segment {
    id: u32,
    log: Mutex<Option<Log>>,
    sealed: OnceLock<Sealed>,
}

/// Rows in the order in which they came.
struct Log {
    groups: u32,
    of_rows: Vec<u32>,
    columns: Vec<Column>,
}

/// Rows by group.
struct Sealed {
    /// Where each group's rows begin in `rows`, and their end.
    starts: Vec<u32>,
    rows: Vec<u32>,
    columns: Vec<Column>,
}

/// The values of an argument, as workers read them.
pub(super) struct Column {
    /// Whether each row has a value; empty if all have.
    valid: Vec<bool>,
    /// Values of a fixed width, or texts' bytes.
    bytes: Vec<u8>,
    /// Where the rows' texts begin in `bytes`, and their end; empty for a fixed width.
    offsets: Vec<u64>,
    width: usize,
}

/// Why rows cannot be gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GatherError {
    /// They need more memory than a worker may have.
    Memory(usize),
    /// A state is none of this call.
    State,
    /// DuckDB does not give the values of an argument.
    Values,
}

/// The rows of one part of a group.
pub(super) struct Part {
    segment: Arc<Segment>,
    start: usize,
    end: usize,
}

impl Gathered {
    /// No rows.
    pub fn new(types: Vec<SqlType>, limit: usize) -> Self {
        Self { inner: Mutex::default(), types, limit }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes states that DuckDB has made.
    pub fn begin(&self, states: u64) {
        self.lock().living += states;
    }

    /// Notes states that DuckDB has destroyed. Without states no rows are needed: a prepared statement keeps this for its next execution.
    pub fn end(&self, states: u64) {
        let mut inner = self.lock();
        inner.living = inner.living.saturating_sub(states);
        if inner.living == 0 {
            *inner = Inner { last: inner.last, ..Inner::default() };
        }
    }

    /// Appends rows. `states` are those of the rows; `entries` are the rows' entries in each vector.
    pub fn append(
        &self,
        arguments: &[Values],
        rows: &[usize],
        state_of: impl Fn(usize) -> State,
        mut set: impl FnMut(usize, State),
    ) -> Result<(), GatherError> {
        let mut stale = None;
        let added = loop {
            let segment = self.own_segment(arguments.len(), stale)?;
            if let Some(log) = lock(&segment.log).as_mut() {
                break self.append_to(log, segment.id, arguments, rows, &state_of, &mut set)?;
            }
            // Another thread has sealed it meanwhile, because a window's frame needs rows of it.
            stale = Some(segment.id);
        };
        let mut inner = self.lock();
        inner.bytes += added;
        if inner.bytes > self.limit { Err(GatherError::Memory(self.limit)) } else { Ok(()) }
    }

    /// Gives the number of bytes that were added.
    fn append_to(
        &self,
        log: &mut Log,
        segment: u32,
        arguments: &[Values],
        rows: &[usize],
        state_of: &impl Fn(usize) -> State,
        set: &mut impl FnMut(usize, State),
    ) -> Result<usize, GatherError> {
        let before = log.bytes();
        for row in rows {
            let state = state_of(*row);
            let own = PART | State::from(segment) << 8;
            let number = if state & 0xffff_ffff == own {
                (state >> 32) as u32
            } else {
                let number = log.groups;
                log.groups = number.checked_add(1).ok_or(GatherError::State)?;
                let part = own | State::from(number) << 32;
                let next = if state == NO_ROWS { part } else { self.pair(state, part)? };
                set(*row, next);
                number
            };
            log.of_rows.push(number);
        }
        for ((column, values), type_) in log.columns.iter_mut().zip(arguments).zip(&self.types) {
            column.append(type_, values, rows)?;
        }
        Ok(log.bytes() - before)
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
        let columns = self.types.iter().take(columns).map(|type_| Column::new(type_.storage)).collect();
        let log = Mutex::new(Some(Log { groups: 0, of_rows: Vec::new(), columns }));
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
        inner.pairs.push((first, second));
        Ok(PAIR | State::from(number) << 32)
    }

    /// The parts of a state in the order of their rows.
    pub fn parts(&self, state: State, parts: &mut Vec<Part>) -> Result<usize, GatherError> {
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
                    parts.push(Part { segment, start, end });
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
    fn bytes(&self) -> usize {
        let of = |column: &Column| column.bytes.len() + column.offsets.len() * 8 + column.valid.len();
        self.of_rows.len() * 8 + self.columns.iter().map(of).sum::<usize>()
    }

    fn sorted(self) -> Result<Sealed, GatherError> {
        u32::try_from(self.of_rows.len()).map_err(|_| GatherError::State)?;
        let mut starts = vec![0_u32; self.groups as usize + 1];
        self.of_rows.iter().for_each(|group| starts[*group as usize + 1] += 1);
        for group in 1..starts.len() {
            starts[group] += starts[group - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0_u32; self.of_rows.len()];
        for (row, group) in self.of_rows.iter().enumerate() {
            let place = &mut next[*group as usize];
            rows[*place as usize] = row as u32;
            *place += 1;
        }
        Ok(Sealed { starts, rows, columns: self.columns })
    }
}

impl Column {
    pub fn new(storage: Storage) -> Self {
        let width = match storage {
            Storage::Same(width) => width,
            Storage::Text | Storage::Enum(_) => 0,
            // As in `encoded`.
            storage if storage.is_nested() => 0,
            _ => 16,
        };
        let offsets = if width == 0 { vec![0] } else { Vec::new() };
        Self { valid: Vec::new(), bytes: Vec::new(), offsets, width }
    }

    fn rows(&self) -> usize {
        self.bytes.len().checked_div(self.width).unwrap_or_else(|| self.offsets.len() - 1)
    }

    fn append(&mut self, type_: &SqlType, values: &Values, rows: &[usize]) -> Result<(), GatherError> {
        let before = self.rows();
        let entries: Vec<_> = rows.iter().map(|row| values.entry(*row)).collect();
        if !values.has_no_null() && entries.iter().any(|entry| !values.is_valid(*entry)) {
            self.valid.resize(before, true);
            self.valid.extend(entries.iter().map(|entry| values.is_valid(*entry)));
        } else if !self.valid.is_empty() {
            self.valid.resize(before + rows.len(), true);
        }
        if type_.storage.is_nested() {
            let tree = Tree::new(type_, values).map_err(|_| GatherError::Values)?;
            for row in rows {
                tree.encode(*row, &mut self.bytes);
                self.offsets.push(self.bytes.len() as u64);
            }
        } else if self.width == 0 {
            for entry in entries {
                if values.is_valid(entry) {
                    with_text(type_, values, entry, |text| self.bytes.extend_from_slice(text));
                }
                self.offsets.push(self.bytes.len() as u64);
            }
        } else {
            append_fixed(type_.storage, values, &entries, &mut self.bytes);
        }
        Ok(())
    }
}

/// The values of an argument for all groups of a call, one group after the other.
pub(super) struct Contiguous {
    pub valid: Vec<bool>,
    pub bytes: Vec<u8>,
    /// As in `Column`.
    pub offsets: Vec<u64>,
}

impl Contiguous {
    /// These rows, in increasing order.
    pub fn only(&self, rows: &[usize]) -> Self {
        let valid: Vec<_> = rows.iter().map(|row| self.valid[*row]).collect();
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        if self.offsets.is_empty() {
            let width = self.bytes.len().checked_div(self.valid.len()).unwrap_or(0);
            rows.iter().for_each(|row| bytes.extend_from_slice(&self.bytes[row * width..(row + 1) * width]));
        } else {
            offsets.push(0);
            for row in rows {
                bytes.extend_from_slice(&self.bytes[self.offsets[*row] as usize..self.offsets[row + 1] as usize]);
                offsets.push(bytes.len() as u64);
            }
        }
        Self { valid, bytes, offsets }
    }
}

/// Copies a column's rows of these parts, `rows` in all.
pub(super) fn contiguous(parts: &[Part], index: usize, rows: usize) -> Result<Contiguous, GatherError> {
    let mut all = Contiguous { valid: Vec::with_capacity(rows), bytes: Vec::new(), offsets: Vec::new() };
    for part in parts {
        let sealed = part.segment.seal()?;
        let column = sealed.columns.get(index).ok_or(GatherError::State)?;
        let rows = sealed.rows.get(part.start..part.end).ok_or(GatherError::State)?;
        if column.valid.is_empty() {
            all.valid.resize(all.valid.len() + rows.len(), true);
        } else {
            all.valid.extend(rows.iter().map(|row| column.valid[*row as usize]));
        }
        match column.width {
            0 => {
                if all.offsets.is_empty() {
                    all.offsets.push(0);
                }
                for row in rows {
                    let (start, end) = (column.offsets[*row as usize], column.offsets[*row as usize + 1]);
                    all.bytes.extend_from_slice(&column.bytes[start as usize..end as usize]);
                    all.offsets.push(all.bytes.len() as u64);
                }
            }
            1 => copy::<1>(&column.bytes, rows, &mut all.bytes),
            2 => copy::<2>(&column.bytes, rows, &mut all.bytes),
            4 => copy::<4>(&column.bytes, rows, &mut all.bytes),
            8 => copy::<8>(&column.bytes, rows, &mut all.bytes),
            _ => copy::<16>(&column.bytes, rows, &mut all.bytes),
        }
    }
    Ok(all)
}

fn copy<const WIDTH: usize>(from: &[u8], rows: &[u32], into: &mut Vec<u8>) {
    let (values, _) = from.as_chunks::<WIDTH>();
    into.reserve(rows.len() * WIDTH);
    rows.iter().for_each(|row| into.extend_from_slice(&values[*row as usize]));
}
