//! What the server's fence says of statements.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| colonnade_fuzz::statement::check(bytes));
