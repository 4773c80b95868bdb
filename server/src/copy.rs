//! COPY … TO STDOUT and FROM STDIN: what the statement asks for, and the formats that rows leave and come in.

mod arrow;
mod binary;
mod colonnade;
mod csv;
pub mod input;
pub(crate) mod lines;
pub mod options;
mod out;
mod statement;
mod text;

pub use input::CopyDataError;
pub(crate) use out::{Context, check, copy_out};
pub use statement::{CopyIn, CopyOut, Parsed};
