//! Functions in Python inside DuckDB's plans.
//!
//! DuckDB's library is a Python package, whose extension module exports DuckDB's C interface. `symbols.rs` takes the functions out of
//! the loaded module; nothing is linked. `entry.rs` registers dispatchers, DuckDB functions that take the id of a function in Python, the
//! caller's token, and the arguments. `registry.rs` knows what an id means, `session.rs` whose worker processes a token means.
//!
//! ```text
//! bind     bound.rs      id and token are constants: which function, which workers, which types
//! execute  arguments.rs  vectors of DuckDB to a worker's ring      (map.rs, or aggregate.rs after it has gathered groups)
//!          results.rs    checked results of the worker to a vector of DuckDB
//! ```
//!
//! Table functions are called between two statements (`table.rs`).

mod aggregate;
mod arguments;
mod bound;
mod capture;
mod classes;
mod columns;
mod entry;
mod gathered;
mod handles;
mod map;
mod registry;
mod results;
mod session;
mod sql_type;
mod symbols;
mod table;

pub(crate) use classes::{FunctionSession, register};
pub(crate) use columns::{WriteError, column, write as write_column};
pub(crate) use session::Queries;
