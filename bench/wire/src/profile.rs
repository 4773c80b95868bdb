//! One operation in a loop, to be profiled.

use std::time::Duration;

use bytes::Bytes;
use colonnade_wire::Config;

use crate::Result;
use crate::args::Profile;
use crate::clock::{Stopwatch, thread_time};
use crate::colonnade::Stream;
use crate::contender::receive;
use crate::table::Table;

/// Encodes or decodes a table repeatedly for some seconds, then prints the speed.
///
/// # Errors
/// The configuration does not exist, or encoding or decoding fails.
pub fn run(profile: &Profile, table: &Table) -> Result<()> {
    let config: Config = profile.config.parse()?;
    let mut messages: Vec<Bytes> = Vec::new();
    if profile.decode {
        let mut stream = Stream::start(table)?;
        for chunk in &table.chunks {
            let sent = stream.encode(chunk, config)?;
            messages.push(receive(sent.slices(), sent.len()).into());
        }
    }
    let deadline = thread_time() + Duration::from_secs(profile.seconds);
    let mut clock = Stopwatch::default();
    let mut rows = 0;
    while thread_time() < deadline {
        let mut stream = Stream::start(table)?;
        if profile.decode {
            for message in &messages {
                clock.time(|| stream.decode(message.clone()).map(drop))?;
            }
        } else {
            for chunk in &table.chunks {
                clock.time(|| stream.encode(chunk, config).map(drop))?;
            }
        }
        rows += table.rows;
    }
    let verb = if profile.decode { "decode" } else { "encode" };
    println!("{} {config} {verb}: {:.1} M rows/s", table.name, rows as f64 / clock.total().as_secs_f64() / 1e6);
    Ok(())
}
