//! Columns that are encoded, in any configuration, decode to the same values.

#![no_main]

use arbitrary::Unstructured;
use colonnade_fuzz::{Case, config, round_trip};
use colonnade_wire::Encoder;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(case) = Case::from_bytes(&mut Unstructured::new(bytes)) else { return };
    let encoder = Encoder::new(case.schema).allow(case.encodings, case.codecs);
    round_trip(encoder, &case.chunks, config(case.config));
});
