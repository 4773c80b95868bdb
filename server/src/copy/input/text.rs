//! COPY's text format (PostgreSQL manual, COPY, "Text Format"; `CopyReadAttributesText`).

use arrow_array::RecordBatch;

use super::rows::{Raw, Rows};
use super::{CopyDataError, MOST_ROW_BYTES, Reader};
use crate::copy::options::Options;
use crate::error::Failure;

pub(super) struct Text {
    delimiter: u8,
    null: Vec<u8>,
    is_header: bool,
    rows: Rows,
    /// The beginning of a line whose end has not come yet.
    rest: Vec<u8>,
    /// How much of it has been looked at.
    seen: usize,
    is_over: bool,
    value: Vec<u8>,
}

impl Text {
    pub fn new(options: &Options, rows: Rows) -> Self {
        Self {
            delimiter: options.delimiter,
            null: options.null.clone().into_bytes(),
            is_header: options.header,
            rows,
            rest: Vec::new(),
            seen: 0,
            is_over: false,
            value: Vec::new(),
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.is_over || std::mem::take(&mut self.is_header) {
            return Ok(());
        }
        if line == b"\\." {
            self.is_over = true;
            return Ok(());
        }
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
            return self.rows.value(column, Some(Raw::Text(raw)));
        }
        self.value.clear();
        unescape(raw, &mut self.value);
        self.rows.value(column, Some(Raw::Text(&self.value)))
    }
}

impl Reader for Text {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.rest.extend_from_slice(data);
        let buffer = std::mem::take(&mut self.rest);
        let (mut start, mut at) = (0, self.seen);
        while let Some(&b) = buffer.get(at) {
            match b {
                // An escaped newline is data; what is escaped may not have come yet.
                b'\\' if at + 1 == buffer.len() => break,
                b'\\' => at += 2,
                b'\n' => {
                    self.line(&buffer[start..at])?;
                    at += 1;
                    start = at;
                }
                _ => at += 1,
            }
        }
        self.rest = buffer[start..].to_vec();
        self.seen = at.min(buffer.len()) - start;
        if self.rest.len() > MOST_ROW_BYTES { Err(CopyDataError::TooLong.into()) } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let last = std::mem::take(&mut self.rest);
        if last.is_empty() { Ok(()) } else { self.line(&last) }
    }

    fn batch(&mut self, all: bool) -> Result<Option<RecordBatch>, Failure> {
        self.rows.batch(all)
    }
}

/// Appends what `raw` stands for.
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
            b'0'..=b'7' => number(u32::from(letter - b'0'), &mut rest, 8, 2),
            b'x' if rest.first().is_some_and(u8::is_ascii_hexdigit) => number(0, &mut rest, 16, 2),
            other => other,
        });
    }
}

/// A byte of up to `most` further digits.
fn number(first: u32, rest: &mut &[u8], base: u32, most: usize) -> u8 {
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
