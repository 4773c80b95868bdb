//! A sample of a column's values.

/// The number of values in a sample.
pub(super) const SAMPLE: usize = 256;

/// Up to `samples` ascending positions below `count`: one from each interval of equal length, at a varying offset, so
/// that periodic data is sampled correctly.
pub(super) fn positions(count: usize, samples: usize) -> impl Iterator<Item = usize> {
    // Fixed-point numbers with 32 binary places, because divisions for each position cost more than all else of a short
    // column.
    let count = (count as u64).min(u64::from(u32::MAX));
    let samples = count.min(samples as u64);
    let step = (count << 32).checked_div(samples).unwrap_or(0);
    (0..samples).map(move |index| {
        let (from, to) = ((index * step) >> 32, ((index + 1) * step) >> 32);
        let offset = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        (from + ((offset * (to - from)) >> 32)) as usize
    })
}

/// The estimated number of distinct values among `count`, from the hashes of a sample. `None` if no value repeats in
/// the sample.
///
/// If most of the sample repeats, the sample's own number of distinct values is close. Otherwise the number of repeats
/// is used, as in the birthday problem: among *d* equally likely values, *s* draws give about *s*² / 2*d* repeats.
pub(super) fn distinct(hashes: impl Iterator<Item = u64>) -> Option<usize> {
    // A set of bits, because searching a table of hashes costs mispredicted branches for each value. Two of 256
    // different hashes share a bit in every second sample; the smallest number of repeats that counts is larger than
    // that.
    let mut seen = [0u64; 1024];
    let (mut drawn, mut found) = (0usize, 0usize);
    for hash in hashes.take(SAMPLE) {
        let (word, bit) = (&mut seen[(hash >> 54) as usize], 1 << (hash >> 48 & 63));
        found += usize::from(*word & bit == 0);
        *word |= bit;
        drawn += 1;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn positions_ascend_and_one_lies_in_each_interval(count in 0usize..1 << 40, samples in 1usize..=SAMPLE) {
            let positions: Vec<usize> = positions(count, samples).collect();
            prop_assert_eq!(positions.len(), samples.min(count));
            prop_assert!(positions.is_sorted_by(|one, next| one < next));
            let sampled = count.min(u32::MAX as usize);
            for (index, position) in positions.iter().enumerate() {
                let part = sampled as f64 / samples.min(count) as f64;
                prop_assert!((*position as f64 - (index as f64 + 0.5) * part).abs() <= part / 2.0 + 1.0);
            }
        }
    }

    #[test]
    fn repeats_show_the_number_of_distinct_values() {
        for number in [1, 7, 50, 300, 1500] {
            let draws = (0..SAMPLE as u64).map(|draw| hash(hash(draw) % number));
            let estimate = distinct(draws).unwrap_or(usize::MAX) as f64 / number as f64;
            assert!((0.5..2.5).contains(&estimate), "{number} values: {estimate} of them");
        }
    }

    #[test]
    fn values_that_do_not_repeat_have_no_estimate() {
        assert_eq!(distinct((0..SAMPLE as u64).map(|value| hash(value * 1_000_003))), None);
    }
}
