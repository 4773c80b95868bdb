//! The bytes of each column in each configuration.

use serde_json::{Value, json};

use crate::Result;
use crate::args::Args;
use crate::colonnade::{CONFIGS, Stream};
use crate::table::Table;

/// One object for each column: its bytes a row in each of [`CONFIGS`], as the only column of chunks of the table's
/// rows.
///
/// # Errors
/// The encoder refuses a chunk.
pub fn run(args: &Args) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for name in args.tables_or(&["lineitem"]) {
        let table = Table::load(&name, args)?;
        for (place, field) in table.schema.fields().iter().enumerate() {
            let mut row = json!({ "table": name, "column": field.name(), "type": field.data_type().to_string() });
            let column = table.project(place)?;
            for config in CONFIGS {
                let mut stream = Stream::start(&column)?;
                let mut bytes = 0;
                for chunk in &column.chunks {
                    bytes += stream.encode(chunk, config.parse()?)?.len();
                }
                row[config] = json!(bytes as f64 / column.rows as f64);
            }
            found.push(row);
        }
    }
    Ok(found)
}
