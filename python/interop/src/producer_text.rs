//! The texts of DuckDB's errors in a stream.

use arrow_schema::ArrowError;

/// DuckDB's message, without the prefixes that pyarrow and arrow-rs put before it.
pub fn producer_text(error: &ArrowError) -> &str {
    match error {
        ArrowError::CDataInterface(text) => {
            let text = text.split_once("Producer error: ").map_or(text.as_str(), |(_, text)| text);
            text.strip_prefix("IOError: ").unwrap_or(text)
        }
        _ => "INTERNAL Error: DuckDB's Arrow stream is not valid",
    }
}
