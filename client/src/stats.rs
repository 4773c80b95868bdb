//! Counts of a result while it is read.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use colonnade_wire::EncodedChunk;

/// What has been read of one result so far.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Rows read.
    pub rows: u64,
    /// Chunks (or batches, of a source in this process) read.
    pub chunks: u64,
    /// Bytes received for this query, the protocol's framing included; 0 for a source in this process.
    pub wire_bytes: u64,
    /// From sending the query to the schema's arrival.
    pub to_schema: Duration,
    /// From sending the query to the end, or until now.
    pub elapsed: Duration,
    /// For each column, in how many chunks each encoding was used.
    pub encodings: Vec<BTreeMap<&'static str, u64>>,
    /// In how many chunks each codec was used.
    pub codecs: BTreeMap<&'static str, u64>,
    /// The number of chunks of each configuration: `plain`, `light` or `light+fsst`, and the codec after it. The level
    /// of a codec cannot be seen.
    pub configurations: BTreeMap<String, u64>,
    /// The configuration of the last chunk.
    pub configuration: String,
    /// How DuckDB's rows were taken, once all have been received: from its `vectors`, or from its Arrow `stream`. Empty
    /// for other databases. PROTOCOL §1.
    pub rows_from: &'static str,
}

impl Stats {
    /// Adds the counts of another part of the same result. The times are those of the whole result.
    pub(crate) fn add(&mut self, part: &Self) {
        self.rows += part.rows;
        self.chunks += part.chunks;
        self.wire_bytes += part.wire_bytes;
        for (counts, more) in self.encodings.iter_mut().zip(&part.encodings) {
            more.iter().for_each(|(encoding, count)| *counts.entry(*encoding).or_default() += count);
        }
        part.codecs.iter().for_each(|(codec, count)| *self.codecs.entry(*codec).or_default() += count);
        for (configuration, count) in &part.configurations {
            *self.configurations.entry(configuration.clone()).or_default() += count;
        }
        if !part.configuration.is_empty() {
            self.configuration.clone_from(&part.configuration);
        }
        if !part.rows_from.is_empty() {
            self.rows_from = part.rows_from;
        }
    }
}

/// [`Stats`] while a result is read.
#[derive(Debug)]
pub(crate) struct Meter {
    start: Instant,
    ended: bool,
    stats: Stats,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), ended: false, stats: Stats::default() }
    }

    pub(crate) fn schema(&mut self, columns: usize) {
        self.stats.to_schema = self.start.elapsed();
        self.stats.encodings = vec![BTreeMap::new(); columns];
    }

    pub(crate) fn received(&mut self, bytes: u64) {
        self.stats.wire_bytes += bytes;
    }

    /// The final count, including messages without a part of the stream.
    pub(crate) fn received_in_all(&mut self, bytes: u64) {
        self.stats.wire_bytes = bytes;
    }

    pub(crate) fn rows_from(&mut self, way: &'static str) {
        self.stats.rows_from = way;
    }

    pub(crate) fn batch(&mut self, rows: usize) {
        self.stats.rows += rows as u64;
        self.stats.chunks += 1;
    }

    pub(crate) fn chunk(&mut self, chunk: &EncodedChunk) {
        self.batch(chunk.rows());
        *self.stats.codecs.entry(chunk.codec()).or_default() += 1;
        let mut level = "plain";
        for (column, counts) in self.stats.encodings.iter_mut().enumerate() {
            let encoding = chunk.encoding(column).name();
            *counts.entry(encoding).or_default() += 1;
            level = match encoding {
                "fsst" => "light+fsst",
                "plain" => level,
                _ if level == "plain" => "light",
                _ => level,
            };
        }
        let configuration = match chunk.codec() {
            "none" => level.to_owned(),
            codec => format!("{level}+{codec}"),
        };
        *self.stats.configurations.entry(configuration.clone()).or_default() += 1;
        self.stats.configuration = configuration;
    }

    pub(crate) fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            self.stats.elapsed = self.start.elapsed();
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        if !self.ended {
            stats.elapsed = self.start.elapsed();
        }
        stats
    }
}
