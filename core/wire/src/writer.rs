//! An encoder with the controller that configures it.

use std::time::{Duration, Instant};

use crate::clock::{Elapsed, Moment};
use crate::{
    Chunk, ChunkCost, Column, ColumnInput, Config, Controller, EncodeError, Encoder, LinkEstimate, LinkSample,
};

/// Encodes the chunks of one stream. The controller chooses each chunk's configuration, and measures its cost.
pub struct Writer {
    encoder: Encoder,
    controller: Controller,
    begin: Instant,
    sent: u64,
    /// When the last chunk was passed to the socket. `None` while a chunk is encoded.
    handed: Option<Instant>,
}

impl Writer {
    /// A writer at the start of a stream.
    pub fn new(encoder: Encoder, controller: Controller) -> Self {
        Self { encoder, controller, begin: Instant::now(), sent: 0, handed: None }
    }

    /// The encoder, for the other messages of the stream.
    pub fn encoder(&mut self) -> &mut Encoder {
        &mut self.encoder
    }

    /// Encodes the next chunk; see [`Encoder::chunk`].
    ///
    /// # Errors
    ///
    /// The columns do not fit the schema, or the chunk is too large. The stream is then unchanged.
    pub fn chunk<'a>(&mut self, rows: usize, columns: &[Column<&'a [u8]>]) -> Result<Chunk<'a>, EncodeError> {
        self.encode(|encoder, config| encoder.chunk(rows, columns, config))
    }

    /// Encodes the next chunk; see [`Encoder::chunk_of`].
    ///
    /// # Errors
    ///
    /// As for [`Writer::chunk`].
    pub fn chunk_of<'a>(&mut self, rows: usize, columns: &[ColumnInput<'_, 'a>]) -> Result<Chunk<'a>, EncodeError> {
        self.encode(|encoder, config| encoder.chunk_of(rows, columns, config))
    }

    fn encode<'a>(
        &mut self,
        encode: impl FnOnce(&mut Encoder, Config) -> Result<Chunk<'a>, EncodeError>,
    ) -> Result<Chunk<'a>, EncodeError> {
        if let Some(handed) = self.handed.take() {
            self.controller.produced(handed.elapsed());
        }
        let config = self.next_config();
        let started = Moment::now();
        let chunk = encode(&mut self.encoder, config)?;
        self.controller.encoded(&cost(config, &chunk, started.elapsed()));
        Ok(chunk)
    }

    /// The configuration of the next chunk.
    pub fn next_config(&mut self) -> Config {
        self.controller.next_config()
    }

    /// Reuses the memory of a chunk that was sent.
    pub fn recycle(&mut self, chunk: Chunk<'_>) {
        self.encoder.recycle(chunk);
    }

    /// The estimate of the link, for the next stream on the connection; see [`Controller::link_estimate`].
    pub fn link_estimate(&self) -> Option<LinkEstimate> {
        self.controller.link_estimate()
    }

    /// The size of the next chunk as a share of a full one: above 0, at most 1.
    pub fn share(&mut self) -> f64 {
        self.controller.share()
    }

    /// Whether chunks are plain. Encoding then takes no time, and a second thread for sending gains nothing.
    pub fn is_plain(&self) -> bool {
        self.controller.is_plain()
    }

    /// Whether the controller uses samples of the link. Each sample costs system calls.
    pub fn watches_link(&self) -> bool {
        self.controller.is_adaptive()
    }

    /// Passes a sample of the link to the controller: `bytes` were passed to the socket since the last call, and
    /// `queue` is its state. Call it before and after each chunk is sent.
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
    /// Bytes that the peer has acknowledged since the connection began, selectively or not.
    pub delivered: u64,
    /// Bytes that wait in the kernel.
    pub unsent: u64,
    /// Whether TCP is in slow start.
    pub is_slow_start: bool,
    /// Whether the sending thread has bytes that it has not passed to the kernel.
    pub is_held: bool,
    /// CPU time of that thread since the stream began.
    pub sending: Duration,
    /// The time in which the peer's window limited the throughput.
    pub peer_limited: Duration,
}

fn cost(config: Config, chunk: &Chunk<'_>, elapsed: Elapsed) -> ChunkCost {
    ChunkCost {
        config,
        rows: chunk.rows(),
        plain_bytes: chunk.plain_bytes(),
        light_bytes: chunk.light_bytes(),
        wire_bytes: chunk.len(),
        elapsed: elapsed.wall,
        cpu: elapsed.cpu,
        compressing: chunk.compressing(),
    }
}
