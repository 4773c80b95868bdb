//! The checks after the checksums: schemas, chunks and columns. Columns that decode can be encoded again and have the
//! same meaning.

#![no_main]

use colonnade_fuzz::{config, read, repaired, round_trip, rows_in_all};
use colonnade_wire::Encoder;

/// With more rows, encoding again takes too long for a fuzzer.
const MOST_ROWS: usize = 10_000;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok((schema, chunks)) = read(&repaired(bytes)) else { return };
    let rows = chunks.iter().flatten().map(rows_in_all).fold(0, usize::saturating_add);
    // Without columns, the number of rows is unknown here.
    if rows <= MOST_ROWS && !schema.fields.is_empty() {
        // The first byte is part of the magic, which was corrected.
        round_trip(Encoder::new(schema), &chunks, config(bytes[0]));
    }
});
