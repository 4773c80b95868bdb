//! What each configuration cost on the chunks of a real table, one after the other, in chunks of several sizes.

use crate::simulated::{CHUNK, CONFIGS, Data};

/// A table in full chunks, in halves of them, and so on: the part of a full chunk, and for each chunk its plain bytes
/// and costs.
pub(crate) struct Recorded(Vec<(f64, Vec<(f64, Data)>)>);

/// What `colonnade-bench --experiment costs` wrote: a line for each chunk with its part of a full one and its plain
/// bytes, then for each of [`CONFIGS`] the bytes on the wire and the microseconds of encoding.
pub(crate) fn tables() -> [(&'static str, Recorded); 4] {
    [
        ("cities", include_str!("cities.csv")),
        ("ddos", include_str!("ddos.csv")),
        ("flights", include_str!("flights.csv")),
        ("storms", include_str!("storms.csv")),
    ]
    .map(|(name, text)| {
        let mut sizes: Vec<(f64, Vec<(f64, Data)>)> = Vec::new();
        for line in text.lines() {
            let numbers: Vec<f64> = line.split(',').map(|text| text.parse().expect("a number")).collect();
            let (part, plain, costs) = (numbers[0], numbers[1], &numbers[2..]);
            let data = std::array::from_fn::<_, { CONFIGS.len() }, _>(|config| {
                (plain / (costs[2 * config + 1] * 1e3), costs[2 * config] / plain)
            });
            match sizes.last_mut() {
                Some((last, chunks)) if *last == part => chunks.push((plain, data)),
                _ => sizes.push((part, vec![(plain, data)])),
            }
        }
        (name, Recorded(sizes))
    })
}

impl Recorded {
    /// Of a chunk that begins after so many full ones and has such a part of a full one: what chunks of the nearest
    /// size cost there.
    pub(crate) fn at(&self, position: f64, part: f64) -> Data {
        let distance = |size: f64| (size / part).ln().abs();
        let nearest = self.0.iter().min_by(|a, b| distance(a.0).total_cmp(&distance(b.0))).expect("a size");
        let (mut start, end) = (0.0, (position + part) * CHUNK);
        let (mut sums, mut bytes) = ([(0.0, 0.0); CONFIGS.len()], 0.0);
        for (plain, data) in nearest.1.iter().cycle() {
            let here = (end.min(start + plain) - f64::max(start, position * CHUNK)).max(0.0);
            for (sum, cost) in sums.iter_mut().zip(data) {
                *sum = (sum.0 + here / cost.0, sum.1 + here * cost.1);
            }
            (bytes, start) = (bytes + here, start + plain);
            if start >= end {
                break;
            }
        }
        sums.map(|(time, size)| (bytes / time, size / bytes))
    }
}
