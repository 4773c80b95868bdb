//! What each configuration costs on each chunk of a table, in chunks of several sizes: input of the controller's
//! simulation.

use std::fmt::Write as _;
use std::time::Duration;

use colonnade_wire::Config;

use crate::Result;
use crate::args::Args;
use crate::clock::Stopwatch;
use crate::colonnade::{CONFIGS, Stream};
use crate::table::{self, CHUNK_ROWS, Table};

/// Chunks are full, or smaller by up to so many powers of two, as the controller makes them.
const SMALLEST: u32 = 4;

/// A line for each chunk, separated by commas: its part of a full chunk and its plain bytes, then for each of
/// [`CONFIGS`] the bytes of its message and the microseconds of encoding, the fewest of all rounds.
///
/// # Errors
/// The encoder refuses a chunk.
pub fn run(args: &Args) -> Result<String> {
    let mut lines = String::new();
    for name in args.tables_or(&["flights"]) {
        let batches = table::read(&name, args)?;
        for halvings in 0..=SMALLEST {
            let table = Table::cut(&name, &batches, CHUNK_ROWS >> halvings, args.chunk_bytes >> halvings)?;
            let plain = each(&table, Config::PLAIN)?;
            let mut costs = Vec::new();
            for config in CONFIGS {
                let mut best = each(&table, config.parse()?)?;
                for _ in 1..args.rounds {
                    for (best, again) in best.iter_mut().zip(each(&table, config.parse()?)?) {
                        best.1 = best.1.min(again.1);
                    }
                }
                costs.push(best);
            }
            for (chunk, (bytes, _)) in plain.iter().enumerate() {
                write!(lines, "{},{bytes}", 1.0 / f64::from(1u32 << halvings))?;
                for (bytes, time) in costs.iter().map(|config| config[chunk]) {
                    write!(lines, ",{bytes},{}", time.as_micros().max(1))?;
                }
                lines.push('\n');
            }
        }
    }
    Ok(lines)
}

/// The bytes of each chunk's message, and the CPU time of encoding it.
fn each(table: &Table, config: Config) -> Result<Vec<(usize, Duration)>> {
    let mut stream = Stream::start(table)?;
    let chunks = table.chunks.iter().map(|batch| {
        let mut watch = Stopwatch::default();
        let bytes = watch.time(|| stream.encode(batch, config).map(|chunk| chunk.len()))?;
        Ok((bytes, watch.total()))
    });
    chunks.collect()
}
