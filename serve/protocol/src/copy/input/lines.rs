//! Shared by text and CSV: splits the data into lines.

use std::sync::Arc;

use super::{CopyDataError, MAX_ROW_BYTES};
use crate::copy::options::CopyOptions;
use crate::error::Failure;
use crate::limits::{Budget, Charge};

/// Appends data to a buffer whose capacity is charged to a budget.
pub(super) fn append_charged(rest: &mut Vec<u8>, data: &[u8], charge: &mut Charge) -> Result<(), Failure> {
    let needed = rest.len().saturating_add(data.len());
    if needed > rest.capacity() {
        // The capacity grows by half, because a long row arrives in many messages: a copy for each would take quadratic
        // time.
        let room = needed.saturating_add(rest.len() / 2);
        charge.set(room)?;
        rest.reserve_exact(room - rest.len());
    }
    rest.extend_from_slice(data);
    Ok(())
}

/// The data of which no line end has arrived yet, and the state of the header and the end mark.
pub(super) struct Lines {
    is_header: bool,
    has_ended: bool,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    /// The number of its bytes that were scanned for the line's end.
    scanned: usize,
    charge: Charge,
}

impl Lines {
    pub fn new(options: &CopyOptions, budget: &Arc<Budget>) -> Self {
        Self {
            is_header: options.header,
            has_ended: false,
            rest: Vec::new(),
            scanned: 0,
            charge: budget.empty_charge(),
        }
    }

    /// Appends `data` to the incomplete line. Gives the buffer and the position from which it was not scanned yet. The
    /// caller returns the buffer with [`Lines::keep_rest`].
    ///
    /// # Errors
    /// If the session's budget is exceeded.
    pub fn append(&mut self, data: &[u8]) -> Result<(Vec<u8>, usize), Failure> {
        append_charged(&mut self.rest, data, &mut self.charge)?;
        Ok((std::mem::take(&mut self.rest), self.scanned))
    }

    /// Keeps the bytes from `start` on. They were scanned up to `at`.
    ///
    /// # Errors
    /// If they are more than a row may have.
    pub fn keep_rest(&mut self, mut data: Vec<u8>, start: usize, at: usize) -> Result<(), Failure> {
        self.scanned = at.min(data.len()) - start;
        // In place, because a long line arrives in many messages: a copy for each would take quadratic time.
        data.drain(..start);
        self.rest = data;
        if self.rest.len() > MAX_ROW_BYTES { Err(CopyDataError::TooLong.into()) } else { Ok(()) }
    }

    /// The last line, if it has no line end.
    pub fn take_unterminated(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.rest)).filter(|last| !last.is_empty())
    }

    /// The line without a carriage return at its end. `None` for the header, the end mark `\.`, and lines after the
    /// mark.
    pub fn data_line<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.has_ended || std::mem::take(&mut self.is_header) {
            return None;
        }
        self.has_ended = line == b"\\.";
        (!self.has_ended).then_some(line)
    }
}
