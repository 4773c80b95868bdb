//! COPY … TO STDOUT: what the statement asks for, and the formats a result leaves in.

mod arrow;
mod binary;
mod colonnade;
mod csv;
pub(crate) mod lines;
pub mod options;
mod out;
mod statement;
mod text;

pub(crate) use out::{Context, copy_out};
pub use statement::{Copy, Parsed, parse};

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
    /// Rows would come in.
    #[error("COPY FROM STDIN is not supported yet")]
    FromStdin,
}
