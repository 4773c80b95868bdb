//! Speed and size of the wire format, compared with other formats, on one core, in one run.
//!
//! Encoding and decoding of all chunks of a table are timed with the thread's CPU clock. All contenders get the same
//! chunks, in turn, round by round. Every decoded batch of the first pass is compared with the original. Tables are
//! read from the Parquet files that `bench/data.py` writes, with exactly the types that DuckDB delivers.
//!
//! With `--experiment` it repeats the experiments of the paper's §3 instead, one design decision at a time: see
//! `experiments`.

mod args;
mod arrow_ipc;
mod chunk_size;
mod clock;
mod codec;
mod colonnade;
mod contender;
mod contenders;
mod experiments;
mod layout;
mod overhead;
mod parquet_file;
mod profile;
mod report;
mod table;

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use args::Args;
use contender::{Contender, Sample};
use table::Table;

/// The tables that are measured by default.
const TABLES: [&str; 3] = ["lineitem", "flights", "acs"];

/// The result of every function here. A benchmark does not distinguish kinds of errors.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match Args::parse(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<()> {
    clock::keep_freed_memory();
    if let Some(profile) = &args.profile {
        let [table, ..] = &args.tables_or(&TABLES)[..] else { return Err("no table".into()) };
        let table = Table::load(table, &args)?;
        return profile::run(profile, &table);
    }
    if let Some(name) = &args.experiment {
        return experiments::run(name, &args);
    }
    let mut out = report::Report::new(&args);
    for name in args.tables_or(&TABLES) {
        let table = Table::load(&name, &args)?;
        let contenders: Vec<Box<dyn Contender>> =
            contenders::all()?.into_iter().filter(|c| args.wants(c.name())).collect();
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); contenders.len()];
        for round in 0..=args.rounds {
            for (contender, samples) in contenders.iter().zip(&mut samples) {
                progress(&format!("{name}: round {round} of {}, {}", args.rounds, contender.name()));
                // Round 0 fills caches and the allocator, and compares results with the originals.
                let sample = contender.pass(&table, round == 0).map_err(|e| format!("{}: {e}", contender.name()))?;
                if round > 0 {
                    samples.push(sample);
                }
            }
        }
        progress("");
        out.table(&table, contenders.iter().map(|c| c.name()).zip(&samples));
        if args.contenders.is_empty() {
            out.overhead(&table, &overhead::measure(&table)?);
        }
        if table.name == "acs" && args.contenders.is_empty() {
            out.chunk_sizes(&chunk_size::compare(&table)?);
        }
    }
    out.finish()
}

/// Shows progress on a terminal.
fn progress(what: &str) {
    let mut out = std::io::stderr();
    if out.is_terminal() {
        // A failure to write progress is ignored.
        let _ = write!(out, "\r\x1b[K{what}").and_then(|()| out.flush());
    }
}
