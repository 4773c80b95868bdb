//! Medians, as a Markdown table and as JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;
use crate::args::Args;
use crate::chunk_size::Size;
use crate::clock::median;
use crate::contender::Sample;
use crate::overhead::Overhead;
use crate::table::Table;

/// The results of the run.
pub struct Report {
    markdown: String,
    json: Vec<Value>,
    files: [Option<PathBuf>; 2],
    rounds: usize,
    chunk_bytes: usize,
}

impl Report {
    /// A report without results.
    pub fn new(args: &Args) -> Self {
        Self {
            markdown: String::new(),
            json: Vec::new(),
            files: [args.markdown.clone(), args.json.clone()],
            rounds: args.rounds,
            chunk_bytes: args.chunk_bytes,
        }
    }

    /// Adds a table's results.
    pub fn table<'a>(&mut self, table: &Table, results: impl Iterator<Item = (&'a str, &'a Vec<Sample>)>) {
        let rows = table.rows as f64;
        let mut text = format!(
            "### {}: {} rows × {} columns, {:.1} plain Arrow bytes a row\n\n\
             One thread's CPU time, median of {} interleaved rounds, chunks of {} MB ({} rows).\n\n\
             | | bytes/row | encode M rows/s | decode M rows/s |\n|---|--:|--:|--:|\n",
            table.name,
            table.rows,
            table.schema.fields().len(),
            table.plain_bytes as f64 / rows,
            self.rounds,
            self.chunk_bytes >> 20,
            table.chunks[0].num_rows(),
        );
        let mut contenders = Vec::new();
        for (name, samples) in results {
            let bytes = samples.last().map_or(0, |s| s.bytes) as f64 / rows;
            let speed = |time: fn(&Sample) -> Duration| rows / median(samples.iter().map(time)).as_secs_f64() / 1e6;
            let (encode, decode) = (speed(|s| s.encode), speed(|s| s.decode));
            let _ = writeln!(text, "| {name} | {bytes:.1} | {} | {} |", three_digits(encode), three_digits(decode));
            contenders.push(json!({
                "contender": name,
                "bytes_per_row": bytes,
                "encode_mrows_per_s": encode,
                "decode_mrows_per_s": decode,
                "encode_seconds": samples.iter().map(|s| s.encode.as_secs_f64()).collect::<Vec<_>>(),
                "decode_seconds": samples.iter().map(|s| s.decode.as_secs_f64()).collect::<Vec<_>>(),
            }));
        }
        println!("{text}");
        self.markdown.push_str(&text);
        self.markdown.push('\n');
        self.json.push(json!({
            "table": table.name,
            "rows": table.rows,
            "columns": table.schema.fields().len(),
            "plain_bytes_per_row": table.plain_bytes as f64 / rows,
            "rows_per_chunk": table.chunks[0].num_rows(),
            "contenders": contenders,
        }));
    }

    /// Adds the cost of chunk sizes.
    pub fn chunk_sizes(&mut self, sizes: &[Size]) {
        let mut text = String::from(
            "### Chunk sizes on the 274-column table\n\n\
             | chunk | rows a chunk | light bytes/row | light+zstd-1 bytes/row |\n|--:|--:|--:|--:|\n",
        );
        for size in sizes {
            let _ = writeln!(
                text,
                "| {} MB | {} | {:.1} | {:.1} |",
                size.chunk_bytes >> 20,
                size.rows_per_chunk,
                size.light,
                size.zstd
            );
        }
        if let [small, .., large] = sizes {
            let over = |small: f64, large: f64| (small / large - 1.0) * 100.0;
            let _ = writeln!(
                text,
                "\n{} MB over {} MB: {:+.1} % light, {:+.1} % light+zstd-1 (target: at most 15 %).",
                small.chunk_bytes >> 20,
                large.chunk_bytes >> 20,
                over(small.light, large.light),
                over(small.zstd, large.zstd)
            );
        }
        println!("{text}");
        self.markdown.push_str(&text);
        self.markdown.push('\n');
        self.json.push(json!({
            "chunk_sizes": sizes.iter().map(|s| json!({
                "chunk_bytes": s.chunk_bytes,
                "rows_per_chunk": s.rows_per_chunk,
                "light_bytes_per_row": s.light,
                "light_zstd_1_bytes_per_row": s.zstd,
            })).collect::<Vec<_>>(),
        }));
    }

    /// Adds the overhead of choosing.
    pub fn overhead(&mut self, table: &Table, found: &Overhead) {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / found.chunks as f64;
        let share = found.choosing.as_secs_f64() / found.encoding.as_secs_f64();
        let text = format!(
            "The controller took {:.1} µs of CPU for each of {} light chunks of {}, whose encoding took {:.0} µs: {:.2} %.\n",
            each(found.choosing),
            found.chunks,
            table.name,
            each(found.encoding),
            share * 100.0,
        );
        println!("{text}");
        self.markdown.push_str(&text);
        self.markdown.push('\n');
        self.json.push(json!({ "overhead_of": table.name, "share": share }));
    }

    /// Writes the requested files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self) -> Result<()> {
        let [markdown, json] = self.files;
        if let Some(path) = markdown {
            fs::write(path, self.markdown)?;
        }
        if let Some(path) = json {
            fs::write(path, serde_json::to_string_pretty(&self.json)? + "\n")?;
        }
        Ok(())
    }
}

/// A speed with three significant digits.
fn three_digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
