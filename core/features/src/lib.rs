//! No code: `Cargo.toml` is what matters.
