//! An encoder that its controller drives.

use std::time::{Duration, Instant};

use crate::clock::{Elapsed, Moment};
use crate::{Chunk, ChunkCost, Column, Config, Controller, EncodeError, Encoder, LinkEstimate, LinkSample};

/// Encodes the chunks of one stream as its controller says, and tells it what they cost.
pub struct Writer {
    encoder: Encoder,
    controller: Controller,
    begin: Instant,
    sent: u64,
    /// When a chunk was handed to the socket, until the next one is begun.
    handed: Option<Instant>,
}

impl Writer {
    /// A writer at the start of a stream.
    pub fn new(encoder: Encoder, controller: Controller) -> Self {
        Self { encoder, controller, begin: Instant::now(), sent: 0, handed: None }
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

    /// What this stream has measured of the link, for the next stream on the connection; see [`Controller::link_estimate`].
    pub fn link_estimate(&self, now: Duration) -> Option<LinkEstimate> {
        self.controller.link_estimate(now)
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
            is_slow_start: queue.is_slow_start,
            is_held: queue.is_held,
            sending: queue.sending,
            peer_limited: queue.peer_limited,
        });
    }
}

/// The state of a socket; see [`LinkSample`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Queue {
    /// Bytes that the peer has acknowledged since the connection's begin, selectively or not.
    pub delivered: u64,
    /// Bytes that wait in the kernel.
    pub unsent: u64,
    /// Whether TCP is in slow start.
    pub is_slow_start: bool,
    /// Whether a thread that sends has bytes that it has not passed to the kernel.
    pub is_held: bool,
    /// CPU time of that thread since the stream's begin.
    pub sending: Duration,
    /// Time in which the peer's window was the limit.
    pub peer_limited: Duration,
}

fn cost(config: Config, chunk: &Chunk<'_>, elapsed: Elapsed) -> ChunkCost {
    let (rows, plain_bytes, wire_bytes) = (chunk.rows(), chunk.plain_bytes(), chunk.len());
    ChunkCost { config, rows, plain_bytes, wire_bytes, elapsed: elapsed.wall, cpu: elapsed.cpu }
}
