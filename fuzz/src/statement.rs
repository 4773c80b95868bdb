//! Statements for the target `statement`: a grammar that knows what it has written, and other ways to write the same.

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

/// Which users may send something: a bit for each of [`RIGHTS`].
pub type Permits = u8;

/// Everybody.
pub const ALL: Permits = 0b1111;
/// Nobody.
pub const NONE: Permits = 0;
/// Users who may write, whatever the operator says of files.
pub const WRITERS: Permits = 0b1010;
/// Users who may write, where the operator allows files.
pub const WRITERS_WITH_FILES: Permits = 0b1000;

/// Every kind of user.
pub const RIGHTS: [Rights; 4] = [
    Rights { writes: false, files: false },
    Rights { writes: true, files: false },
    Rights { writes: false, files: true },
    Rights { writes: true, files: true },
];

/// A statement, and what has to be found of it.
#[derive(Debug, Default)]
pub struct GeneratedStatement {
    /// Its tokens, with a space between them.
    pub text: String,
    /// Where each token is, in bytes.
    pub tokens: Vec<Range<usize>>,
    /// Who may send all of it, as far as the lists say so.
    pub permits: Permits,
    /// DuckDB's kind of it, where that is known.
    pub kind: Option<&'static str>,
    /// The number of the first token of the statement that it carries, and DuckDB's kind of that one.
    pub carried: Option<(usize, &'static str)>,
    /// Whether more of a construct is in it than there may be.
    pub is_too_deep: bool,
    /// Whether it is certain that whoever is permitted to send it is not refused.
    pub is_whole: bool,
}
