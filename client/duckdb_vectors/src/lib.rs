//! Results of DuckDB, gathered from its vectors.
//!
//! DuckDB's Arrow stream copies each value twice, and writes out what is a dictionary in memory. A scalar function gets
//! the vectors as DuckDB has them. So `colonnade_vectors` is put around a query as its outermost projection:
//!
//! ```text
//! SELECT system.main.colonnade_vectors('token', *COLUMNS(*)) FROM (query)
//!
//!   function.rs   an executor of the plan: vectors ──> executor.rs ──> batches of its own rows
//!                 its result, one ticket for each row: the number of the executor, and of the row within it
//!   reader.rs     the tickets come through DuckDB's stream, in the order of the result: whose rows are next
//! ```
//!
//! Each row is checked: a ticket that is not the next one of its executor, or rows without a ticket, are an error and
//! never another result (`docs/decisions/0026-a-ticket-for-each-row.md`).

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod column;
mod executor;
mod function;
mod reader;
mod result;
mod text;
mod types;
mod validity;
mod views;

pub use function::{Databases, register, with_function};
pub use reader::VectorReader;
pub use result::VectorResult;
pub use types::VectorForm;
