//! Answers of a worker process for functions: the check refuses them, or everything in them can be read. The first
//! bytes choose the type.

#![no_main]

use colonnade_fuzz::answer::check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check(bytes);
});
