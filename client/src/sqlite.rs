//! SQLite: its library, read-only, in this process. A thread runs the statement and fills columns.
//!
//! `spec/TYPES.md` defines the type of each column.

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
