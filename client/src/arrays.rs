//! Arrow's buffers while a decoder of rows fills them.

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};

/// The valid rows of a column. It costs nothing before the first NULL.
#[derive(Debug, Default)]
pub(crate) struct Validity {
    /// Bits up to the last NULL.
    bits: Vec<u8>,
}

impl Validity {
    /// Marks a row as NULL. Rows are in ascending order.
    #[inline]
    pub(crate) fn null(&mut self, row: usize) {
        if self.bits.len() <= row / 8 {
            self.bits.resize(row / 8 + 1, 0xff);
        }
        self.bits[row / 8] &= !(1 << (row % 8));
    }

    /// The same for 64 rows from `row` on. The bits of `nulls` are set for NULL rows.
    #[inline]
    pub(crate) fn nulls(&mut self, row: usize, nulls: u64) {
        if nulls == 0 {
            return;
        }
        let last = row + nulls.ilog2() as usize;
        if self.bits.len() <= last / 8 {
            self.bits.resize(last / 8 + 1, 0xff);
        }
        let spread = (u128::from(nulls) << (row % 8)).to_le_bytes();
        for (bits, nulls) in self.bits[row / 8..].iter_mut().zip(spread) {
            *bits &= !nulls;
        }
    }

    /// The bitmap of `rows` rows; the next one starts empty.
    pub(crate) fn finish(&mut self, rows: usize) -> Option<NullBuffer> {
        if self.bits.is_empty() {
            return None;
        }
        let mut bits = std::mem::take(&mut self.bits);
        bits.resize(rows.div_ceil(8), 0xff);
        Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, rows)))
    }
}

/// Strings in one buffer.
#[derive(Debug)]
pub(crate) struct Strings {
    offsets: Vec<i32>,
    pub(crate) data: Vec<u8>,
}

impl Default for Strings {
    fn default() -> Self {
        Self::empty(0)
    }
}

impl Strings {
    /// `rows` empty strings.
    pub(crate) fn empty(rows: usize) -> Self {
        Self { offsets: vec![0; rows + 1], data: Vec::new() }
    }

    /// Strings so far.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Reserves memory for `more` strings.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.offsets.reserve(more);
    }

    /// Ends the current string at the end of the data. The caller checks [`Strings::fit`] from time to time.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.offsets.push(self.data.len() as i32);
    }

    /// Whether the offsets can represent the data's length. Lengths only grow, so one check covers all earlier
    /// strings.
    pub(crate) fn fit(&self) -> bool {
        i32::try_from(self.data.len()).is_ok()
    }

    /// Arrow's two buffers; the next ones start empty.
    pub(crate) fn finish(&mut self) -> Vec<Buffer> {
        let offsets = buffer(&mut self.offsets);
        self.offsets.push(0);
        vec![offsets, buffer(&mut self.data)]
    }
}

/// The values, without unused memory. The column reserves memory for as many further values.
pub(crate) fn renewed<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(values.len());
    let mut values = std::mem::replace(values, room);
    values.shrink_to_fit();
    values
}

/// The same as Arrow's buffer.
pub(crate) fn buffer<T: ArrowNativeType>(values: &mut Vec<T>) -> Buffer {
    Buffer::from_vec(renewed(values))
}

/// The number of rows of the next batch, if bytes limit it: as many as in the previous batch. A column has memory for
/// as many rows as last time, and one more row would double that memory.
#[derive(Debug, Default)]
pub(crate) struct Length(Option<usize>);

impl Length {
    /// The most rows of the next batch, where no batch has more than `most`.
    pub(crate) fn limit(&self, most: usize) -> usize {
        self.0.map_or(most, |rows| rows.min(most))
    }

    /// Records a batch of `rows` rows and `bytes` bytes, whose limit is `most` bytes.
    pub(crate) fn learn(&mut self, rows: usize, bytes: u64, most: u64) {
        let half_empty = bytes < most / 2;
        self.0 = (!half_empty).then_some(rows);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn batches_are_as_long_as_the_last_one_if_its_bytes_were_enough() {
        let mut length = Length::default();
        assert_eq!(length.limit(100), 100);
        length.learn(30, 1000, 1000);
        assert_eq!((length.limit(100), length.limit(20)), (30, 20));
        length.learn(30, 499, 1000);
        assert_eq!(length.limit(100), 100);
    }

    proptest! {
        #[test]
        fn a_bitmap_knows_its_nulls(rows in prop::collection::vec(any::<bool>(), 0..200), group in 1..=64usize) {
            let (mut single, mut many) = (Validity::default(), Validity::default());
            rows.iter().enumerate().filter(|(_, valid)| !**valid).for_each(|(row, _)| single.null(row));
            for (number, group_rows) in rows.chunks(group).enumerate() {
                let nulls = group_rows.iter().rev().fold(0, |nulls, valid| nulls << 1 | u64::from(!valid));
                many.nulls(number * group, nulls);
            }
            for validity in [&mut single, &mut many] {
                match validity.finish(rows.len()) {
                    None => prop_assert!(rows.iter().all(|valid| *valid)),
                    Some(bits) => prop_assert_eq!(bits.iter().collect::<Vec<_>>(), rows.clone()),
                }
                prop_assert!(validity.finish(rows.len()).is_none());
            }
        }
    }
}
