//! Parts that any process can read, each by its ticket.
//!
//! There are two kinds. A plan shares a state of the database, and holds it open: whoever has a ticket runs the part's
//! query in this state. Or the server runs the query once and keeps the rows ([`spool`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_schema::{Schema, SchemaRef};

use super::spool::{self, SpoolSelection, Spooled, Spooling};
use super::{
    PartSize, PartSupport, PartTicket, PartitionSplit, Partitioning, PlannedPart, SnapshotPart, StateExport, key, text,
};
use crate::{Batch, Connection, ContinueCheck, Error, ErrorKind, QueryOptions, ResultStream, Stats};

/// How long dropping a plan waits for the server.
const RELEASE_LIMIT: Duration = Duration::from_secs(2);

/// A result in parts. Dropping it ends it, as [`PartPlan::close`] does.
pub struct PartPlan {
    /// The parts can be read while it is open. Readers that have begun go on without it.
    holder: Arc<dyn Connection>,
    /// The server's ticket, if it keeps the rows.
    ticket: Option<String>,
    parts: Vec<PlannedPart>,
    schema: SchemaRef,
}

/// A part's rows, and the connection over which they come.
pub type OpenedPart = (Box<dyn ResultStream>, Arc<dyn Connection>);

/// Whose connection is used for a plan or for a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartConnection {
    /// The caller gives it up: it belongs to the plan or to the part from now on.
    Own,
    /// The caller keeps it. Another one like it is opened.
    Another,
}

impl PartPlan {
    /// In the order of the query or of the keys; at least one.
    pub fn parts(&self) -> &[PlannedPart] {
        &self.parts
    }

    /// The columns of the result.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether the server keeps the rows. Then the sizes of the parts are exact; otherwise they are estimates of the
    /// database.
    pub fn is_spooled(&self) -> bool {
        self.ticket.is_some()
    }

    /// The connection that holds it. Others like it can read the parts.
    pub fn connection(&self) -> &Arc<dyn Connection> {
        &self.holder
    }

    /// Ends the plan. Parts that have begun are read to their end.
    ///
    /// # Errors
    /// The server could not be told to remove the rows. It does so after their time.
    pub fn close(&self, keep: ContinueCheck<'_>) -> Result<(), Error> {
        let released = match (&self.ticket, self.holder.spooling()) {
            (Some(ticket), Some(source)) if self.holder.is_open() => source.release(ticket, keep),
            _ => Ok(()),
        };
        self.holder.close();
        released
    }
}

impl Drop for PartPlan {
    fn drop(&mut self) {
        // The server removes the rows after their time in any case. A peer that does not answer must not block the
        // program.
        let limit = Instant::now() + RELEASE_LIMIT;
        let _ = self.close(&mut || Instant::now() < limit);
    }
}

/// Whether [`plan`] makes parts of the results of a connection.
pub fn has_plans(connection: &dyn Connection) -> bool {
    let shares = matches!(connection.partitioning(), PartSupport::Parts(source) if source.has_shared_states());
    connection.spooling().is_some() || shares
}

/// Makes a plan for a query, which has no parameters left. `options` are those by which the parts are read. `spool`
/// says whether the server is to run the query once and to keep the rows; `None` is the source's usual way.
///
/// # Errors
/// `Unsupported` with the reason if the source has no parts for other processes, or if the query cannot be cut.
/// Otherwise as for [`Connection::query`].
pub fn plan(
    connection: &Arc<dyn Connection>,
    whose: PartConnection,
    query: &str,
    split: &PartitionSplit,
    spool: Option<bool>,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<PartPlan, Error> {
    let made = match (connection.spooling(), connection.partitioning()) {
        (Some(source), _) if spool != Some(false) => spooled(connection, source, whose, query, split, options, keep),
        (_, PartSupport::Parts(source)) if spool != Some(true) => {
            shared(connection, source, whose, query, split, options, keep)
        }
        (Some(_), _) => Err(key::unsupported("this server gives parts only of a result that it keeps")
            .with_hint("leave spool out: the server runs the query once and keeps the rows for the parts")),
        (None, PartSupport::Parts(source)) if source.has_shared_states() => Err(no_spool()),
        (None, _) => Err(only_here()),
    };
    made.map_err(|error| error.with_origin(connection.name()))
}

/// A plan whose rows the server keeps.
fn spooled(
    connection: &Arc<dyn Connection>,
    source: &dyn Spooling,
    whose: PartConnection,
    query: &str,
    split: &PartitionSplit,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<PartPlan, Error> {
    let holder = match whose {
        PartConnection::Own => connection.clone(),
        PartConnection::Another => source.another(keep)?,
    };
    let Spooled { ticket, parts } = spool::spool(source, query, split, options, keep)?;
    let schema = SchemaRef::new(Schema::empty());
    // From here on, an error releases the rows.
    let mut plan = PartPlan { holder, ticket: Some(ticket.clone()), parts, schema };
    let reader = plan.holder.spooling().ok_or_else(elsewhere)?;
    plan.schema = spool::schema(reader, &ticket, options, keep)?;
    Ok(plan)
}

/// A plan over a shared state of the database.
fn shared(
    connection: &Arc<dyn Connection>,
    source: &dyn Partitioning,
    whose: PartConnection,
    query: &str,
    split: &PartitionSplit,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<PartPlan, Error> {
    let exported = match whose {
        PartConnection::Another => source.share(keep)?,
        PartConnection::Own => source.export(keep)?.map(|state| StateExport { connection: connection.clone(), state }),
    };
    let StateExport { connection: holder, state } = exported.ok_or_else(only_here)?;
    let queries = cut(&*holder, query, split, keep)?;
    // All parts have the same columns. The line break ends a comment in the query's last line.
    let first = queries.first().map_or(query, |(query, _)| query);
    let none = format!("SELECT * FROM (\n{first}\n) AS {} LIMIT 0", text::ALIAS);
    let mut empty = holder.query((&none).into(), options, keep)?;
    while empty.next(keep)?.is_some() {}
    let schema = empty.schema().clone();
    let part = |(query, size)| {
        let (numeric, as_text) = (options.numeric, options.as_text.clone());
        let ticket = PartTicket::Snapshot(SnapshotPart { state: state.clone(), query, numeric, as_text });
        PlannedPart { ticket, size }
    };
    Ok(PartPlan { parts: queries.into_iter().map(part).collect(), holder, ticket: None, schema })
}

/// The queries of the parts, and what the database expects of each.
fn cut(
    holder: &dyn Connection,
    query: &str,
    split: &PartitionSplit,
    keep: ContinueCheck<'_>,
) -> Result<Vec<(String, Option<PartSize>)>, Error> {
    let PartSupport::Parts(source) = holder.partitioning() else { return Err(only_here()) };
    let queries = part_queries(source, query, split, keep)?;
    queries.into_iter().map(|query| source.estimate(&query, keep).map(|size| (query, size))).collect()
}

/// The queries of parts that are read apart from one another, so that nothing can adapt the types of one to those of
/// the others.
///
/// # Errors
/// `Unsupported` if the types of the columns depend on the rows. Otherwise as for [`Partitioning::parts`].
pub fn part_queries(
    source: &dyn Partitioning,
    query: &str,
    split: &PartitionSplit,
    keep: ContinueCheck<'_>,
) -> Result<Vec<String>, Error> {
    if source.has_types_by_values(query, keep)? {
        let message = "the columns' types depend on the rows, so that parts could have different ones";
        return Err(Error::new(ErrorKind::Unsupported, message).with_hint("cast the columns in the query"));
    }
    source.parts(query, split, keep)
}

/// What is read of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartRequest<'a> {
    /// All of it.
    Whole,
    /// Of a snapshot's part: this query, which is made of the part's own. It may choose columns and rows.
    Query(&'a str),
    /// Of a spooled part: these columns and rows.
    Selection(SpoolSelection),
}

/// Begins to read a part.
///
/// # Errors
/// The part is gone (SQLSTATE 42704), the request is for the other kind of part, or this connection cannot read it.
/// Otherwise as for [`Connection::query`].
pub fn read_part(
    connection: &Arc<dyn Connection>,
    whose: PartConnection,
    ticket: &PartTicket,
    request: &PartRequest<'_>,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<Box<dyn ResultStream>, Error> {
    let (stream, _connection) = open_part(connection, whose, ticket, request, options, keep)?;
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
    request: &PartRequest<'_>,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<OpenedPart, Error> {
    let opened = match (ticket, connection.spooling(), connection.partitioning()) {
        (PartTicket::Snapshot(part), _, PartSupport::Parts(source)) => {
            let query = match request {
                PartRequest::Whole => &part.query,
                PartRequest::Query(query) => *query,
                PartRequest::Selection(_) => return Err(unsuited()),
            };
            joined(connection, source, whose, part, query, options, keep)
                .and_then(|reader| Ok((reader.query(query.into(), options, keep)?, reader)))
        }
        (PartTicket::Spool(part), Some(source), _) => {
            let selection = match request {
                PartRequest::Whole => SpoolSelection::default(),
                PartRequest::Selection(selection) => selection.clone(),
                PartRequest::Query(_) => return Err(unsuited()),
            };
            let reader = match whose {
                PartConnection::Another => source.another(keep),
                PartConnection::Own => Ok(connection.clone()),
            };
            reader.and_then(|reader| {
                let source = reader.spooling().ok_or_else(elsewhere)?;
                Ok((spool::read(source, part, &selection, options, keep)?, reader))
            })
        }
        _ => Err(elsewhere()),
    };
    opened.map_err(|error| error.with_origin(connection.name()))
}

fn joined(
    connection: &Arc<dyn Connection>,
    source: &dyn Partitioning,
    whose: PartConnection,
    part: &SnapshotPart,
    query: &str,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
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

/// The error of a request for the other kind of part.
fn unsuited() -> Error {
    Error::new(
        ErrorKind::Usage,
        "a query is for the part of a snapshot, and a selection is for a part of a spooled result",
    )
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

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        self.stream.next(keep)
    }

    fn stats(&self) -> Stats {
        self.stream.stats()
    }
}
