//! Columns with invalid buffers. The encoder refuses them, or its output is refused or decoded, without a panic and
//! without access outside of a buffer.

#![no_main]

use arbitrary::Unstructured;
use colonnade_fuzz::{Case, LIMITS, check, config};
use colonnade_wire::{Column, Decoder, Encoder, Message};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let Ok(mut case) = Case::from_bytes(&mut input) else { return };
    if case.damage(&mut input).is_err() {
        return;
    }
    let mut encoder = Encoder::new(case.schema.clone()).allow(case.encodings, case.codecs);
    let mut decoder = Decoder::new(LIMITS);
    decoder.message(encoder.schema_message().into()).expect("the schema is read");
    for columns in &case.chunks {
        let rows = columns.first().map_or(0, |column| column.rows);
        let views: Vec<_> = columns.iter().map(Column::as_view).collect();
        let Ok(chunk) = encoder.chunk(rows, &views, config(case.config)) else { continue };
        let Ok(Message::Chunk(chunk)) = decoder.message(chunk.slices().concat().into()) else { return };
        for (index, field) in case.schema.fields.iter().enumerate() {
            if let Ok(column) = chunk.column(index) {
                check(field, &column);
            }
        }
    }
});
