//! Everything that a client may send for COPY … FROM STDIN, in every format. There is never a panic, and the rows do
//! not depend on how the data is divided into messages. The first byte selects the format and the columns, the second
//! one the length of the pieces.

#![no_main]

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use colonnade_budget::Budget;
use colonnade_duckdb::types::named;
use colonnade_server::TargetColumn;
use colonnade_server::copy::CopyRequest;
use colonnade_server::copy::input::{Targets, reader};
use colonnade_server::copy::options::{CopyOptions, Format};
use colonnade_server::limits::LimitError;
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
    // The names of a stream's fields are often one letter.
    let letter = |at: usize| char::from(b'a' + at as u8).to_string();
    let columns = names.iter().enumerate().map(|(at, name)| TargetColumn { name: letter(at), type_: named(name) });
    let exported = [DataType::Int64, DataType::Utf8].into_iter().cycle();
    let exported = exported.take(names.len()).enumerate().map(|(at, type_)| Field::new(letter(at), type_, true));
    let exported = std::sync::Arc::new(Schema::new(exported.collect::<Vec<_>>()));
    let targets = Targets { columns: columns.collect(), exported, is_listed: false };
    let mut reader = reader(options, targets, &Budget::new(Some(BUDGET), LimitError::SessionMemory))
        .expect("no option names a column");
    let mut batches = Vec::new();
    for message in messages {
        reader.feed(message).ok()?;
        while let Some(rows) = reader.batch(false).ok()? {
            batches.extend(rows.batches);
        }
    }
    reader.finish().ok()?;
    while let Some(rows) = reader.batch(true).ok()? {
        batches.extend(rows.batches);
    }
    for batch in &batches {
        assert!(batch.num_columns() == names.len() || options.format == Format::Colonnade);
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
        let stream = if length % 2 == 0 { colonnade_fuzz::repaired(data) } else { data.to_vec() };
        let whole = rows(&options, names, std::iter::once(&stream[..]));
        let parts = rows(&options, names, stream.chunks(usize::from(*length).max(1)));
        // A whole stream needs more memory at once, so it may be refused where its parts are not.
        assert!(whole.is_none() || count(&whole) == count(&parts), "{statement}");
        return;
    }
    let whole = rows(&options, names, std::iter::once(data));
    let parts = rows(&options, names, data.chunks(usize::from(*length).max(1)));
    assert_eq!(count(&whole), count(&parts), "{statement}");
    if options.format != Format::Arrow {
        assert_eq!(whole, parts, "{statement}");
    }
});
