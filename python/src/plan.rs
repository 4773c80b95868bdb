//! Parts of results for other processes.

use client::partition::{self, PartConnection, PartPlan, PartSize, PartTicket, PartitionSplit};
use client::{Error, ErrorKind, Keep};
use colonnade_client as client;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::connection::{Connection, query_options};
use crate::error::to_py;
use crate::params;
use crate::signals::wait;
use crate::stream::Stream;

/// A query, and the columns that it has.
type Pushed = (String, Vec<String>);

/// The query of a part, which runs in the planner's snapshot; None if the server has spooled the part's rows.
#[pyfunction]
pub(crate) fn ticket_query(py: Python<'_>, ticket: &[u8]) -> PyResult<Option<String>> {
    Ok(match decoded(py, ticket)? {
        PartTicket::Snapshot(part) => Some(part.query),
        PartTicket::Spool(_) => None,
    })
}

/// Makes a plan for a query, and holds it open: the connection that holds it, one by which this process reads, the
/// result without rows, and of each part the ticket, the rows and the bytes. With `own`, the connection becomes the
/// one that holds it.
#[pyfunction]
#[pyo3(signature = (connection, sql, params, key, count, range, spool, *, own, **options))]
#[allow(clippy::too_many_arguments, reason = "they are the arguments of plan")]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    connection: &Connection,
    sql: &str,
    params: Option<&Bound<'py, PyAny>>,
    key: Option<String>,
    count: usize,
    range: Option<(String, String)>,
    spool: Option<bool>,
    own: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let inner = connection.inner(py)?;
    let sql = params::bound(sql, params, inner.dialect())?;
    let options = query_options(options)?;
    let split = PartitionSplit { key, count, range, consistent: true, repeatable: true };
    let make = |keep: Keep<'_>| {
        let plan = partition::plan(&inner, whose(own), &sql, &split, spool, &options, keep)?;
        let empty = plan.empty(&options, keep)?;
        Ok((plan, empty))
    };
    let (plan, empty) = wait(py, make)?;
    let PartPlan { holder, parts, is_exact } = plan;
    let is_spooled = parts.iter().any(|part| matches!(part.ticket, PartTicket::Spool(_)));
    let planned = PyDict::new(py);
    planned.set_item("address", holder.address().unwrap_or_default())?;
    planned.set_item("kind", if is_spooled { "spool" } else { "snapshot" })?;
    planned.set_item("exact", is_exact)?;
    planned.set_item("empty", Stream::new(py, empty, holder.name(), holder.server())?)?;
    planned.set_item("reader", Connection::new(holder.clone()))?;
    planned.set_item("holder", Connection::new(holder))?;
    let sized = |size: Option<PartSize>| size.map_or((None, None), |size| (Some(size.rows), Some(size.bytes)));
    let parts = parts.into_iter().map(|part| {
        let (rows, bytes) = sized(part.size);
        (PyBytes::new(py, &part.ticket.encode()), rows, bytes)
    });
    planned.set_item("parts", parts.collect::<Vec<_>>())?;
    Ok(planned)
}

/// Begins to read a part. `pushed` is a query over a snapshot part's own, and its columns. With `own`, the connection
/// is used up; otherwise another one like it is opened, also if it is closed.
#[pyfunction]
#[pyo3(signature = (connection, ticket, pushed, *, own, **options))]
pub(crate) fn read_part(
    py: Python<'_>,
    connection: &Connection,
    ticket: &[u8],
    pushed: Option<Pushed>,
    own: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Stream> {
    let inner = connection.inner(py)?;
    let ticket = decoded(py, ticket)?;
    let mut options = ticket.options(&query_options(options)?);
    if let Some((_, columns)) = &pushed {
        options.as_text.retain(|name| columns.contains(name));
    }
    let query = pushed.as_ref().map(|(query, _)| query.as_str());
    let stream = wait(py, |keep| partition::read_part(&inner, whose(own), &ticket, query, &options, keep))?;
    Stream::new(py, stream, inner.name(), inner.server())
}

fn whose(own: bool) -> PartConnection {
    if own { PartConnection::Own } else { PartConnection::Another }
}

fn decoded(py: Python<'_>, ticket: &[u8]) -> PyResult<PartTicket> {
    PartTicket::decode(ticket).ok_or_else(|| {
        let error =
            Error::new(ErrorKind::Usage, "the ticket of the part is damaged, or of another version of this package");
        to_py(py, &error.with_hint("make the plan again, with the same version on both sides"))
    })
}
