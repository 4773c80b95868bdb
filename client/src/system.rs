//! What this library needs of the operating system: sockets with timeouts, the user's name, the places of libpq's
//! files, and what SQLite's locks need. No other module of this crate names a system, its paths, or its library.
//!
//! What differs is in `unix` and `windows`, which have the same functions.

pub(crate) mod file_table;
mod files;
mod socket;
mod stream;
pub(crate) mod table_number;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub(crate) use files::{Files, is_private, is_socket_directory};
pub(crate) use socket::{Keepalive, Socket, lost, plain};
#[cfg(unix)]
pub(crate) use unix::{CANCELED, user_name};
#[cfg(windows)]
pub(crate) use windows::{CANCELED, user_name};
