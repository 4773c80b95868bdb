//! Whole streams: anything but a valid one is an error, and a valid one keeps every promise.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = colonnade_fuzz::read(bytes);
});
