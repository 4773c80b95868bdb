//! Rows of a vector below another one: the items of lists, in runs. A list may have more items than memory has room for
//! their numbers.

use std::sync::Arc;

use colonnade_udf::{MemoryBudget, MemoryExceeded, MemoryVec};

/// Rows one after the other. A row is `None` if the value above it is NULL.
pub(in crate::duckdb_api) struct Runs {
    runs: MemoryVec<Run>,
    rows: usize,
}

/// As many rows from the first one on; without a first one they are NULL.
#[derive(Clone, Copy)]
pub(in crate::duckdb_api) struct Run {
    pub first: Option<usize>,
    pub count: usize,
}

impl Run {
    /// This run in parts of up to `most` rows.
    pub fn parts(self, most: usize) -> impl Iterator<Item = Self> {
        (0..self.count)
            .step_by(most)
            .map(move |at| Self { first: self.first.map(|first| first + at), count: most.min(self.count - at) })
    }
}

impl Runs {
    /// No rows.
    pub fn new(budget: &Arc<MemoryBudget>) -> Self {
        Self { runs: MemoryVec::new(budget), rows: 0 }
    }

    /// These rows.
    pub fn of(budget: &Arc<MemoryBudget>, rows: impl Iterator<Item = Option<usize>>) -> Result<Self, MemoryExceeded> {
        let mut runs = Self::new(budget);
        for row in rows {
            runs.push(row, 1)?;
        }
        Ok(runs)
    }

    /// Whose memory they take.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        self.runs.budget()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn has_null(&self) -> bool {
        self.runs.iter().any(|run| run.first.is_none())
    }

    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        self.runs.iter().copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        self.runs().flat_map(|run| (0..run.count).map(move |at| run.first.map(|first| first + at)))
    }

    /// Adds rows.
    pub fn push(&mut self, first: Option<usize>, count: usize) -> Result<(), MemoryExceeded> {
        self.rows = self.rows.saturating_add(count);
        match self.runs.last_mut() {
            Some(last) if last.first.map(|first| first + last.count) == first => last.count += count,
            _ if count == 0 => {}
            _ => self.runs.push(Run { first, count })?,
        }
        Ok(())
    }

    /// The same rows; those that are not valid are `None`.
    pub fn only(&self, is_valid: impl Fn(usize) -> bool) -> Result<Self, MemoryExceeded> {
        Self::of(self.budget(), self.iter().map(|row| row.filter(|row| is_valid(*row))))
    }

    /// The items of arrays of this size in these rows.
    pub fn items(&self, size: usize) -> Result<Self, MemoryExceeded> {
        let mut items = Self::new(self.budget());
        for run in self.runs() {
            items.push(run.first.map(|first| first * size), run.count.saturating_mul(size))?;
        }
        Ok(items)
    }
}
