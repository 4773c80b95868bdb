//! What each configuration cost on the pieces of a real table, one after the other.

use crate::simulated::{CHUNK, CONFIGS, Data};

/// A table in pieces of half a megabyte, with the plain bytes and the costs of each.
pub(crate) struct Recorded(Vec<(f64, Data)>);

/// A line of their files: plain bytes, then for each of [`CONFIGS`] the bytes on the wire and the microseconds of encoding.
pub(crate) fn tables() -> [(&'static str, Recorded); 2] {
    [("cities", include_str!("cities.csv")), ("ddos", include_str!("ddos.csv"))].map(|(name, text)| {
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let pieces = text.lines().map(|line| {
            let numbers: Vec<f64> = line.split(',').map(number).collect();
            let (plain, costs) = (numbers[0], &numbers[1..]);
            let data = std::array::from_fn::<_, { CONFIGS.len() }, _>(|config| {
                (plain / (costs[2 * config + 1] * 1e3), costs[2 * config] / plain)
            });
            (plain, data)
        });
        (name, Recorded(pieces.collect()))
    })
}

impl Recorded {
    /// Of a chunk that begins after so many full ones and has such a part of a full one.
    pub(crate) fn at(&self, position: f64, part: f64) -> Data {
        let (mut start, end) = (0.0, (position + part) * CHUNK);
        let (mut sums, mut bytes) = ([(0.0, 0.0); CONFIGS.len()], 0.0);
        for (plain, data) in self.0.iter().cycle() {
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
