//! A sample of a column's values.

/// The number of values in a sample.
pub(super) const SAMPLE: usize = 256;

/// Up to [`SAMPLE`] ascending positions below `count`: one from each interval of equal length, at a varying offset, so
/// that periodic data is sampled correctly.
pub(super) fn positions(count: usize) -> impl Iterator<Item = usize> {
    let samples = count.min(SAMPLE);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    (0..samples).map(move |index| {
        let (from, to) = (index * count / samples, (index + 1) * count / samples);
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        from + ((state >> 33) as usize) % (to - from)
    })
}

/// The estimated number of distinct values among `count`, from the hashes of a sample. `None` if no value repeats in
/// the sample.
///
/// If most of the sample repeats, the sample's own number of distinct values is close. Otherwise the number of repeats
/// is used, as in the birthday problem: among *d* equally likely values, *s* draws give about *s*² / 2*d* repeats.
pub(super) fn distinct(hashes: impl Iterator<Item = u64>) -> Option<usize> {
    const SLOTS: usize = SAMPLE * 4;
    let mut table = [0u64; SLOTS];
    let (mut drawn, mut found) = (0usize, 0usize);
    for hash in hashes.take(SAMPLE) {
        drawn += 1;
        // Zero marks a free slot.
        let hash = hash | 1;
        let mut slot = (hash >> 32) as usize % SLOTS;
        loop {
            if table[slot] == hash {
                break;
            }
            if table[slot] == 0 {
                table[slot] = hash;
                found += 1;
                break;
            }
            slot = (slot + 1) % SLOTS;
        }
    }
    let repeats = drawn - found;
    if repeats < 3 {
        None
    } else if found * 2 <= drawn {
        Some(found + found / 4)
    } else {
        Some((drawn * drawn / (2 * repeats)).max(found))
    }
}

/// Spreads the bits of `value` (Fibonacci hashing, folded).
#[inline(always)]
pub(super) fn hash(value: u64) -> u64 {
    let product = u128::from(value ^ 0x2545_F491_4F6C_DD1D) * 0x9E37_79B9_7F4A_7C15;
    (product as u64) ^ (product >> 64) as u64
}
