//! Results of a PostgreSQL as it is: the extended query protocol with results in binary, decoded column by column.
//!
//! A statement is parsed and described first, the catalog is asked for what the description leaves open, and then each
//! column is asked for in binary, or in text where text is what Arrow has for its type (TYPES.md). All of it is one
//! transaction that holds the statement's locks, so the columns cannot change in between; and as nothing is wrapped
//! around the statement, its rows come in its order, and whatever returns rows can be read.
//!
//! COPY in binary sends the same rows in the same form for the same work, but takes queries only, cannot mix binary with
//! text, and has to be told about the types beforehand all the same.

mod answer;
mod catalog;
mod column;
mod datetime;
mod decoder;
mod kind;
mod literal;
mod nested;
mod numeric;
mod scalars;
mod text;
mod value;

pub(super) use answer::{Wanted, answer, describe, execute, gives_rows};
pub(super) use decoder::Decoder;

/// A part of an answer.
pub(super) type Part = crate::rows::Part<kind::ColumnDescription, bytes::Bytes>;
