//! COPY … TO STDOUT and FROM STDIN: what the statement asks for, and the formats that rows leave and come in.

mod arrow;
mod binary;
mod colonnade;
mod csv;
mod grammar;
pub mod input;
pub(crate) mod lines;
pub mod options;
mod out;
mod statement;
mod text;

pub use input::CopyDataError;
pub(crate) use out::{Context, check, copy_out};
pub use statement::{Copy, CopyIn, Parsed, parse, parse_passed};

/// What is wrong with a COPY statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// It is not as the grammar says.
    #[error("syntax error in COPY: expected {expected}")]
    Syntax {
        /// What should have come.
        expected: &'static str,
        /// Where, in characters of the statement from 0.
        position: usize,
    },
}
