//! Table 3: the effect of the size of chunks on time and size.

use serde_json::Value;

use super::{Entry, measure, with};
use crate::args::Args;
use crate::codec::Codec;
use crate::layout::monetdb::MonetDb;
use crate::layout::postgresql::PostgreSql;
use crate::table::{self, Table};
use crate::{Result, TABLES};

/// The paper's sizes, of the plain bytes of Arrow's buffers.
const SIZES: [usize; 6] = [2_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
/// The maximum number of measured chunks. More small chunks would take long and give the same result.
const CHUNKS: usize = 4_000;

pub fn run(args: &Args) -> Result<Vec<Value>> {
    let entries = [
        Entry::new("MonetDB++", MonetDb, Codec::None),
        Entry::new("MonetDB++", MonetDb, Codec::Snappy),
        Entry::new("PostgreSQL++", PostgreSql, Codec::None),
        Entry::new("PostgreSQL++", PostgreSql, Codec::Snappy),
        Entry::colonnade("light")?,
        Entry::colonnade("light+lz4")?,
    ];
    let mut measured = Vec::new();
    for name in args.tables_or(&TABLES) {
        let batches = table::read(&name, args)?;
        for size in SIZES {
            let table = Table::cut(&name, &batches, usize::MAX, size)?.head(CHUNKS)?;
            measured.extend(with(measure("chunk_sizes", &table, &entries, args.rounds)?, "chunk_bytes", size));
        }
    }
    Ok(measured)
}
