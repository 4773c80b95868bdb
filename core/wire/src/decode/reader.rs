//! A bounds-checked cursor over a body, and a limit for the memory of decoded values.

use bytes::Bytes;

use crate::Damage;
use crate::int::Int;

/// Reads a body from start to end. Positions count from the body's start, as alignment does.
pub(crate) struct Reader<'a> {
    body: &'a [u8],
    shared: Option<&'a Bytes>,
    position: usize,
    end: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { body, shared: None, position: 0, end: body.len() }
    }

    /// A reader over a part of `body` that can return reference-counted slices of it.
    pub(crate) fn shared(body: &'a Bytes, start: usize, end: usize) -> Self {
        Self { body, shared: Some(body), position: start, end }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        if count > self.end - self.position {
            return Err(Damage::Truncated);
        }
        let taken = &self.body[self.position..self.position + count];
        self.position += count;
        Ok(taken)
    }

    /// `count` values of `width` bytes.
    pub(crate) fn take_values(&mut self, count: usize, width: usize) -> Result<&'a [u8], Damage> {
        self.take(count.checked_mul(width).ok_or(Damage::Truncated)?)
    }

    /// The same without a copy, for buffers that are passed on.
    pub(crate) fn take_shared(&mut self, count: usize) -> Result<Bytes, Damage> {
        let at = self.position;
        let taken = self.take(count)?;
        Ok(match self.shared {
            Some(body) => body.slice(at..at + count),
            None => Bytes::copy_from_slice(taken),
        })
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Damage> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Damage> {
        Ok(i16::read_le(self.take(2)?) as u16)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Damage> {
        Ok(i32::read_le(self.take(4)?) as u32)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Damage> {
        Ok(i64::read_le(self.take(8)?) as u64)
    }

    /// A `u64` that counts objects in memory.
    pub(crate) fn count(&mut self) -> Result<usize, Damage> {
        usize::try_from(self.u64()?).map_err(|_| Damage::Offsets)
    }

    pub(crate) fn align(&mut self, to: usize) -> Result<(), Damage> {
        let padding = self.position.next_multiple_of(to) - self.position;
        if self.take(padding)?.iter().all(|&byte| byte == 0) { Ok(()) } else { Err(Damage::NotZero) }
    }

    pub(crate) fn zero(&mut self, count: usize) -> Result<(), Damage> {
        if self.take(count)?.iter().all(|&byte| byte == 0) { Ok(()) } else { Err(Damage::NotZero) }
    }

    /// Checks that no byte remains.
    pub(crate) fn finish(&self) -> Result<(), Damage> {
        if self.position == self.end { Ok(()) } else { Err(Damage::TrailingBytes) }
    }
}

/// The number of bytes that a chunk may still decode to. It is charged before each allocation.
pub(crate) struct Budget {
    limit: u64,
    spent_by_others: u64,
    used: u64,
    /// The number of rows without buffers that are not charged: those that the chunk itself has.
    free: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64, spent_by_others: u64, free: u64) -> Self {
        Self { limit, spent_by_others, used: 0, free }
    }

    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Refuses more rows than the budget has bits: a row of a column with buffers takes at least one bit. So a row
    /// count that passes can be added and multiplied by a width without overflow.
    pub(crate) fn check(&self, rows: usize) -> Result<(), Damage> {
        let left = (self.limit - self.limit.min(self.spent_by_others + self.used)).min(1 << 40);
        if rows as u64 / 8 > left {
            return Err(Damage::OverLimit { declared: rows as u64, limit: self.limit });
        }
        Ok(())
    }

    /// Charges the rows of a node that has no buffers, because they also cost time.
    pub(crate) fn charge_rows(&mut self, rows: usize) -> Result<(), Damage> {
        match self.free.checked_sub(rows as u64) {
            Some(left) => {
                self.free = left;
                Ok(())
            }
            None => self.take(rows, 1),
        }
    }

    /// Charges the bytes of `count` values of `width` bytes.
    pub(crate) fn take(&mut self, count: usize, width: usize) -> Result<(), Damage> {
        let declared = (count as u64).saturating_mul(width as u64).saturating_add(self.used);
        if declared.saturating_add(self.spent_by_others) > self.limit {
            return Err(Damage::OverLimit { declared, limit: self.limit });
        }
        self.used = declared;
        Ok(())
    }
}

/// Decoded values as a reference-counted buffer with the alignment of their type.
pub(crate) fn buffer<T: bytemuck::NoUninit + Send + Sync>(values: Vec<T>) -> Bytes {
    struct Owner<T>(Vec<T>);
    impl<T: bytemuck::NoUninit> AsRef<[u8]> for Owner<T> {
        fn as_ref(&self) -> &[u8] {
            bytemuck::cast_slice(&self.0)
        }
    }
    if values.is_empty() { Bytes::new() } else { Bytes::from_owner(Owner(values)) }
}
