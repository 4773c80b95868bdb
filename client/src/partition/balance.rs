//! Chooses cuts for parts of about equal size.

/// Chooses at most `count` − 1 keys of a sample as cuts. Each cut is the first key of a part. The sample has each key
/// once, in the order of the keys, with the weight of its rows. `nulls` is the weight of the rows without a key, which
/// belong to the first part. All rows of a key are in one part, so frequent keys cause fewer cuts and not empty parts.
pub(crate) fn cuts<T>(sample: Vec<(T, f64)>, nulls: f64, count: usize) -> Vec<T> {
    let weight = |weight: f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
    let total = weight(nulls) + sample.iter().map(|(_, each)| weight(*each)).sum::<f64>();
    let mut chosen = Vec::new();
    let mut before = weight(nulls);
    let mut next = 1;
    for (index, (key, each)) in sample.into_iter().enumerate() {
        let (each, aim) = (weight(each), |step: usize| total * step as f64 / count as f64);
        // The cut before or after this key, whichever is nearer to the aim. Only NULLs are below the first key.
        let worth = before > 0.0 || index > 0;
        if next < count && worth && before + each / 2.0 >= aim(next) {
            chosen.push(key);
            // A frequent key may have passed several aims.
            while next < count && before + each / 2.0 >= aim(next) {
                next += 1;
            }
        }
        before += each;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn even(keys: i32) -> Vec<(i32, f64)> {
        (0..keys).map(|key| (key, 1.0)).collect()
    }

    #[test]
    fn even_keys_give_even_parts() {
        assert_eq!(cuts(even(100), 0.0, 4), [25, 50, 75]);
        assert_eq!(cuts(even(3), 0.0, 3), [1, 2]);
        assert_eq!(cuts(even(100), 0.0, 1), Vec::<i32>::new());
    }

    #[test]
    fn there_are_no_more_parts_than_keys() {
        assert_eq!(cuts(even(2), 0.0, 8), [1]);
        assert_eq!(cuts(even(1), 0.0, 8), Vec::<i32>::new());
        assert_eq!(cuts(even(0), 5.0, 8), Vec::<i32>::new());
    }

    #[test]
    fn a_frequent_key_is_alone_and_the_others_are_shared_out() {
        let skewed = vec![(1, 1.0), (2, 90.0), (3, 1.0), (4, 1.0)];
        assert_eq!(cuts(skewed, 0.0, 4), [2, 3]);
    }

    #[test]
    fn rows_without_a_key_count() {
        assert_eq!(cuts(even(10), 10.0, 2), [0]);
        assert_eq!(cuts(vec![(1, f64::NAN), (2, f64::INFINITY)], f64::NAN, 2), [2]);
    }

    proptest! {
        #[test]
        fn cuts_are_keys_in_order(weights in prop::collection::vec(0.0..9.0f64, 0..60), nulls in 0.0..50.0f64, count in 1usize..9) {
            let sample: Vec<_> = weights.iter().copied().enumerate().collect();
            let chosen = cuts(sample, nulls, count);
            prop_assert!(chosen.len() < count);
            prop_assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
            // No part is larger than its share and the two keys at its edges.
            let total = nulls + weights.iter().sum::<f64>();
            let largest = weights.iter().copied().fold(nulls, f64::max);
            let edges: Vec<usize> = [0].into_iter().chain(chosen).chain([weights.len()]).collect();
            for (part, edge) in edges.windows(2).enumerate() {
                let size: f64 = weights[edge[0]..edge[1]].iter().sum::<f64>() + if part == 0 { nulls } else { 0.0 };
                prop_assert!(size <= total / count as f64 + 2.0 * largest + 1e-6, "{size} of {total}");
            }
        }
    }
}
