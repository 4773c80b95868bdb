//! The memory that functions use in the server's process: rows that are collected, results, rows of groups.

use thiserror::Error;

/// A limit on this memory that is exceeded, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MemoryExceeded {
    /// That of a session.
    #[error("the rows and results of this session's functions need more memory than --udf-memory={0} bytes")]
    Session(usize),
    /// That of all sessions together.
    #[error("the rows and results of all sessions' functions need more memory than {0} bytes; try again later")]
    Server(usize),
}

/// The memory of a session's functions, or of all sessions'.
pub type MemoryBudget = colonnade_budget::Budget<MemoryExceeded>;
/// A part of it that is in use.
pub type MemoryCharge = colonnade_budget::Charge<MemoryExceeded>;
/// A vector in it.
pub type MemoryVec<T> = colonnade_budget::ChargedVec<T, MemoryExceeded>;
