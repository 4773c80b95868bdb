//! COPY's binary format (PostgreSQL manual, COPY, "Binary Format").

use std::sync::Arc;

use super::lines::append_charged;
use super::rows::{RawValue, Rows};
use super::{CopyDataError, CopyReader, MAX_ROW_BYTES, ReadRows};
use crate::charset::Charset;
use crate::error::Failure;
use crate::limits::{Budget, Charge};

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The flags that a reader must know, or else refuse the data.
const CRITICAL_FLAGS: u32 = 0xffff_0000;

pub(super) struct Binary {
    rows: Rows,
    /// That of the texts, if they are not UTF-8.
    charset: Option<Charset>,
    /// The beginning of an incomplete row.
    rest: Vec<u8>,
    charge: Charge,
    is_begun: bool,
    has_ended: bool,
}

impl Binary {
    pub fn new(rows: Rows, charset: Option<Charset>, budget: &Arc<Budget>) -> Self {
        Self { rows, charset, rest: Vec::new(), charge: budget.empty_charge(), is_begun: false, has_ended: false }
    }

    /// The header's length, if the header is complete.
    fn header(buffer: &[u8]) -> Result<Option<usize>, Failure> {
        let wrong = |problem: &str| Err(super::malformed("binary", problem));
        let known = buffer.len().min(SIGNATURE.len());
        if buffer[..known] != SIGNATURE[..known] {
            return wrong("its signature is missing");
        }
        let mut fields = Fields { buffer, at: SIGNATURE.len() };
        let (Some(flags), Some(extension)) = (fields.u32(), fields.u32()) else { return Ok(None) };
        if flags & CRITICAL_FLAGS != 0 {
            return wrong("it has unknown flags");
        }
        match usize::try_from(extension).ok().filter(|length| *length <= MAX_ROW_BYTES) {
            Some(length) => Ok(fields.take(length).map(|_| fields.at)),
            None => wrong("its header is too long"),
        }
    }

    /// Reads the row at `at`. Gives the start of the next row, or `None` if this row is incomplete.
    fn row(&mut self, buffer: &[u8], at: usize) -> Result<Option<usize>, Failure> {
        let mut fields = Fields { buffer, at };
        let Some(count) = fields.i16() else { return Ok(None) };
        let Ok(count) = usize::try_from(count) else {
            self.has_ended = count == -1;
            return if self.has_ended {
                Ok(Some(fields.at))
            } else {
                Err(super::malformed("binary", "a row has a negative count of values"))
            };
        };
        let mut values = Vec::with_capacity(count.min(self.rows.width()));
        for _ in 0..count {
            let Some(length) = fields.u32() else { return Ok(None) };
            values.push(match i32::try_from(length) {
                Err(_) => None,
                Ok(length) => match fields.take(length as usize) {
                    Some(bytes) => Some(bytes),
                    None => return Ok(None),
                },
            });
        }
        for (column, value) in values.into_iter().enumerate() {
            match (self.charset, value) {
                (Some(charset), Some(bytes)) => self.rows.value_in(charset, column, bytes)?,
                (_, value) => self.rows.value(column, value.map(RawValue::Binary))?,
            }
        }
        self.rows.end_row(count)?;
        Ok(Some(fields.at))
    }
}

impl CopyReader for Binary {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        append_charged(&mut self.rest, data, &mut self.charge)?;
        let mut buffer = std::mem::take(&mut self.rest);
        let mut at = 0;
        if !self.is_begun
            && let Some(end) = Self::header(&buffer)?
        {
            (self.is_begun, at) = (true, end);
        }
        while self.is_begun && !self.has_ended {
            match self.row(&buffer, at)? {
                Some(end) => at = end,
                None => break,
            }
        }
        // In place, because a long row arrives in many messages: a copy for each would take quadratic time.
        buffer.drain(..at);
        self.rest = buffer;
        if self.has_ended && !self.rest.is_empty() {
            return Err(super::malformed("binary", "there are data after its end"));
        }
        if self.rest.len() > MAX_ROW_BYTES { Err(CopyDataError::TooLong.into()) } else { Ok(()) }
    }

    /// As in PostgreSQL (`NextCopyFrom` in its copyfromparse.c), the trailer may be missing if the last row is
    /// complete. pgx never sends it.
    fn finish(&mut self) -> Result<(), Failure> {
        let is_whole = self.is_begun && self.rest.is_empty();
        if is_whole { Ok(()) } else { Err(super::malformed("binary", "its end is missing")) }
    }

    fn batch(&mut self, all: bool) -> Result<Option<ReadRows>, Failure> {
        self.rows.batch(all)
    }
}

struct Fields<'a> {
    buffer: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let bytes = self.buffer.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(bytes)
    }

    fn i16(&mut self) -> Option<i16> {
        self.take(2)?.try_into().ok().map(i16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }
}
