//! An encoder that its controller drives.

use std::time::{Duration, Instant};

use crate::clock::{Elapsed, Moment};
use crate::{Chunk, ChunkCost, Column, Config, Controller, EncodeError, Encoder, LinkSample};

/// Encodes the chunks of one stream as its controller says, and tells it what they cost.
pub struct Writer {
    encoder: Encoder,
    controller: Controller,
    /// For trials, of which the stream gets nothing.
    scratch: Option<Encoder>,
    /// The configurations that it has learnt for.
    learnt: Vec<Config>,
    begin: Instant,
    sent: u64,
    /// When a chunk was handed to the socket, until the next one is begun.
    handed: Option<Instant>,
}

impl Writer {
    /// A writer at the start of a stream.
    pub fn new(encoder: Encoder, controller: Controller) -> Self {
        Self { encoder, controller, scratch: None, learnt: Vec::new(), begin: Instant::now(), sent: 0, handed: None }
    }

    /// The encoder, for the messages that are no chunks.
    pub fn encoder(&mut self) -> &mut Encoder {
        &mut self.encoder
    }

    /// Encodes the next chunk; see [`Encoder::chunk`].
    ///
    /// # Errors
    ///
    /// The columns do not fit the schema, or the chunk is too large. Nothing was added to the stream then.
    pub fn chunk<'a>(&mut self, rows: usize, columns: &[Column<&'a [u8]>]) -> Result<Chunk<'a>, EncodeError> {
        if let Some(handed) = self.handed.take() {
            self.controller.produced(handed.elapsed());
        }
        let config = self.next_config();
        self.try_another(rows, columns, config);
        let config = self.next_config();
        let started = Moment::now();
        let chunk = self.encoder.chunk(rows, columns, config)?;
        self.controller.encoded(&cost(config, &chunk, started.elapsed()));
        Ok(chunk)
    }

    /// How the next chunk will be encoded.
    pub fn next_config(&mut self) -> Config {
        self.controller.next_config()
    }

    /// Takes back the memory of a chunk that was sent, for the next one.
    pub fn recycle(&mut self, chunk: Chunk<'_>) {
        self.encoder.recycle(chunk);
    }

    /// How much of a full chunk the next one is to hold, above 0 and at most 1.
    pub fn share(&mut self) -> f64 {
        self.controller.share()
    }

    /// Whether encoding is no work, so that nothing is gained by doing it while something is sent.
    pub fn is_plain(&self) -> bool {
        self.controller.is_plain()
    }

    /// Whether the controller wants to know about the link; asking the socket costs system calls.
    pub fn watches_link(&self) -> bool {
        self.controller.is_adaptive()
    }

    /// `bytes` were handed to the socket since the last call, which now says `queue`. To be told before and after each
    /// chunk is sent.
    pub fn link(&mut self, bytes: usize, queue: &Queue) {
        self.sent += bytes as u64;
        if bytes > 0 {
            self.handed = Some(Instant::now());
        }
        self.controller.link(&LinkSample {
            at: self.begin.elapsed(),
            sent: self.sent,
            delivered: queue.delivered,
            unsent: queue.unsent,
            peer_limited: queue.peer_limited,
        });
    }

    /// Encodes a part of the chunk as it will be and in another way, if the controller wants to know.
    fn try_another(&mut self, rows: usize, columns: &[Column<&[u8]>], config: Config) {
        let fields = &self.encoder.schema().fields;
        let sizes = columns.iter().zip(fields).map(|(column, field)| column.plain_bytes(field));
        let Some(plain_bytes) = sizes.sum::<Option<usize>>().filter(|_| self.controller.is_adaptive()) else { return };
        let Some(other) = self.controller.trial(plain_bytes) else { return };
        let rows = ((rows as f64 * other.part) as usize).max(1).min(rows);
        let part = columns.iter().zip(fields).map(|(column, field)| column.slice(field, 0, rows));
        let Some(part) = part.collect::<Option<Vec<_>>>() else { return };
        let scratch = self.scratch.get_or_insert_with(|| self.encoder.fresh());
        let mut time = |config| {
            let started = Moment::now();
            // What is learnt once for a whole stream, such as a table of symbols, would weigh too much on a part of a chunk.
            if !self.learnt.contains(&config) {
                self.learnt.push(config);
                let chunk = scratch.chunk(rows, &part, config).ok()?;
                scratch.recycle(chunk);
            }
            let learnt = Moment::now();
            let chunk = scratch.chunk(rows, &part, config).ok()?;
            let cost = cost(config, &chunk, learnt.elapsed());
            scratch.recycle(chunk);
            Some(ChunkCost { elapsed: started.elapsed().wall, ..cost })
        };
        // A chunk that cannot be encoded in part cannot be encoded as a whole; that call says why.
        if let (Some(own), Some(other)) = (time(config), time(other.config)) {
            self.controller.tried(&own, &other);
        }
    }
}

/// What a socket says of itself; see [`LinkSample`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Queue {
    /// Bytes that the peer has acknowledged since the connection's begin, selectively or not.
    pub delivered: u64,
    /// Bytes that have not left yet.
    pub unsent: u64,
    /// Time in which the peer's window was the limit.
    pub peer_limited: Duration,
}

fn cost(config: Config, chunk: &Chunk<'_>, elapsed: Elapsed) -> ChunkCost {
    let (rows, plain_bytes, wire_bytes) = (chunk.rows(), chunk.plain_bytes(), chunk.len());
    ChunkCost { config, rows, plain_bytes, wire_bytes, elapsed: elapsed.wall, cpu: elapsed.cpu }
}
