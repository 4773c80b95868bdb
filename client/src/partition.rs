//! Several connections read the parts of one result at once.
//!
//! [`Connection::partitioning`](crate::Connection::partitioning) returns what a source offers. If it is
//! [`Partitioning`]:
//!
//! ```text
//!   connection ──siblings──> n connections, all of which see one state of the database
//!   siblings[0] ──parts────> n queries, which together give each row of the query exactly once
//!   each on a thread of its own: query ──> batches ──decode──┐
//!                                                          queue ──> ResultStream
//! ```
//!
//! A [`plan`] makes parts that other processes read, each by its [`ticket`](PartTicket).
//!
//! The code for all sources is here: the texts ([`text`]), the column by which to cut ([`key`]), the choice of cuts
//! from a sample of its values ([`balance`]), an additional condition in a query ([`plain`]), the reading (`reader`),
//! and the common schema of parts whose rows decide types (`agreement`). Each source asks its database in its own way.
//!
//! Only the database compares keys with cuts, with the same expressions as the parts' queries. So statistics change how
//! equal the parts are, never which rows arrive.

mod agreement;
pub(crate) mod balance;
pub(crate) mod key;
pub(crate) mod plain;
mod plan;
mod reader;
pub(crate) mod siblings;
mod spool;
pub(crate) mod text;
mod ticket;

use std::sync::Arc;

pub use plan::{
    OpenedPart, PartConnection, PartPlan, PartRequest, has_plans, open_part, part_queries, plan, read_part,
};
pub use reader::{read, read_each};
pub use spool::{SpoolCut, SpoolSelection, Spooling};
pub use ticket::{PartTicket, PlannedPart, SnapshotPart, SpooledPart};

use crate::{Connection, ContinueCheck, Error, QueryOptions};

/// What a source offers for reading one result in parts.
#[derive(Clone, Copy)]
pub enum PartSupport<'a> {
    /// Further connections, and ways to cut a query.
    Parts(&'a dyn Partitioning),
    /// One stream is as good: the source uses all cores for it, and all of it is one state of the database.
    OneStream,
    /// Neither.
    Nothing,
}

/// How to cut a query into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSplit {
    /// The column by whose values the result is cut. Without it, the source cuts by the location of rows, if it can.
    pub key: Option<String>,
    /// The number of parts, at least 1. There are fewer if the keys do not suffice.
    pub count: usize,
    /// The bounds of cuts at equal distances, as texts without quotes: `("0", "1000")`, `("2024-01-01",
    /// "2025-01-01")`. They filter nothing: the first part begins at the smallest key, and the last part ends at the
    /// largest. Without bounds, the source looks for cuts that make the parts equally large.
    pub range: Option<(String, String)>,
    /// Whether all parts must see one state of the database.
    pub consistent: bool,
    /// Whether each part must have the same rows whenever it is read, and however often.
    pub repeatable: bool,
}

/// The size of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSize {
    /// Rows.
    pub rows: u64,
    /// Bytes of the columns as plain Arrow buffers. An estimate has the bytes of the database's own values.
    pub bytes: u64,
}

/// A state of a database that connections of any process can see, for as long as the connection that exported it is
/// open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedState {
    /// The run of the server that has the state.
    pub server: String,
    /// The server's name of the state.
    pub snapshot: String,
    /// The settings of the session under which a query means the same, in the order in which they are set.
    pub settings: Vec<(String, String)>,
}

/// A state, and the connection that has exported it.
pub struct StateExport {
    /// It keeps the state while it is open, and sees it too.
    pub connection: Arc<dyn Connection>,
    /// The state.
    pub state: SharedState,
}

/// Implemented by the connections of a source that can be read in parts.
pub trait Partitioning: Send + Sync {
    /// Opens `count` connections to the same database as the same user, with the settings of this connection as far as
    /// the source knows them, and runs `setup` on each. With `consistent`, every query on them sees the same state of
    /// the database while all of them are open, and none can write. Without it, each query sees its own state.
    ///
    /// # Errors
    /// `Unsupported` if the database cannot show them one state, or if this connection has something that others
    /// cannot see (an open transaction, temporary tables); the message says which. Otherwise as for
    /// [`connect`](crate::connect).
    fn siblings(
        &self,
        count: usize,
        setup: &[String],
        consistent: bool,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<Arc<dyn Connection>>, Error>;

    /// Whether connections of other processes can see a state of this source.
    fn has_shared_states(&self) -> bool {
        false
    }

    /// Opens a connection like [`siblings`](Self::siblings) does, and exports the state that it sees. `None` if
    /// connections of other processes cannot see a state of this source.
    ///
    /// # Errors
    /// As for [`siblings`](Self::siblings).
    fn share(&self, _keep: ContinueCheck<'_>) -> Result<Option<StateExport>, Error> {
        Ok(None)
    }

    /// Exports the state that this connection sees from now on, and keeps until it is closed. `None` as for
    /// [`share`](Self::share).
    ///
    /// # Errors
    /// As for [`siblings`](Self::siblings).
    fn export(&self, _keep: ContinueCheck<'_>) -> Result<Option<SharedState>, Error> {
        Ok(None)
    }

    /// Opens a connection to the same database as the same user, which sees a shared state and cannot write, for one
    /// query. Both may come from a stranger: the server itself checks that `query` is one statement that gives rows.
    ///
    /// # Errors
    /// The state is gone (SQLSTATE 42704), or the query is not one. Otherwise as for [`connect`](crate::connect).
    fn join(
        &self,
        _state: &SharedState,
        _query: &str,
        _options: &QueryOptions,
        _keep: ContinueCheck<'_>,
    ) -> Result<Arc<dyn Connection>, Error> {
        Err(key::unsupported("connections of other processes cannot see a state of this source"))
    }

    /// Lets this connection see a shared state from now on, as [`join`](Self::join) does a new one.
    ///
    /// # Errors
    /// As for [`join`](Self::join).
    fn enter(
        &self,
        _state: &SharedState,
        _query: &str,
        _options: &QueryOptions,
        _keep: ContinueCheck<'_>,
    ) -> Result<(), Error> {
        Err(key::unsupported("connections of other processes cannot see a state of this source"))
    }

    /// What the database expects of a part's query, which does not run. It is called on one of the
    /// [siblings](Self::siblings). `None` if it expects nothing.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn estimate(&self, _query: &str, _keep: ContinueCheck<'_>) -> Result<Option<PartSize>, Error> {
        Ok(None)
    }

    /// The queries that together return each row of `query` exactly once, including rows with a NULL key: 1 to
    /// `split.count` queries, in the order of the keys. It is called on one of the [siblings](Self::siblings), so that
    /// its questions are answered from the same state. `query` has no parameters left.
    ///
    /// Statistics may affect the position of a cut, but never whether a row is read.
    ///
    /// # Errors
    /// `Unsupported` with the reason if the parts would not be equal to the query, or if its keys cannot be cut;
    /// `Usage` if there is no such key. Otherwise as for [`Connection::query`].
    fn parts(&self, query: &str, split: &PartitionSplit, keep: ContinueCheck<'_>) -> Result<Vec<String>, Error>;

    /// Whether the types of a query's columns may depend on its rows, so that parts may have different types. It is
    /// called on one of the [siblings](Self::siblings).
    ///
    /// # Errors
    /// As for [`Connection::query`].
    fn has_types_by_values(&self, _query: &str, _keep: ContinueCheck<'_>) -> Result<bool, Error> {
        Ok(false)
    }

    /// Whether the common state of the [siblings](Self::siblings) includes all data that a query reads. It is called
    /// on one of them.
    ///
    /// # Errors
    /// `Unsupported` with the reason if it does not. Otherwise as for [`Connection::query`].
    fn covers(&self, _query: &str, _keep: ContinueCheck<'_>) -> Result<(), Error> {
        Ok(())
    }
}
