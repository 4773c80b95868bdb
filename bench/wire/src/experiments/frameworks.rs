//! Table 7: custom layouts, Protocol Buffers, and Arrow's messages.

use serde_json::Value;

use super::{Entry, measure};
use crate::Result;
use crate::args::Args;
use crate::arrow_ipc::{ArrowIpc, CODECS};
use crate::codec::Codec;
use crate::layout::monetdb::MonetDb;
use crate::layout::postgresql::PostgreSql;
use crate::layout::protobuf::Protobuf;
use crate::table::Table;

pub fn run(args: &Args) -> Result<Vec<Value>> {
    let mut entries = Vec::new();
    for codec in [Codec::None, Codec::Snappy] {
        entries.push(Entry::new("MonetDB++", MonetDb, codec));
        entries.push(Entry::new("PostgreSQL++", PostgreSql, codec));
        entries.push(Entry::new("Protocol Buffers, a message a row", Protobuf::Rows, codec));
        entries.push(Entry::new("Protocol Buffers, packed columns", Protobuf::Columns, codec));
    }
    for (codec, &kind) in ["none", "LZ4", "ZSTD-1"].iter().zip(&CODECS) {
        let (layout, codec) = ("Arrow IPC".to_owned(), (*codec).to_owned());
        entries.push(Entry { layout, codec, contender: Box::new(ArrowIpc::new(kind)?) });
    }
    for config in ["plain", "light", "light+lz4"] {
        entries.push(Entry::colonnade(config)?);
    }
    let mut measured = Vec::new();
    // The messages are declared only for this table.
    for name in args.tables_or(&["lineitem"]) {
        measured.extend(measure("frameworks", &Table::load(&name, args)?, &entries, args.rounds)?);
    }
    Ok(measured)
}
