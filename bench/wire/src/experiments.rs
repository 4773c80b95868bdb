//! The paper's experiments that need no database: "Don't Hold My Data Hostage" (VLDB 2017), §3.
//!
//! Each is a list of ways to write a table, measured as the benchmark measures its contenders: the CPU time of one
//! thread for encoding and for decoding, and the number of bytes. `study/` runs them and shows the findings.
//!
//! | experiment | table | varies |
//! |---|---|---|
//! | [`chunk_sizes`] | 3 | bytes of a chunk |
//! | [`row_or_column`] | 4, 5 | codecs, over rows and over columns |
//! | [`integers`] | 6 | how integers are packed |
//! | [`frameworks`] | 7 | a custom layout, Protocol Buffers, Arrow |
//! | [`strings`] | 8, 9 | how text is written |

mod chunk_sizes;
mod columns;
mod costs;
mod frameworks;
mod integers;
mod row_or_column;
mod strings;

use std::fs;

use serde_json::{Value, json};

use crate::args::Args;
use crate::clock::median;
use crate::codec::Codec;
use crate::colonnade::Colonnade;
use crate::contender::Contender;
use crate::layout::{Layout, Serialized};
use crate::table::Table;
use crate::{Result, progress};

/// Runs one experiment and writes its measurements, one object each, to the requested file or to standard output.
///
/// # Errors
/// There is no such experiment, a table cannot be read, or a decoded value differs.
pub fn run(name: &str, args: &Args) -> Result<()> {
    let text = match name {
        // No experiment of the paper's.
        "costs" => costs::run(args)?,
        _ => serde_json::to_string_pretty(&measured(name, args)?)? + "\n",
    };
    match &args.json {
        Some(path) => fs::write(path, text)?,
        None => print!("{text}"),
    }
    Ok(())
}

fn measured(name: &str, args: &Args) -> Result<Vec<Value>> {
    match name {
        "chunk_sizes" => chunk_sizes::run(args),
        "row_or_column" => row_or_column::run(args),
        "integers" => integers::run(args),
        "frameworks" => frameworks::run(args),
        "strings" => strings::run(args),
        // No experiment of the paper's.
        "columns" => columns::run(args),
        _ => Err(format!("there is no experiment {name:?}").into()),
    }
}

/// One way to write a table.
struct Entry {
    layout: String,
    codec: String,
    contender: Box<dyn Contender>,
}

impl Entry {
    /// A layout of [`crate::layout`] with a codec.
    fn new(name: &str, layout: impl Layout + 'static, codec: Codec) -> Self {
        let contender = Box::new(Serialized::new(format!("{name}, {codec}"), layout, codec));
        Self { layout: name.to_owned(), codec: codec.to_string(), contender }
    }

    /// Our format in a configuration: `light+lz4` is light encodings, then LZ4.
    fn colonnade(config: &str) -> Result<Self> {
        let (level, codec) = match config.rsplit_once('+') {
            Some((level, "fsst")) => (format!("{level}+fsst"), "none"),
            Some((level, codec)) => (level.to_owned(), codec),
            None => (config.to_owned(), "none"),
        };
        let codec = if codec == "none" { codec.to_owned() } else { codec.to_uppercase() };
        Ok(Self { layout: format!("Colonnade {level}"), codec, contender: Box::new(Colonnade::new(config)?) })
    }
}

/// Measures each entry on a table, in turn, round by round. Each result is compared with the original each time.
///
/// # Errors
/// A decoded value differs.
fn measure(experiment: &str, table: &Table, entries: &[Entry], rounds: usize) -> Result<Vec<Value>> {
    let mut samples = vec![Vec::with_capacity(rounds); entries.len()];
    let first = table.head(1)?;
    for entry in entries {
        // Fills the caches and the allocator.
        entry.contender.pass(&first, true).map_err(|e| format!("{}: {e}", entry.contender.name()))?;
    }
    for round in 1..=rounds {
        for (entry, samples) in entries.iter().zip(&mut samples) {
            let name = entry.contender.name();
            progress(&format!("{experiment}, {}: round {round} of {rounds}, {name}", table.name));
            samples.push(entry.contender.pass(table, true).map_err(|e| format!("{name}: {e}"))?);
        }
    }
    progress("");
    let measured = entries.iter().zip(samples).map(|(entry, samples)| {
        json!({
            "table": table.name,
            "layout": entry.layout,
            "codec": entry.codec,
            "rows": table.rows,
            "columns": table.schema.fields().len(),
            "rows_per_chunk": table.chunks[0].num_rows(),
            "plain_bytes": table.plain_bytes,
            "bytes": samples.last().map_or(0, |sample| sample.bytes),
            "encode_seconds": median(samples.iter().map(|sample| sample.encode)).as_secs_f64(),
            "decode_seconds": median(samples.iter().map(|sample| sample.decode)).as_secs_f64(),
        })
    });
    Ok(measured.collect())
}

/// The same measurements with one more field.
fn with(mut measured: Vec<Value>, fact: &str, value: impl Into<Value>) -> Vec<Value> {
    let value = value.into();
    measured.iter_mut().for_each(|one| one[fact] = value.clone());
    measured
}
