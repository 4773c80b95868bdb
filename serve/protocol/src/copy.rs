//! COPY … TO STDOUT and COPY … FROM STDIN: the statement, its options, and the formats.

mod arrow;
mod binary;
mod colonnade;
mod context;
mod csv;
pub mod input;
pub(crate) mod lines;
pub mod options;
mod out;
mod statement;
mod text;
mod texts;

pub(crate) use context::Context;
pub use input::CopyDataError;
pub(crate) use out::{check, copy_out};
pub use statement::{CopyIn, CopyOut, CopyRequest};
pub(crate) use texts::without_keys;
