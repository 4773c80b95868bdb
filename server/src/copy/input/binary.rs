//! COPY's binary format (PostgreSQL manual, COPY, "Binary Format").

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::lines::add;
use super::rows::{Raw, Rows};
use super::{CopyDataError, CopyReader, MOST_ROW_BYTES};
use crate::error::Failure;
use crate::limits::budget::{Budget, Charge};

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The bits of the flags that a reader must understand.
const CRITICAL: u32 = 0xffff_0000;

pub(super) struct Binary {
    rows: Rows,
    /// What has come and makes no whole row yet.
    rest: Vec<u8>,
    charge: Charge,
    is_begun: bool,
    is_over: bool,
}

impl Binary {
    pub fn new(rows: Rows, budget: &Arc<Budget>) -> Self {
        Self { rows, rest: Vec::new(), charge: budget.nothing(), is_begun: false, is_over: false }
    }

    /// The header's length, if all of it is there.
    fn header(buffer: &[u8]) -> Result<Option<usize>, Failure> {
        let wrong = |problem: &str| Err(super::malformed("binary", problem));
        let known = buffer.len().min(SIGNATURE.len());
        if buffer[..known] != SIGNATURE[..known] {
            return wrong("its signature is missing");
        }
        let mut fields = Fields { buffer, at: SIGNATURE.len() };
        let (Some(flags), Some(extension)) = (fields.u32(), fields.u32()) else { return Ok(None) };
        if flags & CRITICAL != 0 {
            return wrong("it has flags that are not known");
        }
        match usize::try_from(extension).ok().filter(|length| *length <= MOST_ROW_BYTES) {
            Some(length) => Ok(fields.take(length).map(|_| fields.at)),
            None => wrong("its header is too long"),
        }
    }

    /// Reads the row at `at`; gives where the next one starts, or `None` if it is not all there.
    fn row(&mut self, buffer: &[u8], at: usize) -> Result<Option<usize>, Failure> {
        let mut fields = Fields { buffer, at };
        let Some(count) = fields.i16() else { return Ok(None) };
        let Ok(count) = usize::try_from(count) else {
            self.is_over = count == -1;
            return if self.is_over {
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
                    Some(bytes) => Some(Raw::Binary(bytes)),
                    None => return Ok(None),
                },
            });
        }
        for (column, value) in values.into_iter().enumerate() {
            self.rows.value(column, value)?;
        }
        self.rows.end_row(count)?;
        Ok(Some(fields.at))
    }
}

impl CopyReader for Binary {
    fn feed(&mut self, data: &[u8]) -> Result<(), Failure> {
        add(&mut self.rest, data, &mut self.charge)?;
        let mut buffer = std::mem::take(&mut self.rest);
        let mut at = 0;
        if !self.is_begun
            && let Some(end) = Self::header(&buffer)?
        {
            (self.is_begun, at) = (true, end);
        }
        while self.is_begun && !self.is_over {
            match self.row(&buffer, at)? {
                Some(end) => at = end,
                None => break,
            }
        }
        // In place: a long row comes in many messages, and is not to be copied for each.
        buffer.drain(..at);
        self.rest = buffer;
        if self.is_over && !self.rest.is_empty() {
            return Err(super::malformed("binary", "data follow its end"));
        }
        if self.rest.len() > MOST_ROW_BYTES { Err(CopyDataError::TooLong.into()) } else { Ok(()) }
    }

    /// PostgreSQL takes CopyDone after a whole row for the end as well (`NextCopyFrom` in its copyfromparse.c), and pgx sends
    /// no other.
    fn finish(&mut self) -> Result<(), Failure> {
        let is_whole = self.is_begun && self.rest.is_empty();
        if is_whole { Ok(()) } else { Err(super::malformed("binary", "its end is missing")) }
    }

    fn batch(&mut self, all: bool) -> Result<Option<RecordBatch>, Failure> {
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
