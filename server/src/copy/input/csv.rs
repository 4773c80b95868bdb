//! COPY's CSV format (PostgreSQL manual, COPY, "CSV Format"; `CopyReadAttributesCSV`).

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::lines::Lines;
use super::rows::{Raw, Rows};
use super::{CopyReader, TargetColumn};
use crate::copy::options::{CopyOptions, OptionError};
use crate::error::Failure;
use crate::limits::budget::Budget;

pub(super) struct Csv {
    delimiter: u8,
    quote: u8,
    escape: u8,
    null: Vec<u8>,
    /// For each column, whether the NULL string is NULL in quotes, too.
    force_null: Vec<bool>,
    /// For each column, whether it is a value without quotes, too.
    force_not_null: Vec<bool>,
    lines: Lines,
    rows: Rows,
    /// Whether what has been looked at ends within quotes.
    is_inside: bool,
    value: Vec<u8>,
}

impl Csv {
    pub fn new(options: &CopyOptions, targets: Vec<TargetColumn>, budget: &Arc<Budget>) -> Result<Self, OptionError> {
        let names: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
        Ok(Self {
            delimiter: options.delimiter,
            quote: options.csv.quote,
            escape: options.csv.escape,
            null: options.null.clone().into_bytes(),
            force_null: options.csv.force_null.among(&names, "force_null")?,
            force_not_null: options.csv.force_not_null.among(&names, "force_not_null")?,
            lines: Lines::new(options, budget),
            rows: Rows::new(targets, budget),
            is_inside: false,
            value: Vec::new(),
        })
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        let Some(line) = self.lines.row(line) else { return Ok(()) };
        let (mut at, mut column) = (0, 0);
        loop {
            let mut value = std::mem::take(&mut self.value);
            value.clear();
            let (end, was_quoted) = self.field(line, at, &mut value)?;
            let is = |forced: &[bool]| forced.get(column).copied().unwrap_or_default();
            let may_be_null = if was_quoted { is(&self.force_null) } else { !is(&self.force_not_null) };
            let is_null = may_be_null && value == self.null;
            self.rows.value(column, (!is_null).then_some(Raw::Text(&value)))?;
            self.value = value;
            column += 1;
            match end {
                Some(next) => at = next,
                None => return self.rows.end_row(column),
            }
        }
    }

    /// Reads the field at `at`; gives where the next one starts, and whether a part of it was quoted.
    fn field(&self, line: &[u8], mut at: usize, value: &mut Vec<u8>) -> Result<(Option<usize>, bool), Failure> {
        let (mut is_inside, mut was_quoted) = (false, false);
        while let Some(&b) = line.get(at) {
            at += 1;
            let next = line.get(at).copied();
            if is_inside && b == self.escape && next.is_some_and(|next| next == self.quote || next == self.escape) {
                value.extend(next);
                at += 1;
            } else if b == self.quote {
                (is_inside, was_quoted) = (!is_inside, true);
            } else if b == self.delimiter && !is_inside {
                return Ok((Some(at), was_quoted));
            } else {
                value.push(b);
            }
        }
        if is_inside { Err(super::malformed("csv", "a quoted value does not end")) } else { Ok((None, was_quoted)) }
    }
}

impl CopyReader for Csv {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        let (buffer, mut at) = self.lines.with(data)?;
        let mut start = 0;
        while let Some(&b) = buffer.get(at) {
            if self.is_inside && b == self.escape && self.escape != self.quote {
                if at + 1 == buffer.len() {
                    break;
                }
                at += 2;
                continue;
            }
            // A doubled quote leaves and enters again, which comes to the same.
            if b == self.quote {
                self.is_inside = !self.is_inside;
            } else if b == b'\n' && !self.is_inside {
                self.line(&buffer[start..at])?;
                start = at + 1;
            }
            at += 1;
        }
        self.lines.keep(buffer, start, at)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.lines.last().map_or(Ok(()), |last| self.line(&last))
    }

    fn batch(&mut self, all: bool) -> Result<Option<RecordBatch>, Failure> {
        self.rows.batch(all)
    }
}
