//! The configurations that a controller chooses from, and an estimate of what each one costs.

use crate::{ChunkCost, Config};

/// Weight of the newest chunk in the moving averages of a configuration's costs: noise of one chunk must not change the
/// choice, and data that change are followed within some chunks.
const COST_WEIGHT: f64 = 0.3;

/// Chunks after which a configuration is explored only now and then.
const FIRST_CHUNKS: u64 = 3;

/// What a configuration is estimated to cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) config: Config,
    /// Nanoseconds of CPU time for each plain byte.
    pub(super) work: f64,
    /// Bytes on the wire for each plain byte.
    pub(super) size: f64,
    /// Nanoseconds that a reader works on a plain byte, on a machine like the table's. Plain counts like light, though it is less
    /// work: a slow reader may do other things than decode, and more bytes load the network.
    pub(super) decoding: f64,
    /// Chunks of this stream that were encoded so.
    chunks: u64,
    /// The number of the stream's chunk that was the last of these.
    last_chunk: u64,
    /// Chunks that pass before it is explored again.
    interval: u64,
}

impl Cost {
    pub(super) fn is_known(&self) -> bool {
        self.chunks > 0
    }

    /// Whether its work was measured without what its first chunk makes for the others.
    pub(super) fn is_measured(&self) -> bool {
        self.chunks > 1
    }
}

const fn cost(config: Config, work: f64, size: f64, decoding: f64) -> Cost {
    Cost { config, work, size, decoding, chunks: 0, last_chunk: 0, interval: 0 }
}

/// From the least work to the most: geometric means over a table of sales, one of flights, one of a census and one of
/// free text, on one core. Only the ratios matter, because a stream's first chunks correct the whole table.
pub(super) const TABLE: [Cost; 7] = [
    cost(Config::PLAIN, 0.07, 1.0, 0.2),
    cost(Config::LIGHT, 0.25, 0.32, 0.2),
    cost(Config::LIGHT_FSST, 0.5, 0.26, 0.3),
    cost(Config::LIGHT_LZ4, 0.65, 0.25, 0.4),
    cost(Config::light_zstd(1), 0.95, 0.21, 0.6),
    cost(Config::light_zstd(3), 1.2, 0.2, 0.6),
    cost(Config::light_zstd(9), 4.0, 0.185, 0.6),
];

/// Estimates for all configurations that a reader takes.
#[derive(Debug)]
pub(super) struct Costs {
    all: Vec<Cost>,
    /// Chunks of the stream so far.
    chunks: u64,
    /// The last chunk whose work was recorded: its configuration, and its work and size divided by their estimates.
    last: Option<(Config, f64, f64)>,
}

impl Costs {
    pub(super) fn new(is_accepted: impl Fn(Config) -> bool) -> Self {
        Self { all: TABLE.into_iter().filter(|cost| is_accepted(cost.config)).collect(), chunks: 0, last: None }
    }

    pub(super) fn all(&self) -> &[Cost] {
        &self.all
    }

    /// Whether a configuration is known from few chunks, or has not been used for so many of its intervals.
    pub(super) fn is_due(&self, cost: &Cost, intervals: u64) -> bool {
        cost.chunks < FIRST_CHUNKS || self.chunks >= cost.last_chunk + intervals * cost.interval
    }

    /// A configuration is explored now; `next` changes the interval until it may be explored again.
    pub(super) fn explored(&mut self, index: usize, next: impl Fn(u64) -> u64) {
        self.all[index].interval = next(self.all[index].interval);
    }

    /// A chunk was encoded. Other configurations are known by their ratio to this one: what makes this chunk differ from its
    /// estimate, such as other data or another machine, changes theirs as well.
    pub(super) fn record(&mut self, chunk: &ChunkCost) {
        let plain_bytes = chunk.plain_bytes as f64;
        // A clock that stands still must not make a configuration free.
        let measured_work = (chunk.cpu.as_nanos() as f64 / plain_bytes).max(1e-3);
        let measured_size = chunk.wire_bytes as f64 / plain_bytes;
        let (mut work, mut size) = (measured_work, measured_size);
        // A paired comparison: the chunk before had similar data, and the same size if this one explores.
        if let Some((config, work_ratio, size_ratio)) = self.last
            && config != chunk.config
            && ![config, chunk.config].contains(&Config::PLAIN)
        {
            (work, size) = (measured_work / work_ratio, measured_size / size_ratio);
        }
        let Some(index) = self.all.iter().position(|cost| cost.config == chunk.config) else { return };
        let before = self.all[index];
        self.chunks += 1;
        // Chunks differ, so the first ones are averaged.
        let change = |was: f64, is: f64, earlier: u64| {
            (is / was).powf(COST_WEIGHT.max(1.0 / (earlier + 1) as f64)).clamp(0.01, 100.0)
        };
        let (is_first, is_guess) = (before.chunks < 1, before.chunks < 2);
        // The first chunk of a configuration also makes what is made once for a stream (tables of symbols), so it can only
        // show that there is less work.
        let is_timed = !is_first || work < before.work;
        let more_work = if is_timed { change(before.work, work, before.chunks.saturating_sub(1)) } else { 1.0 };
        let more_bytes = change(before.size, size, before.chunks);
        for (_, cost) in self.all.iter_mut().enumerate().filter(|(other, _)| *other != index) {
            // Plain buffers are not encoded, so they say nothing of the others, nor the others of them.
            if [chunk.config, cost.config].contains(&Config::PLAIN) {
                continue;
            }
            // By how much a configuration's first chunks differ from the table comes half from the data and half from the
            // configuration. The former concerns those that were not measured.
            if !is_guess {
                cost.work *= more_work;
            } else if cost.chunks < 2 {
                cost.work *= more_work.sqrt();
            }
            if !is_first {
                cost.size *= more_bytes;
            } else if cost.chunks < 1 {
                cost.size *= more_bytes.sqrt();
            }
        }
        let own = &mut self.all[index];
        (own.work, own.size) = (own.work * more_work, own.size * more_bytes);
        if is_timed {
            let ratio = |is: f64, estimate: f64| (is / estimate).clamp(0.5, 2.0);
            self.last = Some((chunk.config, ratio(measured_work, own.work), ratio(measured_size, own.size)));
        }
        (own.chunks, own.last_chunk) = (own.chunks + 1, self.chunks);
    }
}
