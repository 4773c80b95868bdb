//! Common code of the fuzz targets: reading a stream with all checks, repairing checksums, making columns from
//! arbitrary bytes, and comparing them.
//!
//! `seeds.py` makes the seed corpora; `make fuzz` runs every target for a while.

pub mod answer;
mod case;
mod compare;
mod fixed_server;
mod read;
mod repair;
mod script;
pub mod statement;
mod values;

pub use case::Case;
pub use compare::{rows_in_all, same};
pub use fixed_server::{FixedServer, read_results};
pub use read::{LIMITS, check, messages, read};
pub use repair::repaired;
pub use script::{PASSWORD, ScriptedServer};

use colonnade_wire::{Column, Config, Encoder, Message, Schema};

/// The configurations that are tested.
pub const CONFIGS: [&str; 8] =
    ["plain", "light", "light+fsst", "light+lz4", "light+zstd-1", "plain+lz4", "plain+zstd-3", "light+fsst+zstd-9"];

/// The configuration that `choice` selects.
pub fn config(choice: u8) -> Config {
    CONFIGS[choice as usize % CONFIGS.len()].parse().expect("the names above are configurations")
}

/// Encodes chunks with `encoder` and checks that decoding gives the same.
pub fn round_trip(mut encoder: Encoder, chunks: &[Vec<Column<bytes::Bytes>>], config: Config) {
    let schema: Schema = encoder.schema().clone();
    let mut decoder = colonnade_wire::Decoder::new(LIMITS);
    let first = encoder.schema_message();
    let Ok(Message::Schema(decoded)) = decoder.message(first.into()) else { panic!("no schema") };
    assert_eq!(*decoded, schema);
    let mut rows = 0;
    for columns in chunks {
        let count = columns.first().map_or(0, |column| column.rows);
        rows += count as u64;
        let views: Vec<_> = columns.iter().map(Column::as_view).collect();
        let chunk = encoder.chunk(count, &views, config).expect("valid columns are encoded");
        let message = chunk.slices().concat();
        assert_eq!(message.len(), chunk.len());
        encoder.recycle(chunk);
        let Ok(Message::Chunk(chunk)) = decoder.message(message.into()) else { panic!("no chunk") };
        assert_eq!(chunk.rows(), count);
        for (index, (field, column)) in schema.fields.iter().zip(columns).enumerate() {
            let found = chunk.column(index).unwrap_or_else(|error| panic!("{error}: {field:?}"));
            check(field, &found);
            assert!(same(field, column, &found), "column {index}, {field:?}: {column:?} came back as {found:?}");
        }
    }
    decoder.message(encoder.end_message().into()).expect("the end is read");
    let totals = decoder.finish().expect("the stream is complete");
    assert_eq!((totals.rows, totals.chunks), (rows, chunks.len() as u64));
}
