//! SQLite: its own library, read-only, in this process. A thread steps the statement and fills columns.
//!
//! What a column of the result becomes is said by `spec/TYPES.md`.

mod column;
mod connection;
mod datetime;
mod decimal;
mod fault;
mod fence;
mod kind;
mod library;
mod location;
mod misfit;
mod parameters;
mod partition;
mod rows;
mod value;

pub use connection::{SqliteConnection, connect};
pub use location::Location;
