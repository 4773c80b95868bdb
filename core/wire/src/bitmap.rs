//! Bits in Arrow's order: bit 0 of byte 0 first.

/// A run of bits that starts `offset` bits into `bytes`. The column knows the number of bits.
#[derive(Clone, Copy, Debug)]
pub struct Bitmap<B> {
    /// The bytes that contain the bits.
    pub bytes: B,
    /// The number of the first bit.
    pub offset: usize,
}

impl<B: AsRef<[u8]>> Bitmap<B> {
    /// The bitmap that starts with the first bit of `bytes`.
    pub fn new(bytes: B) -> Self {
        Self { bytes, offset: 0 }
    }

    /// The same bits over a borrowed buffer.
    pub fn as_view(&self) -> Bitmap<&[u8]> {
        Bitmap { bytes: self.bytes.as_ref(), offset: self.offset }
    }

    /// Whether there are at least `rows` bits.
    pub fn covers(&self, rows: usize) -> bool {
        self.bytes.as_ref().len().checked_mul(8).is_some_and(|bits| bits >= self.offset.saturating_add(rows))
    }

    /// Bit `row`.
    ///
    /// # Panics
    ///
    /// If the bitmap does not cover `row`.
    #[inline]
    pub fn bit(&self, row: usize) -> bool {
        let at = self.offset + row;
        self.bytes.as_ref()[at / 8] >> (at % 8) & 1 == 1
    }

    /// How many of the first `rows` bits are 1.
    ///
    /// # Panics
    ///
    /// If the bitmap does not cover `rows`.
    pub fn count_ones(&self, rows: usize) -> usize {
        self.words(rows).map(|(word, _)| word.count_ones() as usize).sum()
    }

    /// The first `rows` bits, 64 at a time: each word with its number of bits. The unused bits of the last word are 0.
    pub(crate) fn words(&self, rows: usize) -> impl Iterator<Item = (u64, usize)> + '_ {
        assert!(self.covers(rows), "the bitmap has fewer bits than rows");
        let bytes = self.bytes.as_ref();
        let offset = self.offset;
        (0..rows.div_ceil(64)).map(move |index| {
            let first = offset + index * 64;
            let count = (rows - index * 64).min(64);
            let rest = &bytes[first / 8..];
            let shift = first % 8;
            // A copy of a fixed length is two loads, another one is a function call.
            let nine = rest.first_chunk().copied().unwrap_or_else(|| {
                let mut nine = [0u8; 9];
                nine[..rest.len()].copy_from_slice(rest);
                nine
            });
            let [low @ .., high] = nine;
            let mut word = u64::from_le_bytes(low) >> shift;
            if shift > 0 {
                word |= u64::from(high) << (64 - shift);
            }
            if count < 64 {
                word &= (1 << count) - 1;
            }
            (word, count)
        })
    }

    /// Runs of consecutive 1 bits among the first `rows`, as (first row, length).
    pub(crate) fn runs(&self, rows: usize, mut run: impl FnMut(usize, usize)) {
        let mut base = 0;
        for (mut word, count) in self.words(rows) {
            let mut at = base;
            while word != 0 {
                let zeros = word.trailing_zeros() as usize;
                word >>= zeros;
                at += zeros;
                let ones = (!word).trailing_zeros() as usize;
                run(at, ones);
                at += ones;
                word = if ones == 64 { 0 } else { word >> ones };
            }
            base += count;
        }
    }

    /// The first `rows` bits as ⌈rows / 8⌉ bytes, unused bits 0.
    pub(crate) fn to_bytes(&self, rows: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(rows.div_ceil(64) * 8);
        for (word, _) in self.words(rows) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.truncate(rows.div_ceil(8));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_one_bit_at_a_time(bytes in proptest::collection::vec(any::<u8>(), 1..80), offset in 0usize..8, cut in 0usize..100) {
            let bitmap = Bitmap { bytes: &bytes[..], offset };
            let rows = (bytes.len() * 8 - offset).saturating_sub(cut);
            let bits: Vec<bool> = (0..rows).map(|row| bitmap.bit(row)).collect();
            prop_assert_eq!(bitmap.count_ones(rows), bits.iter().filter(|&&bit| bit).count());
            let moved = bitmap.to_bytes(rows);
            prop_assert_eq!(moved.len(), rows.div_ceil(8));
            let moved = Bitmap::new(moved);
            prop_assert!((0..rows).all(|row| moved.bit(row) == bits[row]));
            let mut from_runs = vec![false; rows];
            bitmap.runs(rows, |first, count| from_runs[first..first + count].fill(true));
            prop_assert_eq!(from_runs, bits);
        }
    }
}
