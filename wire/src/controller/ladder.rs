//! The configurations that a controller chooses from, and what they cost on other data.

use crate::Config;

/// A configuration with what is thought of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rung {
    pub(super) config: Config,
    /// Nanoseconds of work that a plain byte takes.
    pub(super) time: f64,
    /// Bytes that a plain byte becomes.
    pub(super) size: f64,
    /// Nanoseconds that a reader works on a plain byte, on a machine like the table's. Plain ones are taken to be no less work than
    /// light ones, though they are: who is slow may well do other things than decode, and the network is not only ours.
    pub(super) reading: f64,
    /// Where this is known from.
    pub(super) source: Source,
    /// Chunks that pass before it may be tried again.
    pub(super) wait: u32,
    /// By how many it was made to wait the last time.
    pub(super) patience: u32,
    /// On which part of a chunk it was tried the last time.
    pub(super) part: f64,
}

/// Where it is known from what a rung costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Other data.
    Table,
    /// A part of a chunk.
    Trial,
    /// One chunk, which took longer than the trial promised.
    Beginning,
    /// Chunks of this stream.
    Chunks,
}

impl Source {
    /// After a trial; what chunks have told is not worth less for it.
    pub(super) fn or_trial(self) -> Self {
        if self == Self::Table { Self::Trial } else { self }
    }
}

impl Rung {
    pub(super) fn is_known(&self) -> bool {
        self.source != Source::Table
    }
}

const fn rung(config: Config, time: f64, size: f64, reading: f64) -> Rung {
    Rung { config, time, size, reading, source: Source::Table, wait: 0, patience: 0, part: 0.0 }
}

/// From the least work to the most. Geometric means over a table of sales, one of flights, one of a census and one of
/// free text, on one core; what matters is how they stand to one another, since the first chunk corrects the whole.
pub(super) const LADDER: [Rung; 7] = [
    rung(Config::PLAIN, 0.07, 1.0, 0.2),
    rung(Config::LIGHT, 0.25, 0.32, 0.2),
    rung(Config::LIGHT_FSST, 0.5, 0.26, 0.3),
    rung(Config::LIGHT_LZ4, 0.65, 0.25, 0.4),
    rung(Config::light_zstd(1), 0.95, 0.21, 0.6),
    rung(Config::light_zstd(3), 1.2, 0.2, 0.6),
    rung(Config::light_zstd(9), 4.0, 0.185, 0.6),
];
