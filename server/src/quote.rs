//! Names and texts in quotes, as DuckDB and PostgreSQL read them.

/// A name in quotes.
pub fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text in quotes.
pub fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}
