//! How long the rows take that somebody else makes.

use super::WEIGHT;

/// The longest that a chunk's rows are thought to take, in nanoseconds: whoever makes them may pause, which says nothing of
/// the next ones.
const LONGEST: f64 = 1e9;

/// An estimate of how rows come: how long they take, and for how many chunks at once.
#[derive(Debug, Default)]
pub(super) struct Production {
    /// Sums over chunks, the older the less: of one for each, of their plain bytes, of nanoseconds, and of these squared.
    chunks: f64,
    bytes: f64,
    time: f64,
    squares: f64,
    /// Nanoseconds that the next chunk's rows took, if that is known.
    next: Option<f64>,
}

impl Production {
    /// The rows of the next chunk took so many nanoseconds.
    pub(super) fn record_time(&mut self, time: f64) {
        self.next = Some(time);
    }

    /// The next chunk has so many plain bytes.
    pub(super) fn record_chunk(&mut self, bytes: f64) {
        if let Some(time) = self.next.take() {
            self.add(time, bytes);
        }
    }

    fn add(&mut self, time: f64, bytes: f64) {
        let time = time.min(LONGEST);
        for (sum, new) in [
            (&mut self.chunks, 1.0),
            (&mut self.bytes, bytes),
            (&mut self.time, time),
            (&mut self.squares, time * time),
        ] {
            *sum = *sum * (1.0 - WEIGHT) + new;
        }
    }

    /// Nanoseconds for each plain byte of a chunk that waits for its rows, and how many chunks there are for one that does: 1
    /// and more. If one of k chunks takes all the time, the mean square is k times the square of the mean.
    pub(super) fn pieces(&self) -> (f64, f64) {
        if self.bytes <= 0.0 || self.time <= 0.0 {
            return (0.0, 1.0);
        }
        let chunks = (self.chunks * self.squares / (self.time * self.time)).max(1.0);
        (self.time / self.bytes * chunks, chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_several_chunks_come_at_once() {
        let mut production = Production::default();
        assert_eq!(production.pieces(), (0.0, 1.0));
        for chunk in 0..200 {
            production.add(if chunk % 4 == 0 { 8e6 } else { 0.0 }, 1e6);
        }
        let (time, chunks) = production.pieces();
        assert!((3.0..5.0).contains(&chunks), "{chunks}");
        assert!((time / chunks - 2.0).abs() < 0.6, "{time}");
    }

    #[test]
    fn a_pause_is_forgotten() {
        let mut production = Production::default();
        production.add(60e9, 4e6);
        for _ in 0..100 {
            production.add(4e6, 4e6);
        }
        assert!((production.pieces().0 - 1.0).abs() < 0.3);
    }
}
