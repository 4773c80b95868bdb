//! How fast and how small: the wire format beside its rivals, on one core, in one run.

fn main() {}
