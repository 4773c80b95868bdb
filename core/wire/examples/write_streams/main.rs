//! Writes streams of the encoder, `NAME.bin`, each with its meaning, `NAME.json`, to check readers in other languages:
//! every type, configuration, NULL layout and encoding, and chunks with the lengths at which blocks begin and end.
//!
//! ```text
//! cargo run -p colonnade-wire --example write_streams -- OUTDIR
//! ```
//!
//! The streams are the same in every run. The JSON has the form of `spec/vectors/README.md` and is made from the
//! columns before they are encoded.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test support")]

mod columns;
#[path = "../../tests/logical/mod.rs"]
mod logical;
mod types;

use std::path::Path;
use std::{env, fs, io};

use bytes::Bytes;
use colonnade_wire::{Column, Config, Encoder, Field, Schema};
use columns::{Nulls, Pattern, column};

const CONFIGS: [&str; 5] = ["plain", "light", "light+fsst", "light+lz4", "light+zstd-1"];

/// A column of a stream: its type and its contents.
struct Plan {
    field: Field,
    pattern: Pattern,
    nulls: Nulls,
}

impl Plan {
    fn new(mut field: Field, pattern: Pattern, nulls: Nulls) -> Self {
        field.nullable |= nulls != Nulls::None;
        field.name = format!("{:?} {pattern:?} {nulls:?}", field.data_type);
        Self { field, pattern, nulls }
    }
}

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: write_streams OUTDIR"));
    };
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    for config in ["light", "light+fsst"] {
        write(folder, &format!("encodings_{config}"), &encodings(), &[1100, 100], config)?;
    }
    for config in CONFIGS {
        write(folder, &format!("types_{config}"), &types(), &[1025, 0, 1, 100], config)?;
        write(folder, &format!("nulls_{config}"), &nulls(), &[131, 64], config)?;
        for rows in [0, 1, 1023, 1024, 1025, 5000] {
            write(folder, &format!("rows_{rows}_{config}"), &sizes(), &[rows], config)?;
        }
        write(folder, &format!("no_chunk_{config}"), &sizes(), &[], config)?;
    }
    write(folder, "no_column", &[], &[0, 7], "plain")
}

/// Every type, each with the pattern that its position selects.
fn types() -> Vec<Plan> {
    let patterns = [Pattern::Small, Pattern::Any, Pattern::Few, Pattern::Steps];
    let nulls = [Nulls::None, Nulls::Few, Nulls::Half];
    let choose = |(number, field)| Plan::new(field, patterns[number % 4], nulls[number % 3]);
    types::all().into_iter().enumerate().map(choose).collect()
}

/// Every NULL layout of every kind of column. Columns with the same layout share their bitmap, as in rows of an outer
/// join.
fn nulls() -> Vec<Plan> {
    let plan = |nulls| types::one_a_layout().into_iter().map(move |field| Plan::new(field, Pattern::Few, nulls));
    Nulls::ALL.into_iter().flat_map(plan).collect()
}

/// Patterns that make the encoder choose each encoding.
fn encodings() -> Vec<Plan> {
    let plan = |pattern| types::one_a_layout().into_iter().map(move |field| Plan::new(field, pattern, Nulls::None));
    Pattern::SHORT.into_iter().flat_map(plan).collect()
}

/// A few columns for many rows.
fn sizes() -> Vec<Plan> {
    use colonnade_wire::DataType::{Bool, Decimal128, Float64, Int32, Int64, Utf8};
    let plan = |data_type, pattern, nulls| Plan::new(Field::new("", data_type, false), pattern, nulls);
    vec![
        plan(Int32, Pattern::Small, Nulls::None),
        plan(Int64, Pattern::Steps, Nulls::None),
        plan(Int64, Pattern::Any, Nulls::Half),
        plan(Int64, Pattern::Hundreds, Nulls::None),
        plan(Float64, Pattern::Small, Nulls::Few),
        plan(Float64, Pattern::Hundreds, Nulls::Half),
        plan(Decimal128 { precision: 38, scale: 2 }, Pattern::Small, Nulls::None),
        plan(Bool, Pattern::Any, Nulls::Half),
        plan(Utf8, Pattern::Few, Nulls::None),
        plan(Utf8, Pattern::Hundreds, Nulls::Few),
        plan(Utf8, Pattern::Text, Nulls::Few),
        Plan::new(types::list(), Pattern::Small, Nulls::Few),
    ]
}

/// Encodes chunks with these numbers of rows.
fn write(folder: &Path, name: &str, plans: &[Plan], chunks: &[usize], config: &str) -> io::Result<()> {
    let config: Config = config.parse().expect("one of the names above");
    let schema = Schema {
        fields: plans.iter().map(|plan| plan.field.clone()).collect(),
        metadata: vec![("made by".to_owned(), "write_streams".to_owned())],
    };
    let chunks: Vec<(usize, Vec<Column<Bytes>>)> = chunks
        .iter()
        .enumerate()
        .map(|(number, &rows)| {
            let make = |plan: &Plan| column(&plan.field, rows, plan.pattern, plan.nulls, number as u64);
            (rows, plans.iter().map(make).collect())
        })
        .collect();
    let mut encoder = Encoder::new(schema.clone());
    let mut stream = encoder.schema_message();
    for (rows, columns) in &chunks {
        let views: Vec<_> = columns.iter().map(Column::as_view).collect();
        let chunk = encoder.chunk(*rows, &views, config).map_err(io::Error::other)?;
        chunk.slices().iter().for_each(|slice| stream.extend_from_slice(slice));
        encoder.recycle(chunk);
    }
    stream.extend_from_slice(&encoder.end_message());
    fs::write(folder.join(name).with_extension("bin"), stream)?;
    let meaning = serde_json::to_vec(&logical::stream(&schema, &chunks))?;
    fs::write(folder.join(name).with_extension("json"), meaning)
}
