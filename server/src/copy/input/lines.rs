//! What the formats of lines, text and CSV, have in common.

use std::sync::Arc;

use super::{CopyDataError, MOST_ROW_BYTES};
use crate::copy::options::CopyOptions;
use crate::error::Failure;
use crate::limits::budget::{Budget, Charge};

/// Adds data to what is there, whose room is charged.
pub(super) fn add(rest: &mut Vec<u8>, data: &[u8], charge: &mut Charge) -> Result<(), Failure> {
    let needed = rest.len().saturating_add(data.len());
    if needed > rest.capacity() {
        // A long row comes in many messages, and is not to be copied for each.
        let room = needed.saturating_add(rest.len() / 2);
        charge.set(room)?;
        rest.reserve_exact(room - rest.len());
    }
    rest.extend_from_slice(data);
    Ok(())
}

/// Data of which the last line may not be complete.
pub(super) struct Lines {
    is_header: bool,
    is_over: bool,
    /// The beginning of a line whose end has not come yet.
    rest: Vec<u8>,
    /// How much of it has been looked at.
    seen: usize,
    charge: Charge,
}

impl Lines {
    pub fn new(options: &CopyOptions, budget: &Arc<Budget>) -> Self {
        Self { is_header: options.header, is_over: false, rest: Vec::new(), seen: 0, charge: budget.nothing() }
    }

    /// What is there with what came, and from where on nobody has looked at it. It is to be given back.
    ///
    /// # Errors
    /// If it is more than the session may keep.
    pub fn with(&mut self, data: &[u8]) -> Result<(Vec<u8>, usize), Failure> {
        add(&mut self.rest, data, &mut self.charge)?;
        Ok((std::mem::take(&mut self.rest), self.seen))
    }

    /// Keeps what begins at `start`; it was looked at up to `at`.
    ///
    /// # Errors
    /// If it is too long to be held.
    pub fn keep(&mut self, mut data: Vec<u8>, start: usize, at: usize) -> Result<(), Failure> {
        self.seen = at.min(data.len()) - start;
        // In place: a long line comes in many messages, and is not to be copied for each.
        data.drain(..start);
        self.rest = data;
        if self.rest.len() > MOST_ROW_BYTES { Err(CopyDataError::TooLong.into()) } else { Ok(()) }
    }

    /// A last line without an end, if there is one.
    pub fn last(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.rest)).filter(|last| !last.is_empty())
    }

    /// A line's row; `None` for the header, the end `\.`, and what comes behind it.
    pub fn row<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.is_over || std::mem::take(&mut self.is_header) {
            return None;
        }
        self.is_over = line == b"\\.";
        (!self.is_over).then_some(line)
    }
}
