//! Statements for the target `statement`: a grammar that records what it has written, and a rewriter that keeps the
//! tokens.

mod check;
mod choices;
mod clauses;
mod expressions;
mod judgement;
mod words;
mod writing;

pub use check::check;
pub use choices::Choices;
pub use clauses::grammatical;
pub use judgement::{Judgement, judge};
pub use words::WORDS;
pub use writing::{rewritten, tokens};

use std::ops::Range;

use colonnade_duckdb::fence::Rights;

/// The users who may send a text: a bit for each of [`RIGHTS`].
pub type Permits = u8;

/// Everybody.
pub const ALL: Permits = 0b1111;
/// Nobody.
pub const NONE: Permits = 0;
/// Users who may write, with or without access to files.
pub const WRITERS: Permits = 0b1010;
/// Users who may write and may access files.
pub const WRITERS_WITH_FILES: Permits = 0b1000;

/// Every kind of user.
pub const RIGHTS: [Rights; 4] = [
    Rights { writes: false, files: false },
    Rights { writes: true, files: false },
    Rights { writes: false, files: true },
    Rights { writes: true, files: true },
];

/// A generated statement, and what the fence must find.
#[derive(Debug, Default)]
pub struct GeneratedStatement {
    /// Its tokens, with a space between them.
    pub text: String,
    /// The bytes of each token.
    pub tokens: Vec<Range<usize>>,
    /// The users who may send it, by the lists.
    pub permits: Permits,
    /// DuckDB's kind of the statement, if it is known.
    pub kind: Option<&'static str>,
    /// The statement within EXPLAIN or PREPARE: the number of its first token, and DuckDB's kind of it.
    pub carried: Option<(usize, &'static str)>,
    /// Whether it exceeds a bound of `fence/depth.rs`.
    pub is_too_deep: bool,
    /// Whether the fence must accept it from the users who may send it.
    pub is_whole: bool,
}
