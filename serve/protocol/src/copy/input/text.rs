//! COPY's text format (PostgreSQL manual, COPY, "Text Format"; `CopyReadAttributesText`).

use std::sync::Arc;

use super::lines::Lines;
use super::rows::{RawValue, Rows};
use super::{CopyReader, ReadRows};
use crate::copy::options::CopyOptions;
use crate::error::Failure;
use crate::limits::Budget;

pub(super) struct Text {
    delimiter: u8,
    null: Vec<u8>,
    lines: Lines,
    rows: Rows,
    value: Vec<u8>,
}

impl Text {
    pub fn new(options: &CopyOptions, rows: Rows, budget: &Arc<Budget>) -> Self {
        Self {
            delimiter: options.delimiter,
            null: options.null.clone().into_bytes(),
            lines: Lines::new(options, budget),
            rows,
            value: Vec::new(),
        }
    }

    fn read_line(&mut self, line: &[u8]) -> Result<(), Failure> {
        let Some(line) = self.lines.data_line(line) else { return Ok(()) };
        if self.rows.width() == 0 && line.is_empty() {
            return self.rows.end_row(0);
        }
        let (mut start, mut at, mut column) = (0, 0, 0);
        loop {
            match line.get(at) {
                Some(b'\\') => at += 2,
                Some(b) if *b != self.delimiter => at += 1,
                end => {
                    self.field(column, &line[start..at.min(line.len())])?;
                    column += 1;
                    if end.is_none() {
                        return self.rows.end_row(column);
                    }
                    at += 1;
                    start = at;
                }
            }
        }
    }

    fn field(&mut self, column: usize, raw: &[u8]) -> Result<(), Failure> {
        if raw == self.null {
            return self.rows.value(column, None);
        }
        if !raw.contains(&b'\\') {
            return self.rows.value(column, Some(RawValue::Text(raw)));
        }
        self.value.clear();
        unescape(raw, &mut self.value);
        self.rows.value(column, Some(RawValue::Text(&self.value)))
    }
}

impl CopyReader for Text {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        let (buffer, mut at) = self.lines.append(data)?;
        let mut start = 0;
        while let Some(&b) = buffer.get(at) {
            match b {
                // An escaped newline is data. The escaped character may arrive with the next message.
                b'\\' if at + 1 == buffer.len() => break,
                b'\\' => at += 2,
                b'\n' => {
                    self.read_line(&buffer[start..at])?;
                    at += 1;
                    start = at;
                }
                _ => at += 1,
            }
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

fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some((&b, after)) = rest.split_first() {
        rest = after;
        let Some((&letter, after)) = rest.split_first().filter(|_| b == b'\\') else {
            out.push(b);
            continue;
        };
        rest = after;
        out.push(match letter {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'0'..=b'7' => escaped_byte(u32::from(letter - b'0'), &mut rest, 8, 2),
            b'x' if rest.first().is_some_and(u8::is_ascii_hexdigit) => escaped_byte(0, &mut rest, 16, 2),
            other => other,
        });
    }
}

/// Reads up to `most` further digits of an escaped byte. As in PostgreSQL, only its lowest eight bits count.
fn escaped_byte(first: u32, rest: &mut &[u8], base: u32, most: usize) -> u8 {
    let mut value = first;
    for _ in 0..most {
        let Some((digit, after)) =
            rest.split_first().and_then(|(b, after)| Some((char::from(*b).to_digit(base)?, after)))
        else {
            break;
        };
        value = value * base + digit;
        *rest = after;
    }
    (value & 0xff) as u8
}
