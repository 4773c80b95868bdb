//! Results in parts: `ExecutePartitions` and `ReadPartition`.
//!
//! The parts of a result are queries that see one state of the database, each over a connection of its own, which the client opens beside
//! the statement's (`colonnade_client::partition`). They stay open as long as the statement keeps the result or somebody reads a part,
//! so a part can be read within this process only. Its descriptor is a number of the result and the number of the part.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use adbc_core::error::{Error, Result, Status};
use arrow_schema::{Schema, SchemaRef};
use colonnade_client::partition::{Offer, PartitionSplit};
use colonnade_client::{self as client, Batch, Cancel, Connection, Keep, QueryOptions, ResultStream, Stats};

use crate::connection::not_implemented;
use crate::error::{converted, refused};
use crate::schema;
use crate::session::Session;
use crate::types;

/// The parts of a result.
pub(crate) struct Parts {
    number: u64,
    queries: Vec<String>,
    options: QueryOptions,
    /// One for each part; none if the result is one part, which whoever reads it reads over its own connection.
    connections: Vec<Arc<dyn Connection>>,
}

/// The results that a statement keeps.
static KEPT: LazyLock<Mutex<HashMap<u64, Weak<Parts>>>> = LazyLock::new(Mutex::default);

impl Parts {
    /// Opens the connections and makes the queries of a statement without parameters. Also gives the columns.
    ///
    /// # Errors
    /// The source cannot give the result in parts, for a reason that the message says; otherwise those of the source.
    pub(crate) fn open(
        session: &Session,
        sql: &str,
        split: &PartitionSplit,
        options: &QueryOptions,
    ) -> Result<(Arc<Self>, Schema)> {
        let source = match session.source().partitioning() {
            Offer::Nothing => {
                return Err(not_implemented("this database has no partitions: execute the query as a whole"));
            }
            Offer::OneStream => {
                let schema = schema::of_query(session, sql, options)?;
                return Ok((Self::keep(vec![sql.to_owned()], options, Vec::new()), schema));
            }
            Offer::Parts(source) => source,
        };
        let located = |error: client::Error| converted(&error.with_origin(session.source().name()));
        let connections = source.siblings(split.count, &[], split.consistent, &mut || true).map_err(located)?;
        let first = connections.first().ok_or_else(none_left)?;
        let Offer::Parts(partitioning) = first.partitioning() else { return Err(none_left()) };
        if partitioning.has_types_by_values(sql, &mut || true).map_err(located)? {
            let message = "the columns' types depend on the rows, so that parts could have different ones: cast the columns in the query";
            return Err(not_implemented(message));
        }
        let queries = partitioning.parts(sql, split, &mut || true).map_err(located)?;
        let schema = schema::of_source(&**first, sql, options)?;
        let used = connections.into_iter().take(queries.len()).collect();
        Ok((Self::keep(queries, options, used), schema))
    }

    fn keep(queries: Vec<String>, options: &QueryOptions, connections: Vec<Arc<dyn Connection>>) -> Arc<Self> {
        // No other process makes the same number.
        let number = RandomState::new().build_hasher().finish();
        let parts = Arc::new(Self { number, queries, options: options.clone(), connections });
        let mut kept = kept();
        kept.retain(|_, parts| parts.strong_count() > 0);
        kept.insert(number, Arc::downgrade(&parts));
        parts
    }

    /// What stands for each part.
    pub(crate) fn descriptors(&self) -> Vec<Vec<u8>> {
        (0..self.queries.len()).map(|part| format!("{:016x}/{part}", self.number).into_bytes()).collect()
    }
}

/// A part that is to be read.
pub(crate) struct Part {
    parts: Arc<Parts>,
    place: usize,
}

impl Part {
    /// The part that a descriptor stands for.
    ///
    /// # Errors
    /// It is none of this process, or its statement has been released or executed again.
    pub(crate) fn find(descriptor: &[u8]) -> Result<Self> {
        let found = std::str::from_utf8(descriptor).ok().and_then(|text| {
            let (number, place) = text.split_once('/')?;
            let (number, place) = (u64::from_str_radix(number, 16).ok()?, place.parse().ok()?);
            let parts = kept().get(&number).and_then(Weak::upgrade)?;
            (place < parts.queries.len()).then_some(Self { parts, place })
        });
        found.ok_or_else(|| {
            let message = "there is no such partition: read it in the process that made it, while its statement is neither released nor \
                           executed again";
            refused(Status::NotFound, message)
        })
    }

    /// Its query and how it is read, if it is the whole result and has no connection of its own.
    pub(crate) fn own_query(&self) -> Option<(&str, &QueryOptions)> {
        self.parts.connections.is_empty().then(|| (self.parts.queries[self.place].as_str(), &self.parts.options))
    }

    pub(crate) fn downgrade(&self) -> WeakPart {
        WeakPart { parts: Arc::downgrade(&self.parts), place: self.place }
    }

    /// Begins to read it over its connection.
    ///
    /// # Errors
    /// Those of the source; somebody reads this part already.
    pub(crate) fn open(self) -> Result<Box<dyn ResultStream>> {
        let connection = self.parts.connections.get(self.place).ok_or_else(none_left)?;
        let (sql, options) = (&self.parts.queries[self.place], &self.parts.options);
        let stream = connection.query(sql.into(), options, &mut || true).map_err(|error| converted(&error))?;
        let stream = types::stream(stream, &**connection, options);
        Ok(Box::new(PartStream { stream, _parts: self.parts }))
    }
}

/// A part, for whoever may want to stop it.
#[derive(Clone, Default)]
pub(crate) struct WeakPart {
    parts: Weak<Parts>,
    place: usize,
}

impl Cancel for WeakPart {
    fn cancel(&self) -> std::result::Result<(), client::Error> {
        let parts = self.parts.upgrade();
        let connection = parts.as_ref().and_then(|parts| parts.connections.get(self.place));
        connection.map_or(Ok(()), |connection| connection.canceller().cancel())
    }
}

/// A part's rows. All connections have to stay open until they are read.
struct PartStream {
    stream: Box<dyn ResultStream>,
    _parts: Arc<Parts>,
}

impl ResultStream for PartStream {
    fn schema(&self) -> &SchemaRef {
        self.stream.schema()
    }

    fn next(&mut self, keep: Keep<'_>) -> std::result::Result<Option<Batch>, client::Error> {
        self.stream.next(keep)
    }

    fn stats(&self) -> Stats {
        self.stream.stats()
    }
}

fn kept() -> MutexGuard<'static, HashMap<u64, Weak<Parts>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn none_left() -> Error {
    refused(Status::Internal, "no connection is left to read parts with")
}
