//! The configurations that a controller chooses from, and an estimate of what each one costs.

use std::time::Duration;

use super::WEIGHT;
use crate::{ChunkCost, Config};

/// What a configuration is estimated to cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) config: Config,
    /// Nanoseconds of CPU time for each plain byte.
    pub(super) work: f64,
    /// Bytes on the wire for each plain byte.
    pub(super) size: f64,
    /// Nanoseconds that a reader works on a plain byte, on a machine like the table's. Plain counts like light, though
    /// it is less work: a slow reader may do other things than decode, and more bytes load the network.
    pub(super) decoding: f64,
    /// Chunks of this stream that show what it costs: also those that were compressed after light encoding.
    known: u64,
    /// The position in the stream of the last chunk that was encoded so, in full chunks.
    last: f64,
    /// Full chunks that pass before it is explored again.
    interval: f64,
}

impl Cost {
    pub(super) fn is_known(&self) -> bool {
        self.known > 0
    }

    /// The same configuration with another work and size.
    pub(super) fn with(&self, work: f64, size: f64) -> Self {
        Self { work, size, ..*self }
    }

    /// Whether its work was measured without what its first chunk makes for the others.
    pub(super) fn is_measured(&self) -> bool {
        self.known > 1
    }
}

/// The configurations, from the least work to the most, and nanoseconds in which a reader decodes a plain byte.
const CONFIGS: [(Config, f64); 7] = [
    (Config::PLAIN, 0.2),
    (Config::LIGHT, 0.2),
    (Config::LIGHT_FSST, 0.3),
    (Config::LIGHT_LZ4, 0.4),
    (Config::light_zstd(1), 0.6),
    (Config::light_zstd(3), 0.6),
    (Config::light_zstd(9), 0.6),
];

/// What a stage costs for each byte that it is given: nanoseconds of CPU time, and bytes that are left. Plain buffers
/// and light encodings are given plain bytes, FSST and codecs what light encodings leave. These are geometric means
/// over a table of sales, one of flights, one of a census and one of free text, on one core. Only the ratios matter,
/// because a stream's first chunks correct them.
const PLAIN: [(Config, f64, f64); 1] = [(Config::PLAIN, 0.07, 1.0)];
const LIGHT: [(Config, f64, f64); 1] = [(Config::LIGHT, 0.2, 0.32)];
const FSST: [(Config, f64, f64); 1] = [(Config::LIGHT_FSST, 0.8, 0.81)];
const CODECS: [(Config, f64, f64); 4] = [
    (Config::LIGHT_LZ4, 1.25, 0.78),
    (Config::light_zstd(1), 2.2, 0.66),
    (Config::light_zstd(3), 3.0, 0.625),
    (Config::light_zstd(9), 11.7, 0.58),
];

/// Estimates for all configurations that a reader takes.
///
/// Chunks of one table differ by 40 % in what light encodings leave of them, and less in what compression leaves of
/// that. So the two are measured apart: each chunk that is not plain shows what light encoding alone costs.
#[derive(Debug)]
pub(super) struct Costs {
    all: Vec<Cost>,
    plain: Stage,
    light: Stage,
    fsst: Stage,
    codecs: Stage,
    /// Full chunks of the stream so far.
    position: f64,
    /// The last chunk's part of a full one.
    last_part: f64,
}

impl Costs {
    pub(super) fn new(is_accepted: impl Fn(Config) -> bool) -> Self {
        let accepted = CONFIGS.into_iter().filter(|(config, _)| is_accepted(*config));
        let cost =
            |(config, decoding)| Cost { config, work: 0.0, size: 0.0, decoding, known: 0, last: 0.0, interval: 0.0 };
        let mut costs = Self {
            all: accepted.map(cost).collect(),
            plain: Stage::new(&PLAIN),
            light: Stage::new(&LIGHT),
            fsst: Stage::new(&FSST),
            codecs: Stage::new(&CODECS),
            position: 0.0,
            last_part: 0.0,
        };
        costs.combine();
        costs
    }

    pub(super) fn all(&self) -> &[Cost] {
        &self.all
    }

    /// Whether a configuration has not been used for its interval.
    pub(super) fn is_due(&self, cost: &Cost) -> bool {
        self.position >= cost.last + cost.interval
    }

    /// A configuration is explored now, and again after twice as many chunks as the last time.
    pub(super) fn explored(&mut self, index: usize) {
        self.all[index].interval = (2.0 * self.all[index].interval).max(2.0);
    }

    /// A chunk was encoded that is such a part of a full one.
    pub(super) fn record(&mut self, chunk: &ChunkCost, part: f64) {
        let [plain, light, wire] =
            [chunk.plain_bytes, chunk.light_bytes, chunk.wire_bytes].map(|bytes| bytes.max(1) as f64);
        // A clock that stands still must not make a configuration free.
        let work = |time: Duration, bytes: f64| (time.as_nanos() as f64 / bytes).max(1e-3);
        let encoding = work(chunk.cpu.saturating_sub(chunk.compressing), plain);
        // Then its size on the wire differs for all configurations: each chunk has its own dictionaries.
        let is_resized = !(self.last_part / 1.5..self.last_part * 1.5).contains(&part);
        self.last_part = part;
        match chunk.config {
            Config::PLAIN => self.plain.record(Config::PLAIN, encoding, wire / plain, is_resized),
            Config::LIGHT => self.light.record(Config::LIGHT, encoding, wire / plain, is_resized),
            compressed => {
                self.light.record(Config::LIGHT, encoding, light / plain, is_resized);
                let stage = if compressed == Config::LIGHT_FSST { &mut self.fsst } else { &mut self.codecs };
                stage.record(compressed, work(chunk.compressing, light), wire / light, is_resized);
            }
        }
        self.position += part;
        if let Some(cost) = self.all.iter_mut().find(|cost| cost.config == chunk.config) {
            cost.last = self.position;
        }
        self.combine();
    }

    fn combine(&mut self) {
        for cost in &mut self.all {
            let alone = self.plain.find(cost.config).or_else(|| self.light.find(cost.config));
            if let Some(alone) = alone {
                (cost.work, cost.size, cost.known) = (alone.work, alone.size, alone.chunks);
                continue;
            }
            let then = self.fsst.find(cost.config).or_else(|| self.codecs.find(cost.config));
            if let (Some(light), Some(then)) = (self.light.find(Config::LIGHT), then) {
                (cost.work, cost.size) = (light.work + light.size * then.work, light.size * then.size);
                cost.known = then.chunks;
            }
        }
    }
}

/// Alternatives for one stage.
#[derive(Debug)]
struct Stage {
    all: Vec<Alternative>,
    /// The last one whose work was recorded, and its work and size divided by their estimates.
    last: Option<(Config, f64, f64)>,
}

#[derive(Debug)]
struct Alternative {
    config: Config,
    work: f64,
    size: f64,
    chunks: u64,
}

impl Stage {
    fn new(table: &[(Config, f64, f64)]) -> Self {
        let all = table.iter().map(|&(config, work, size)| Alternative { config, work, size, chunks: 0 });
        Self { all: all.collect(), last: None }
    }

    fn find(&self, config: Config) -> Option<&Alternative> {
        self.all.iter().find(|one| one.config == config)
    }

    /// A chunk took so much work, and so much was left of it. What makes its work differ from the estimate, such as
    /// another machine, changes the others' as well. Sizes were measured for each one; only those that were not are
    /// known by their ratio to this one. A chunk of another size than the last one changes all sizes.
    fn record(&mut self, config: Config, measured_work: f64, measured_size: f64, is_resized: bool) {
        let (mut work, mut size) = (measured_work, measured_size);
        // A paired comparison: the chunk before had similar data, and the same size if this one explores.
        if let Some((last, work_ratio, size_ratio)) = self.last
            && last != config
        {
            (work, size) = (measured_work / work_ratio, measured_size / size_ratio);
        }
        let Some(index) = self.all.iter().position(|one| one.config == config) else { return };
        let chunks = self.all[index].chunks;
        // Chunks differ, so the first ones are averaged.
        let change = |was: f64, is: f64, earlier: u64| {
            (is / was).powf(WEIGHT.max(1.0 / (earlier + 1) as f64)).clamp(0.01, 100.0)
        };
        // The first chunk also makes what is made once for a stream (tables of symbols), so it can only show that there
        // is less work.
        let is_timed = chunks > 0 || work < self.all[index].work;
        let more_work = if is_timed { change(self.all[index].work, work, chunks.saturating_sub(1)) } else { 1.0 };
        let more_bytes = change(self.all[index].size, size, chunks);
        for (_, other) in self.all.iter_mut().enumerate().filter(|(other, _)| *other != index) {
            // By how much the first chunks differ from the table comes half from the data and half from the
            // alternative. The former concerns those that were not measured.
            if chunks > 1 {
                other.work *= more_work;
            } else if other.chunks < 2 {
                other.work *= more_work.sqrt();
            }
            if is_resized && chunks > 0 {
                other.size *= more_bytes;
            } else if other.chunks < 1 {
                other.size *= if chunks > 0 { more_bytes } else { more_bytes.sqrt() };
            }
        }
        let own = &mut self.all[index];
        (own.work, own.size, own.chunks) = (own.work * more_work, own.size * more_bytes, chunks + 1);
        if is_timed {
            let ratio = |is: f64, estimate: f64| (is / estimate).clamp(0.5, 2.0);
            self.last = Some((config, ratio(measured_work, own.work), ratio(measured_size, own.size)));
        }
    }
}
