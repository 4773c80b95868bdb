//! Whole streams: an invalid stream is an error, and a valid one keeps all guarantees.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = colonnade_fuzz::read(bytes);
});
