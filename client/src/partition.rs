//! Several connections read the parts of one result at once.
//!
//! A source says through [`Connection::partitioning`](crate::Connection::partitioning) what it offers. If it is [`Partitioning`], then
//!
//! ```text
//!   connection ──siblings──> n connections, all of which see one state of the database
//!   siblings[0] ──parts────> n queries, which together give each row of the query exactly once
//!   each on a thread of its own: query ──> batches ──decode──┐
//!                                                          queue ──> ResultStream
//! ```
//!
//! What is the same for all sources is here: the texts ([`text`]), the column to cut by ([`key`]), the choice of cuts from a sample of its
//! values ([`balance`]), where a condition fits into a query ([`plain`]), the reading (`reader`), and the schema on which parts
//! agree whose rows decide types (`agreement`).

mod agreement;
pub(crate) mod balance;
pub(crate) mod key;
pub(crate) mod plain;
mod reader;
pub(crate) mod siblings;
pub(crate) mod text;

use std::sync::Arc;

pub use reader::{read, read_each};

use crate::{Connection, Error, Keep};

/// What a source offers to whoever wants to read one result in parts.
#[derive(Clone, Copy)]
pub enum Offer<'a> {
    /// Connections beside the first one, and ways to cut a query.
    Parts(&'a dyn Partitioning),
    /// One stream serves as well: the source uses all cores for it by itself, and all of it is one state of the database.
    OneStream,
    /// Neither.
    Nothing,
}

/// How to cut a query into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSplit {
    /// The column of the result by whose values it is cut. Without one, the source cuts by where rows lie, if it can.
    pub key: Option<String>,
    /// How many parts to make; fewer if the keys do not give as many that are worth it. At least 1.
    pub count: usize,
    /// Between which keys to make cuts at equal distances, as texts without quotes: `("0", "1000")`, `("2024-01-01", "2025-01-01")`.
    /// It filters nothing: the first part reaches down from the first cut to the smallest key, the last part up to the largest.
    /// Without it, the source looks for cuts that make the parts equally large.
    pub range: Option<(String, String)>,
    /// Whether all parts must see one state of the database.
    pub consistent: bool,
}

/// Implemented by the connections of a source that can be read in parts.
pub trait Partitioning: Send + Sync {
    /// Opens `count` connections to the same database as the same user, with the settings of this one where the source
    /// knows them, and runs `setup` on each. With `consistent`, every query on any of them then sees the same state of the
    /// database, for as long as all of them are open; none can write. Without, each query sees its own.
    ///
    /// # Errors
    /// `Unsupported` if the database cannot give them one state, or if this connection has what others cannot see (an open
    /// transaction, temporary tables); the message says which. Otherwise as for [`connect`](crate::connect).
    fn siblings(
        &self,
        count: usize,
        setup: &[String],
        consistent: bool,
        keep: Keep<'_>,
    ) -> Result<Vec<Arc<dyn Connection>>, Error>;

    /// The queries that together give each row of `query` exactly once, those with a NULL key included: 1 to `split.count` of them,
    /// in the order of the keys. Called on one of the [siblings](Self::siblings), so that what it asks the database is
    /// answered from the same state. `query` has no parameters left.
    ///
    /// Statistics may decide where a cut is made, never whether a row is read.
    ///
    /// # Errors
    /// `Unsupported` with the reason if parts of this query would not add up to it, or if its keys cannot be cut; `Usage` if there
    /// is no such key. Otherwise as for [`Connection::query`].
    fn parts(&self, query: &str, split: &PartitionSplit, keep: Keep<'_>) -> Result<Vec<String>, Error>;

    /// Whether the types of a query's columns may depend on its rows, so that its parts may have different ones. Called on one of the
    /// [siblings](Self::siblings).
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn has_types_by_values(&self, _query: &str, _keep: Keep<'_>) -> Result<bool, Error> {
        Ok(false)
    }

    /// Whether the state that the [siblings](Self::siblings) share covers all that a query reads. Called on one of them.
    ///
    /// # Errors
    /// `Unsupported` with the reason if it does not. Otherwise as for [`Connection::query`].
    fn covers(&self, _query: &str, _keep: Keep<'_>) -> Result<(), Error> {
        Ok(())
    }
}
