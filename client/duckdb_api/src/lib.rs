//! DuckDB's C interface: its functions, handles, types and vectors.
//!
//! DuckDB's library is a Python package, whose extension module exports the interface. `symbols.rs` takes the functions
//! out of the loaded module; nothing is linked.

pub mod arguments;
pub mod extension;
pub mod handles;
pub mod scalar;
pub mod symbols;
pub mod vectors;
