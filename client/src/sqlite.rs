//! SQLite: its library, in this process. A thread runs the statement and fills columns. Queries cannot write; only
//! `write` can, over a connection of its own. Files are used on threads that other libraries' locks do not belong to
//! (`descriptor_table`).
//!
//! `spec/TYPES.md` defines the type of each column; each value must fit. Columns are described after the first step,
//! because only then SQLite compares its schema with the file's.

mod column;
mod connection;
mod datetime;
mod decimal;
mod descriptor_table;
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
mod values;
mod write;

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use crate::Error;

pub use connection::{SqliteConnection, connect};
pub use location::Location;

/// The first bytes of every SQLite database (<https://www.sqlite.org/fileformat.html>, section 1.3).
const HEADER: &[u8; 16] = b"SQLite format 3\0";

/// Whether a file is an SQLite database. Opened on another thread, it would lose the locks that this process has on it.
///
/// # Errors
/// The system does not give a thread what it needs (`descriptor_table`).
pub fn is_database(path: PathBuf) -> Result<bool, Error> {
    descriptor_table::run(move || {
        let mut first = [0; HEADER.len()];
        File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok_and(|()| first == *HEADER)
    })
}
