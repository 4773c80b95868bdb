//! Results in parts: `ExecutePartitions` and `ReadPartition`.
//!
//! The parts of a result are queries that see one state of the database (`colonnade_client::partition`). There are two
//! kinds:
//!
//! - If other processes can read the parts, a descriptor is the ticket of a plan ([`PartTicket`]): a query and the name
//!   of the state, or rows that a Colonnade server has spooled. Whoever reads it opens a connection like its own.
//! - Otherwise each part has a connection, which the client opens in addition to the statement's ([`local`]). A
//!   descriptor is a number that only this process knows.
//!
//! The state lasts as long as the statement keeps the result.

pub(crate) mod local;

use std::sync::Arc;

use adbc_core::error::{Error, Result, Status};
use arrow_schema::{Schema, SchemaRef};
use colonnade_client::partition::{
    self, PartConnection, PartPlan, PartRequest, PartSupport, PartTicket, PartitionSplit,
};
use colonnade_client::{self as client, Batch, Connection, ContinueCheck, ResultStream, Stats};

use crate::error::{converted, not_implemented, refused};
use crate::options::ReadOptions;
use crate::rows::Rows;
use crate::schema;
use crate::session::Session;
use crate::types;
use local::LocalParts;

/// What a statement keeps so that the parts of its result can be read.
#[expect(dead_code, reason = "held, not read")]
pub(crate) enum Parts {
    Local(Arc<LocalParts>),
    /// A plan, whose parts other processes read.
    Shared(PartPlan),
}

/// The parts of a result.
pub(crate) struct Partitions {
    pub(crate) kept: Parts,
    pub(crate) descriptors: Vec<Vec<u8>>,
    pub(crate) schema: Schema,
}

/// Makes the parts of a statement without parameters.
///
/// # Errors
/// The source cannot give the result in parts, for a reason that the message says; otherwise those of the source.
pub(crate) fn execute(session: &Session, sql: &str, options: &ReadOptions) -> Result<Partitions> {
    let located = |error: client::Error| converted(&error.with_origin(session.source().name()));
    let split = options.split();
    if partition::has_plans(session.source()) {
        if session.source().spooling().is_some() {
            // The session itself runs the query.
            session.begin_execution()?;
        }
        let (whose, options) = (PartConnection::Another, &options.query);
        let plan = partition::plan(session.shared_source(), whose, sql, &split, None, options, &mut || true);
        let plan = plan.map_err(located)?;
        let schema = types::schema(plan.schema(), session.source());
        let descriptors = plan.parts().iter().map(|part| part.ticket.encode()).collect();
        return Ok(Partitions { kept: Parts::Shared(plan), descriptors, schema });
    }
    let source = match session.source().partitioning() {
        PartSupport::Nothing => {
            return Err(not_implemented("this database has no partitions: execute the query as a whole"));
        }
        PartSupport::OneStream => {
            let schema = schema::of_query(session, sql, &options.query)?;
            return Ok(local_partitions(LocalParts::keep(vec![sql.to_owned()], &options.query, Vec::new()), schema));
        }
        PartSupport::Parts(source) => source,
    };
    let connections = source.siblings(split.count, &[], split.consistent, &mut || true).map_err(located)?;
    let first = connections.first().ok_or_else(none_left)?;
    let queries = queries(&**first, sql, &split).map_err(located)?;
    let schema = schema::of_source(&**first, sql, &options.query)?;
    let used = connections.into_iter().take(queries.len()).collect();
    Ok(local_partitions(LocalParts::keep(queries, &options.query, used), schema))
}

fn local_partitions(parts: Arc<LocalParts>, schema: Schema) -> Partitions {
    Partitions { descriptors: parts.descriptors(), kept: Parts::Local(parts), schema }
}

/// The queries of the parts, by a connection that sees their state.
fn queries(
    source: &dyn Connection,
    sql: &str,
    split: &PartitionSplit,
) -> std::result::Result<Vec<String>, client::Error> {
    let PartSupport::Parts(source) = source.partitioning() else { return Ok(vec![sql.to_owned()]) };
    partition::part_queries(source, sql, split, &mut || true)
}

/// Begins to read the part that a descriptor stands for.
///
/// # Errors
/// There is no such part, or its state is gone; otherwise those of the source.
pub(crate) fn read(session: &Session, descriptor: &[u8], options: &ReadOptions) -> Result<Rows> {
    if PartTicket::is_named(descriptor) {
        let ticket = PartTicket::decode(descriptor).ok_or_else(no_such_partition)?;
        let options = ticket.options(&options.query);
        let opened = partition::open_part(
            session.shared_source(),
            PartConnection::Another,
            &ticket,
            &PartRequest::Whole,
            &options,
            &mut || true,
        );
        let (stream, connection) = opened.map_err(|error| converted(&error))?;
        let stream = types::stream(stream, &*connection, &options);
        return Rows::streamed(Box::new(PartStream { stream, _kept: connection }));
    }
    session.read_local_part(local::Part::find(descriptor)?)
}

/// A part's rows, and what has to stay open until they are read.
struct PartStream<T> {
    stream: Box<dyn ResultStream>,
    _kept: T,
}

impl<T: Send> ResultStream for PartStream<T> {
    fn schema(&self) -> &SchemaRef {
        self.stream.schema()
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> std::result::Result<Option<Batch>, client::Error> {
        self.stream.next(keep)
    }

    fn stats(&self) -> Stats {
        self.stream.stats()
    }
}

fn none_left() -> Error {
    refused(Status::Internal, "no connection is left to read parts with")
}

fn no_such_partition() -> Error {
    let message = "there is no such partition: read it where its database is, while its statement is neither released nor executed again; \
                   only those of PostgreSQL can be read in another process";
    refused(Status::NotFound, message)
}
