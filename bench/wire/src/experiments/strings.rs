//! Tables 8 and 9: a short and a long column of text.

use serde_json::Value;

use super::{Entry, measure, with};
use crate::Result;
use crate::args::Args;
use crate::codec::Codec;
use crate::layout::strings::Strings;
use crate::table::{self, CHUNK_ROWS, Table};

/// The paper's columns of lineitem, and the widths with which it declared them.
const COLUMNS: [(&str, &[usize]); 2] = [("l_returnflag", &[1]), ("l_comment", &[44, 100, 1_000, 10_000])];
/// For very wide columns, only the first rows that have this many bytes are measured.
const WIDE_BYTES: usize = 64 << 20;

pub fn run(args: &Args) -> Result<Vec<Value>> {
    let mut measured = Vec::new();
    for name in args.tables_or(&["lineitem"]) {
        let batches = table::read(&name, args)?;
        for (column, widths) in COLUMNS {
            let index = batches.first().ok_or("the table is empty")?.schema().index_of(column)?;
            let batches =
                batches.iter().map(|batch| batch.project(&[index])).collect::<std::result::Result<Vec<_>, _>>()?;
            let table = Table::cut(&name, &batches, CHUNK_ROWS, args.chunk_bytes)?;
            measured.extend(with(measure("strings", &table, &any_width()?, args.rounds)?, "column", column));
            for &width in widths {
                // Messages have the same size for all widths of values.
                let rows = (args.chunk_bytes / width).clamp(1, CHUNK_ROWS);
                let table = Table::cut(&name, &batches, rows, args.chunk_bytes)?.head(WIDE_BYTES / (rows * width))?;
                let entries = [Codec::None, Codec::Snappy]
                    .map(|codec| Entry::new(&format!("VARCHAR({width})"), Strings::Fixed(width), codec));
                measured.extend(with(measure("strings", &table, &entries, args.rounds)?, "column", column));
            }
        }
    }
    Ok(measured)
}

/// The entries that do not depend on a declared width.
fn any_width() -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for codec in [Codec::None, Codec::Snappy] {
        entries.push(Entry::new("varint prefix", Strings::Varint, codec));
        entries.push(Entry::new("null-terminated", Strings::Terminated, codec));
        entries.push(Entry::new("4-byte prefix", Strings::Length, codec));
        entries.push(Entry::new("offsets (Arrow)", Strings::Offsets, codec));
    }
    for config in ["light", "light+fsst", "light+lz4"] {
        entries.push(Entry::colonnade(config)?);
    }
    Ok(entries)
}
