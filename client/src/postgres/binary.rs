//! Results of PostgreSQL without the extension: the extended query protocol with binary results, decoded column by
//! column.
//!
//! A statement is parsed and described first. The catalog answers what the description leaves open. Then each column
//! is requested in binary, or in text if Arrow represents its type as text (TYPES.md). All of this is one transaction
//! with the statement's locks, so the columns cannot change in between. The statement is not wrapped, so its rows keep
//! their order, and every statement that returns rows can be read.
//!
//! Binary COPY sends the same rows in the same form for the same work. But it accepts only queries, cannot mix binary
//! and text, and also needs the types beforehand. So statements that are no queries, such as EXPLAIN and FETCH, are
//! read in this way from servers with the extension too. `docs/decisions/0022-binary-results.md` says why statements
//! are not prepared.
//!
//! The receiving thread steps over rows and passes on blocks of 256 KiB. The decoder takes 256 rows at a time and loops
//! over each column, so that a type is looked up once for each group and the bytes are still in the L1 cache.

mod answer;
mod catalog;
mod column;
mod datetime;
mod decoder;
mod interval;
mod kind;
pub(super) mod known;
mod literal;
mod nested;
mod numeric;
mod reading;
mod scalars;
mod text;
mod value;

pub(super) use answer::{column_types, describe, execute};
pub(super) use decoder::Decoder;
pub(super) use reading::Reading;
