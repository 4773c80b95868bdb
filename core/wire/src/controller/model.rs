//! The model: how long a plain byte takes from end to end in each configuration.

use super::costs::Cost;
use super::production::Production;
use super::reader::Reader;
use super::{ChunkCost, UNSENT, WEIGHT};

/// What a byte on the wire costs in addition to its time, as a part of the plain byte's time: it is encrypted and
/// received, and the network is shared. Of two configurations that are as fast, the one with fewer bytes is better.
const BYTE_PENALTY: f64 = 0.1;
/// A slowness above this is a pause of the whole process.
const MAX_SLOWNESS: f64 = 20.0;

/// What the model knows in addition to the costs of the configurations and the link's throughput.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) production: Production,
    pub(super) reader: Reader,
    /// How many times longer than its CPU time encoding takes, because others use the CPU, too. One factor for all
    /// configurations, so a moment without the CPU makes none of them look better.
    pub(super) slowness: f64,
    /// Bytes on the wire for each plain byte of these chunks.
    pub(super) size: f64,
    /// Nanoseconds of CPU time for each byte on the wire, of the thread that sends.
    pub(super) sending_work: f64,
    /// Plain bytes of a full chunk, 0 before the first one.
    pub(super) full: f64,
    /// Whether another thread sends a chunk while the next one is encoded.
    pub(super) is_overlapped: bool,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            production: Production::default(),
            reader: Reader::default(),
            slowness: 1.0,
            size: 0.0,
            sending_work: 0.0,
            full: 0.0,
            is_overlapped: false,
        }
    }
}

impl Model {
    /// A chunk was encoded that was to be such a part of a full one.
    pub(super) fn record(&mut self, chunk: &ChunkCost, part: f64) {
        let plain = chunk.plain_bytes as f64;
        self.full = self.full.max(plain / part);
        self.production.record_chunk(plain, self.full);
        let slowness = chunk.elapsed.as_nanos() as f64 / (chunk.cpu.as_nanos() as f64).max(1.0);
        self.slowness *= (slowness.clamp(1.0, MAX_SLOWNESS) / self.slowness).powf(WEIGHT);
        let size = chunk.wire_bytes as f64 / plain;
        self.size = if self.size > 0.0 { self.size + WEIGHT * (size - self.size) } else { size };
    }

    /// Nanoseconds that a plain byte of a result of one chunk takes: it is encoded, then sent.
    pub(super) fn time_alone(&self, cost: &Cost, throughput: f64) -> f64 {
        cost.work * self.slowness + cost.size / throughput
    }

    /// Nanoseconds in which a plain byte is made and encoded.
    pub(super) fn making(&self, cost: &Cost) -> f64 {
        let (producing, chunks) = self.production.pieces(self.full);
        producing / chunks + cost.work * self.slowness
    }

    /// Nanoseconds that a plain byte takes from end to end over a link of `throughput` bytes a nanosecond.
    pub(super) fn time(&self, cost: &Cost, throughput: f64) -> f64 {
        let &Cost { work, size, decoding, .. } = cost;
        let slowness = 1.0 + (self.slowness - 1.0) * (size / self.size.max(1e-3)).min(1.0);
        let (encoding, sending) = (work * slowness, size / throughput);
        // Of `chunks` chunks whose rows are made at once, the first one waits for all.
        let (producing, chunks) = self.production.pieces(self.full);
        let (first, work) = (producing + encoding, producing / chunks + encoding);
        let buffered = UNSENT as f64 / throughput / self.full.max(1.0);
        let time = if self.is_overlapped {
            // While the first chunk is made, the link has the chunk before it and what the socket's buffer holds.
            let idle = (first - sending - buffered).max(0.0) / chunks;
            work.max(sending + idle).max(size * self.sending_work * slowness)
        } else {
            // Only what the socket's buffer holds is sent while the next chunk is made. It may hold more than one
            // chunk: while the first one waits for its rows, what is left of several is sent.
            let overlap = first.min(buffered) + (chunks - 1.0) * encoding.min(sending).min(buffered);
            work + sending - (overlap / chunks).min(sending)
        };
        time.max(self.reader.slowness() * decoding) * (1.0 + BYTE_PENALTY * size)
    }
}
