//! How slow the reader is.

use std::time::Duration;

use super::{LinkSample, WEIGHT};

/// From this share of the time on in which its window was closed, it is the reader that all others wait for.
const MOST: f64 = 0.5;

/// An estimate of how many times longer the reader takes for a chunk than the table says. Nobody tells: while its
/// window is closed, it is as slow as everything is; else it is no slower than that.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Nanoseconds that chunks took, and that they take a reader like the table's, fading.
    time: f64,
    expected: f64,
    is_limit: bool,
    /// When a chunk was handed over the last time, and how long the window had been closed by then.
    last: Option<(Duration, Duration)>,
}

impl Reader {
    /// A chunk was handed over, on which a reader like the table's works for `expected` nanoseconds.
    pub(super) fn record(&mut self, sample: &LinkSample, expected: f64) {
        let Some((at, limited)) = self.last.replace((sample.at, sample.peer_limited)) else { return };
        let (Some(time), Some(limited)) = (sample.at.checked_sub(at), sample.peer_limited.checked_sub(limited)) else {
            return;
        };
        let (time, limited) = (time.as_nanos() as f64, limited.as_nanos() as f64);
        self.is_limit = limited > MOST * time;
        let expected = expected.max(1.0);
        if self.is_limit || time / expected < self.slowness() {
            let fade = |old: f64, new: f64| (1.0 - WEIGHT) * old + WEIGHT * new;
            (self.time, self.expected) = (fade(self.time, time), fade(self.expected, expected));
        } else {
            // Nobody waits for it, so it may have become faster.
            self.time *= 1.0 - WEIGHT;
        }
    }

    /// Whether the writer has lately waited for it.
    pub(super) fn is_limit(&self) -> bool {
        self.is_limit
    }

    /// 0 as long as nobody had to wait for it.
    pub(super) fn slowness(&self) -> f64 {
        if self.expected > 0.0 { self.time / self.expected } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, limited: u64) -> LinkSample {
        let [at, peer_limited] = [at, limited].map(Duration::from_millis);
        LinkSample { at, peer_limited, ..LinkSample::default() }
    }

    #[test]
    fn it_is_slow_while_its_window_is_closed_and_no_slower_than_all_else_otherwise() {
        let mut reader = Reader::default();
        reader.record(&sample(0, 0), 1e6);
        reader.record(&sample(10, 1), 1e6);
        assert_eq!(reader.slowness(), 0.0);
        reader.record(&sample(30, 20), 1e6);
        assert_eq!(reader.slowness(), 20.0);
        for chunk in 1..50 {
            reader.record(&sample(30 + 2 * chunk, 20), 1e6);
        }
        assert!((1.9..2.1).contains(&reader.slowness()));
    }

    #[test]
    fn clocks_may_run_backwards() {
        let mut reader = Reader::default();
        for (at, limited) in [(50, 9), (3, 20), (90, 1), (91, 80)] {
            reader.record(&sample(at, limited), 0.0);
            assert!(reader.slowness().is_finite() && reader.slowness() >= 0.0);
        }
    }
}
