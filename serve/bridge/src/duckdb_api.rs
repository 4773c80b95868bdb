//! Functions in Python inside DuckDB's plans.
//!
//! `client/duckdb_api/` has DuckDB's C interface. `entry.rs` registers dispatchers, DuckDB functions that take the id of a
//! function in Python, the caller's token, and the arguments. `registry.rs` knows what an id means, `session.rs` whose
//! worker processes a token means.
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
mod beside;
mod bound;
mod capture;
mod classes;
mod columns;
mod deferral;
mod entry;
mod gathered;
mod local;
mod map;
mod registry;
mod results;
mod session;
mod sql_type;
mod table;

use colonnade_duckdb_api::{handles, symbols};

pub(crate) use classes::{FunctionSession, register};
pub(crate) use columns::{WriteError, column, write as write_column};
pub(crate) use session::Queries;
