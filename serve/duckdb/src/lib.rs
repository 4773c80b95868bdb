//! DuckDB as an engine of the server. This crate translates the SQL of PostgreSQL's clients into DuckDB's, and DuckDB's
//! errors into PostgreSQL's.
//!
//! - [`TranslatingSession`] implements the server's engine for one client, over a [`LibraryConnection`] of DuckDB's
//!   library;
//! - [`Translated`] is a statement in DuckDB's SQL: names of PostgreSQL's catalog (`catalog`), literals in PostgreSQL's
//!   text form (`literal`), comparisons of rows (`rows`), digits of seconds and functions of other names
//!   (`spellings`), divisions by zero (`divisions`), PostgreSQL's schema `public` ([`ServedDatabase`]);
//! - `describe` finds the types of placeholders, `placeholder` and `cast` cast their values to these types, and
//!   `nested_limits` makes constants of some;
//! - `insert` writes the INSERT of COPY … FROM STDIN, and refuses values that DuckDB would store wrongly;
//! - `numbered` and `create` make sequences for columns that number their rows, and `truncate` restarts them;
//! - `definitions` runs what is one statement in PostgreSQL and several in DuckDB;
//! - `repeated` refuses statements that would change a row twice, of which DuckDB would drop values;
//! - [`types`] has the names of DuckDB's types;
//! - `errors` finds the SQLSTATE of DuckDB's error texts, and `violations` the constraint that they are about;
//! - [`fence`] decides which statements may reach DuckDB; `fenced` stands in front of each [`LibraryConnection`].
//!
//! DuckDB's library itself is a Python package.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod aggregates;
mod cast;
mod catalog;
mod connection;
mod constraint_names;
mod create;
mod created_list;
mod definitions;
mod describe;
mod divisions;
mod errors;
pub mod fence;
mod fenced;
mod inputs;
mod insert;
mod json_aggregates;
mod literal;
mod nested_limits;
mod numbered;
mod outline;
mod own_rows;
mod placeholder;
mod repeated;
mod rows;
mod select_items;
mod session;
mod spellings;
mod tables;
mod translated;
mod truncate;
pub mod types;
mod unconstrained;
mod violations;

pub use aggregates::{AggregateCandidate, AggregateDispatch};
pub use catalog::{CatalogNames, ServedDatabase};
pub use connection::{LibraryConnection, StatementTypes};
pub use fenced::{AllowedStatement, UserFence};
pub use session::TranslatingSession;
pub use tables::{BlockInput, FunctionUse, TableFunctions, TableInput};
pub use translated::Translated;
pub use unconstrained::with_digits;
pub use violations::TableConstraint;
