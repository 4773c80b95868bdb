//! Parts that any process can read, each by its ticket.
//!
//! A plan shares a state of the database, and holds it open. Whoever has a ticket runs the part's query in this state.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::{Offer, PartSize, PartTicket, PartitionSplit, Partitioning, SnapshotPart, StateExport, key, text};
use crate::{Batch, Connection, Error, ErrorKind, Keep, QueryOptions, ResultStream, Stats};

/// A result in parts.
pub struct PartPlan {
    /// The parts can be read while it is open. Readers that have begun go on without it.
    pub holder: Arc<dyn Connection>,
    /// In the order of the query or of the keys; at least one.
    pub parts: Vec<PlannedPart>,
    /// Whether sizes are exact. Otherwise they are estimates of the database.
    pub is_exact: bool,
}

/// A part of a plan.
pub struct PlannedPart {
    /// What stands for it.
    pub ticket: PartTicket,
    /// Its size, if it is known.
    pub size: Option<PartSize>,
}

/// Whose connection is used for a plan or for a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartConnection {
    /// The caller gives it up: it belongs to the plan or to the part from now on.
    Own,
    /// The caller keeps it. Another one like it is opened.
    Another,
}

impl PartPlan {
    /// The result of the plan without its rows.
    ///
    /// # Errors
    /// As for [`Connection::query`].
    pub fn empty(&self, options: &QueryOptions, keep: Keep<'_>) -> Result<Box<dyn ResultStream>, Error> {
        let query = match self.parts.first().map(|part| &part.ticket) {
            // All parts have the same columns. The line break ends a comment in the query's last line.
            Some(PartTicket::Snapshot(part)) => {
                format!("SELECT * FROM (\n{}\n) AS {} LIMIT 0", part.query, text::ALIAS)
            }
            _ => return Err(Error::new(ErrorKind::Protocol, "a plan without parts")),
        };
        self.holder.query((&query).into(), options, keep)
    }
}

/// Makes a plan for a query, which has no parameters left. `options` are those by which the parts are read. `spool` says whether the server
/// is to run the query once and to keep the rows; `None` is the source's usual way.
///
/// # Errors
/// `Unsupported` with the reason if the source has no parts for other processes, or if the query cannot be cut. Otherwise as for
/// [`Connection::query`].
pub fn plan(
    connection: &Arc<dyn Connection>,
    whose: PartConnection,
    query: &str,
    split: &PartitionSplit,
    spool: Option<bool>,
    options: &QueryOptions,
    keep: Keep<'_>,
) -> Result<PartPlan, Error> {
    let located = |error: Error| error.with_origin(connection.name());
    if spool == Some(true) {
        return Err(located(no_spool()));
    }
    let Offer::Parts(source) = connection.partitioning() else { return Err(located(only_here())) };
    let exported = match whose {
        PartConnection::Another => source.share(keep),
        PartConnection::Own => source.export(keep).map(|state| {
            let connection = connection.clone();
            state.map(|state| StateExport { connection, state })
        }),
    };
    let StateExport { connection: holder, state } = exported.map_err(located)?.ok_or_else(|| located(only_here()))?;
    let parts = cut(&*holder, query, split, keep).map_err(located)?;
    let part = |(query, size)| {
        let (numeric, as_text) = (options.numeric, options.as_text.clone());
        let ticket = PartTicket::Snapshot(SnapshotPart { state: state.clone(), query, numeric, as_text });
        PlannedPart { ticket, size }
    };
    Ok(PartPlan { parts: parts.into_iter().map(part).collect(), holder, is_exact: false })
}

/// The queries of the parts, and what the database expects of each.
fn cut(
    holder: &dyn Connection,
    query: &str,
    split: &PartitionSplit,
    keep: Keep<'_>,
) -> Result<Vec<(String, Option<PartSize>)>, Error> {
    let Offer::Parts(source) = holder.partitioning() else { return Err(only_here()) };
    if source.has_types_by_values(query, keep)? {
        let message = "the columns' types depend on the rows, so that parts could have different ones";
        return Err(Error::new(ErrorKind::Unsupported, message).with_hint("cast the columns in the query"));
    }
    let queries = source.parts(query, split, keep)?;
    queries.into_iter().map(|query| source.estimate(&query, keep).map(|size| (query, size))).collect()
}

/// Begins to read a part. `query` takes the place of a snapshot part's own, which it is made of: it may choose columns and rows.
///
/// # Errors
/// The part is gone (SQLSTATE 42704), or this connection cannot read it. Otherwise as for [`Connection::query`].
pub fn read_part(
    connection: &Arc<dyn Connection>,
    whose: PartConnection,
    ticket: &PartTicket,
    query: Option<&str>,
    options: &QueryOptions,
    keep: Keep<'_>,
) -> Result<Box<dyn ResultStream>, Error> {
    let (stream, _connection) = open_part(connection, whose, ticket, query, options, keep)?;
    Ok(Box::new(PartStream { stream, _connection }))
}

/// As [`read_part`]; also returns the connection, which must stay open until the stream is read.
///
/// # Errors
/// As for [`read_part`].
pub fn open_part(
    connection: &Arc<dyn Connection>,
    whose: PartConnection,
    ticket: &PartTicket,
    query: Option<&str>,
    options: &QueryOptions,
    keep: Keep<'_>,
) -> Result<(Box<dyn ResultStream>, Arc<dyn Connection>), Error> {
    let located = |error: Error| error.with_origin(connection.name());
    match ticket {
        PartTicket::Snapshot(part) => {
            let Offer::Parts(source) = connection.partitioning() else { return Err(located(elsewhere())) };
            let query = query.unwrap_or(&part.query);
            let reader = joined(connection, source, whose, part, query, options, keep).map_err(located)?;
            Ok((reader.query(query.into(), options, keep)?, reader))
        }
        PartTicket::Spool(_) => Err(located(elsewhere())),
    }
}

fn joined(
    connection: &Arc<dyn Connection>,
    source: &dyn Partitioning,
    whose: PartConnection,
    part: &SnapshotPart,
    query: &str,
    options: &QueryOptions,
    keep: Keep<'_>,
) -> Result<Arc<dyn Connection>, Error> {
    match whose {
        PartConnection::Another => source.join(&part.state, query, options, keep),
        PartConnection::Own => source.enter(&part.state, query, options, keep).map(|()| connection.clone()),
    }
}

/// The error of a source whose parts only this process can read.
fn only_here() -> Error {
    key::unsupported("this source has no parts for other processes").with_hint(
        "put a server in front of it (colonnade serve --source URI) and plan there: its spool gives parts of any query",
    )
}

/// The error of a server that cannot keep the rows of a query.
fn no_spool() -> Error {
    key::unsupported("this server cannot run the query once and keep its rows for parts")
        .with_hint("leave spool out, or put a server in front of it (colonnade serve --source URI) and plan there")
}

/// The error of a part that is read at another kind of server.
fn elsewhere() -> Error {
    Error::new(ErrorKind::Unavailable, "there is no such part here: it is of another kind of server")
        .with_sqlstate("42704")
        .with_hint("read it at the server and database of its plan")
}

/// A part's rows, and the connection over which they come.
struct PartStream {
    stream: Box<dyn ResultStream>,
    _connection: Arc<dyn Connection>,
}

impl ResultStream for PartStream {
    fn schema(&self) -> &SchemaRef {
        self.stream.schema()
    }

    fn next(&mut self, keep: Keep<'_>) -> Result<Option<Batch>, Error> {
        self.stream.next(keep)
    }

    fn stats(&self) -> Stats {
        self.stream.stats()
    }
}
