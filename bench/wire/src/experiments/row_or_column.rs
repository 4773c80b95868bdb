//! Tables 4 and 5: codecs over the same values row by row and column by column.

use serde_json::Value;

use super::{Entry, measure};
use crate::args::Args;
use crate::codec::Codec;
use crate::layout::monetdb::MonetDb;
use crate::layout::rows::Rows;
use crate::table::Table;
use crate::{Result, TABLES};

/// The paper's codecs, at the default levels of their tools, and Zstandard.
const CODECS: [Codec; 7] =
    [Codec::None, Codec::Snappy, Codec::Lz4, Codec::Zstd(1), Codec::Zstd(3), Codec::Gzip(6), Codec::Xz(6)];

pub fn run(args: &Args) -> Result<Vec<Value>> {
    let mut entries = Vec::new();
    for codec in CODECS {
        entries.push(Entry::new("rows", Rows, codec));
        entries.push(Entry::new("columns", MonetDb, codec));
    }
    for config in ["light", "light+lz4", "light+zstd-1", "light+zstd-9"] {
        entries.push(Entry::colonnade(config)?);
    }
    let mut measured = Vec::new();
    for name in args.tables_or(&TABLES) {
        measured.extend(measure("row_or_column", &Table::load(&name, args)?, &entries, args.rounds)?);
    }
    Ok(measured)
}
