//! COPY's CSV format (PostgreSQL manual, COPY, "CSV Format"; `CopyReadAttributesCSV`).

use std::sync::Arc;

use super::lines::Lines;
use super::rows::{RawValue, Rows};
use super::{CopyReader, ReadRows};
use crate::copy::options::{CopyOptions, OptionError};
use crate::engine::TargetColumn;
use crate::error::Failure;
use crate::limits::Budget;

pub(super) struct Csv {
    delimiter: u8,
    quote: u8,
    escape: u8,
    null: Vec<u8>,
    /// For each column, whether the NULL string is NULL also in quotes.
    force_null: Vec<bool>,
    /// For each column, whether the NULL string is a value also without quotes.
    force_not_null: Vec<bool>,
    lines: Lines,
    rows: Rows,
    /// Whether the scanned bytes end within quotes.
    is_in_quotes: bool,
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
            force_null: options.csv.force_null.mask(&names, "force_null")?,
            force_not_null: options.csv.force_not_null.mask(&names, "force_not_null")?,
            lines: Lines::new(options, budget),
            rows: Rows::new(targets, budget),
            is_in_quotes: false,
            value: Vec::new(),
        })
    }

    fn read_line(&mut self, line: &[u8]) -> Result<(), Failure> {
        let Some(line) = self.lines.data_line(line) else { return Ok(()) };
        let (mut at, mut column) = (0, 0);
        loop {
            let mut value = std::mem::take(&mut self.value);
            value.clear();
            let (end, was_quoted) = self.field(line, at, &mut value)?;
            let is = |forced: &[bool]| forced.get(column).copied().unwrap_or_default();
            let may_be_null = if was_quoted { is(&self.force_null) } else { !is(&self.force_not_null) };
            let is_null = may_be_null && value == self.null;
            self.rows.value(column, (!is_null).then_some(RawValue::Text(&value)))?;
            self.value = value;
            column += 1;
            match end {
                Some(next) => at = next,
                None => return self.rows.end_row(column),
            }
        }
    }

    /// Reads the field at `at`. Gives the start of the next field, and whether a part of this one was quoted.
    fn field(&self, line: &[u8], mut at: usize, value: &mut Vec<u8>) -> Result<(Option<usize>, bool), Failure> {
        let (mut is_in_quotes, mut was_quoted) = (false, false);
        while let Some(&b) = line.get(at) {
            at += 1;
            let next = line.get(at).copied();
            if is_in_quotes && b == self.escape && next.is_some_and(|next| next == self.quote || next == self.escape) {
                value.extend(next);
                at += 1;
            } else if b == self.quote {
                (is_in_quotes, was_quoted) = (!is_in_quotes, true);
            } else if b == self.delimiter && !is_in_quotes {
                return Ok((Some(at), was_quoted));
            } else {
                value.push(b);
            }
        }
        if is_in_quotes { Err(super::malformed("csv", "a quoted value has no end")) } else { Ok((None, was_quoted)) }
    }
}

impl CopyReader for Csv {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        let (buffer, mut at) = self.lines.append(data)?;
        let mut start = 0;
        while let Some(&b) = buffer.get(at) {
            if self.is_in_quotes && b == self.escape && self.escape != self.quote {
                if at + 1 == buffer.len() {
                    break;
                }
                at += 2;
                continue;
            }
            // A doubled quote ends the quotes and begins them again, which has no effect here.
            if b == self.quote {
                self.is_in_quotes = !self.is_in_quotes;
            } else if b == b'\n' && !self.is_in_quotes {
                self.read_line(&buffer[start..at])?;
                start = at + 1;
            }
            at += 1;
        }
        self.lines.keep_rest(buffer, start, at)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.lines.take_unterminated().map_or(Ok(()), |last| self.read_line(&last))
    }

    fn batch(&mut self, all: bool) -> Result<Option<ReadRows>, Failure> {
        self.rows.batch(all)
    }
}
