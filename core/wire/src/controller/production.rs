//! How long the rows take that somebody else makes.

use super::WEIGHT;

/// The longest that a chunk's rows are thought to take, in nanoseconds: whoever makes them may pause, which says
/// nothing of the next ones.
const LONGEST: f64 = 1e9;

/// An estimate of how rows come: how long they take, and how many of them at once.
#[derive(Debug, Default)]
pub(super) struct Production {
    /// Sums over chunks, the older the less: of their plain bytes, of the nanoseconds that their rows took, and of
    /// these squared.
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

    /// The next chunk has so many plain bytes, and a full one would have so many.
    pub(super) fn record_chunk(&mut self, bytes: f64, full: f64) {
        if let Some(time) = self.next.take() {
            self.add(time, bytes, full);
        }
    }

    fn add(&mut self, time: f64, bytes: f64, full: f64) {
        let time = time.min(LONGEST);
        // A small chunk is a part of the newest full one.
        let fading = (1.0 - WEIGHT).powf((bytes / full).min(1.0));
        for (sum, new) in [(&mut self.bytes, bytes), (&mut self.time, time), (&mut self.squares, time * time)] {
            *sum = *sum * fading + new;
        }
    }

    /// Nanoseconds for each plain byte of a chunk of so many bytes that waits for its rows, and how many such chunks
    /// there are for one that does: 1 and more. If the rows of `b` bytes are made at once, in the time `t`, then `n`
    /// times that have the sums `n b`, `n t` and `n t²`, so `b` follows from the sums, whatever the sizes of the
    /// chunks.
    pub(super) fn pieces(&self, chunk_bytes: f64) -> (f64, f64) {
        if self.bytes <= 0.0 || self.time <= 0.0 {
            return (0.0, 1.0);
        }
        let at_once = self.bytes * self.squares / (self.time * self.time);
        let chunks = (at_once / chunk_bytes.max(1.0)).max(1.0);
        (self.time / self.bytes * chunks, chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_several_chunks_come_at_once() {
        let mut production = Production::default();
        assert_eq!(production.pieces(1e6), (0.0, 1.0));
        for chunk in 0..200 {
            production.add(if chunk % 4 == 0 { 8e6 } else { 0.0 }, 1e6, 1e6);
        }
        let (time, chunks) = production.pieces(1e6);
        assert!((3.0..5.0).contains(&chunks), "{chunks}");
        assert!((time / chunks - 2.0).abs() < 0.6, "{time}");
    }

    #[test]
    fn small_chunks_are_parts_of_one_that_is_made_at_once() {
        let mut production = Production::default();
        for chunk in 0..400 {
            production.add(if chunk % 8 == 0 { 2e6 } else { 0.0 }, 125e3, 1e6);
        }
        let (time, chunks) = production.pieces(1e6);
        assert!((0.8..1.3).contains(&chunks), "{chunks}");
        assert!((time / chunks - 2.0).abs() < 0.3, "{time}");
    }

    #[test]
    fn a_pause_is_forgotten() {
        let mut production = Production::default();
        production.add(60e9, 4e6, 4e6);
        for _ in 0..100 {
            production.add(4e6, 4e6, 4e6);
        }
        assert!((production.pieces(4e6).0 - 1.0).abs() < 0.3);
    }
}
