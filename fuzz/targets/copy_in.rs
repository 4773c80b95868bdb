//! Everything that a client may send for COPY … FROM STDIN, in every format. There is never a panic, and the rows do
//! not depend on how the data is divided into messages. The first byte selects the format and the columns, the second
//! one the length of the pieces.

#![no_main]

use arrow_array::{Array, RecordBatch};
use colonnade_duckdb::types::named;
use colonnade_server::copy::CopyRequest;
use colonnade_server::copy::input::{TargetColumn, reader};
use colonnade_server::copy::options::{CopyOptions, Format};
use colonnade_server::limits::budget::Budget;
use colonnade_sql::{Dialect, Statement, StatementKind};

/// The limit of a session's memory.
const BUDGET: usize = 256 << 20;

const STATEMENTS: [&str; 7] = [
    "COPY t FROM STDIN",
    "COPY t FROM STDIN (HEADER, DELIMITER '|', NULL 'x')",
    "COPY t FROM STDIN (FORMAT csv)",
    "COPY t FROM STDIN (FORMAT csv, HEADER, QUOTE '''', ESCAPE '\\', DELIMITER ';')",
    "COPY t FROM STDIN (FORMAT binary)",
    "COPY t FROM STDIN (FORMAT arrow)",
    "COPY t FROM STDIN (FORMAT colonnade)",
];
const COLUMNS: [&[&str]; 4] = [
    &["BIGINT", "VARCHAR"],
    &["BLOB", "INTEGER[]", "VARCHAR[][]"],
    &["BOOLEAN", "DECIMAL(9,2)", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "INTERVAL", "UUID", "DOUBLE"],
    &[],
];

/// The rows in batches; `None` if the data is refused.
fn rows<'a>(
    options: &CopyOptions,
    names: &[&str],
    messages: impl Iterator<Item = &'a [u8]>,
) -> Option<Vec<RecordBatch>> {
    let target = |name: &&str| TargetColumn { name: "c".to_owned(), type_: named(name) };
    let mut reader = reader(options, names.iter().map(target).collect(), &Budget::new(Some(BUDGET)))
        .expect("no option names a column");
    let mut batches = Vec::new();
    for message in messages {
        reader.feed(message).ok()?;
        while let Some(batch) = reader.batch(false).ok()? {
            batches.push(batch);
        }
    }
    reader.finish().ok()?;
    while let Some(batch) = reader.batch(true).ok()? {
        batches.push(batch);
    }
    for batch in &batches {
        assert_eq!(batch.num_columns(), names.len());
        for column in batch.columns() {
            column.to_data().validate_full().expect("arrays are valid");
        }
    }
    Some(batches)
}

fn count(batches: &Option<Vec<RecordBatch>>) -> Option<usize> {
    batches.as_ref().map(|batches| batches.iter().map(RecordBatch::num_rows).sum())
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [choice, length, data @ ..] = bytes else { return };
    let statement = STATEMENTS[usize::from(choice % 7)];
    let names = COLUMNS[usize::from(choice / 7 % 4)];
    let StatementKind::Copy(Ok(copy)) = Statement::of(statement, Dialect::DuckDb).kind else { panic!("{statement}") };
    let Ok(CopyRequest::FromStdin(copy)) = CopyRequest::new(&copy, statement) else { panic!("{statement}") };
    let options = copy.options;
    if options.format == Format::Colonnade {
        // Each message of the stream is one message of the protocol.
        let stream = if length % 2 == 0 { colonnade_fuzz::repaired(data) } else { data.to_vec() };
        let _ = rows(&options, names, colonnade_fuzz::messages(&stream));
        return;
    }
    let whole = rows(&options, names, std::iter::once(data));
    let parts = rows(&options, names, data.chunks(usize::from(*length).max(1)));
    assert_eq!(count(&whole), count(&parts), "{statement}");
    if options.format != Format::Arrow {
        assert_eq!(whole, parts, "{statement}");
    }
});
