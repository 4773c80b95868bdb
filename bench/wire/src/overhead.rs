//! The overhead of choosing: the controller's own CPU time, compared with that of encoding light chunks.

use std::time::Duration;

use colonnade_wire::{ChunkCost, CodecSet, Config, Controller, LinkSample};

use crate::Result;
use crate::clock::Stopwatch;
use crate::colonnade::Stream;
use crate::table::Table;

/// The rate of a link that is always the bottleneck, in bytes per second. The controller has most work if it can gain
/// most.
const RATE: f64 = 1e9 / 8.0;
/// Plain bytes of a chunk: the same as in the laboratory, and an eighth of what the server sends.
const CHUNK_BYTES: usize = 512 * 1024;

/// CPU time of a table's chunks.
pub struct Overhead {
    pub chunks: usize,
    pub choosing: Duration,
    pub encoding: Duration,
}

/// Encodes a table in light chunks, with a controller that is called as by the server's sender. Its choice is ignored.
///
/// # Errors
/// The encoder refuses a chunk.
pub fn measure(table: &Table) -> Result<Overhead> {
    let table = Table::cut(&table.name, &table.chunks, usize::MAX, CHUNK_BYTES)?;
    let plain = table.plain_bytes / table.chunks.len();
    let mut controller = Controller::adaptive(CodecSet::ALL, 1.0).overlapped();
    let (mut choosing, mut encoding) = (Stopwatch::default(), Stopwatch::default());
    let mut stream = Stream::start(&table)?;
    let (mut sent, mut at) = (0, Duration::ZERO);
    for chunk in &table.chunks {
        choosing.time(|| (controller.share(), controller.next_config()));
        let before = encoding.total();
        let message = encoding.time(|| stream.encode(chunk, Config::LIGHT))?;
        let elapsed = encoding.total() - before;
        let cost = ChunkCost {
            config: Config::LIGHT,
            rows: chunk.num_rows(),
            plain_bytes: plain,
            light_bytes: message.light_bytes(),
            wire_bytes: message.len(),
            elapsed,
            cpu: elapsed,
            compressing: message.compressing(),
        };
        let mut sample = LinkSample { at, sent, delivered: sent, unsent: 1, ..LinkSample::default() };
        choosing.time(|| {
            controller.produced(Duration::from_micros(10));
            controller.encoded(&cost);
            controller.link(&sample);
        });
        sent += message.len() as u64;
        at += Duration::from_secs_f64(message.len() as f64 / RATE);
        sample = LinkSample { at, sent, delivered: sent, unsent: 1, ..sample };
        choosing.time(|| controller.link(&sample));
    }
    stream.finish()?;
    Ok(Overhead { chunks: table.chunks.len(), choosing: choosing.total(), encoding: encoding.total() })
}
