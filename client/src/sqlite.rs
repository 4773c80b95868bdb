//! SQLite: its library, in this process. A thread runs the statement and fills columns. Queries cannot write; only
//! `write` can, over a connection of its own.
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
mod running;
mod value;
mod write;

pub use connection::{SqliteConnection, connect};
pub use location::Location;
