//! Parts of results for other processes.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use client::partition::{
    self, PartConnection, PartPlan, PartRequest, PartTicket, PartitionSplit, PlannedPart, SpoolSelection,
};
use client::{Batch, ContinueCheck, Error, ErrorKind, ResultStream, Stats};
use colonnade_client as client;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::connection::Connection;
use crate::error::to_py;
use crate::of_process::OfProcess;
use crate::options::query_options;
use crate::params;
use crate::signals::wait;
use crate::stream::Stream;

/// What the database does of a reading.
#[derive(FromPyObject)]
pub(crate) enum Pushed {
    /// Of a snapshot's part: a query over its own, and the columns that it has.
    Query(String, Vec<String>),
    /// Of a spooled part: the numbers of the columns, from 0, and the largest number of rows.
    Selection(Option<Vec<usize>>, Option<u64>),
}

/// The query of a part, which runs in the planner's snapshot; None if the server has spooled the part's rows.
#[pyfunction]
pub(crate) fn ticket_query(py: Python<'_>, ticket: &[u8]) -> PyResult<Option<String>> {
    Ok(match decoded(py, ticket)? {
        PartTicket::Snapshot(part) => Some(part.query),
        PartTicket::Spool(_) => None,
    })
}

/// Makes a plan for a query. With `own`, the connection belongs to the plan from now on. `spool` says whether the
/// server is to keep the rows; None is its usual way.
#[pyfunction]
#[pyo3(signature = (connection, sql, params, key, count, range, spool, *, own, **options))]
#[allow(clippy::too_many_arguments, reason = "they are the arguments of plan")]
pub(crate) fn plan(
    py: Python<'_>,
    connection: &Connection,
    sql: &str,
    params: Option<&Bound<'_, PyAny>>,
    key: Option<String>,
    count: usize,
    range: Option<(String, String)>,
    spool: Option<bool>,
    own: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<HeldPlan> {
    let inner = connection.inner(py)?;
    let sql = params::bound(sql, params, inner.dialect())?;
    let options = query_options(options)?;
    let split = PartitionSplit { key, count, range, consistent: true, repeatable: true };
    let plan = wait(py, |keep| partition::plan(&inner, whose(own), &sql, &split, spool, &options, keep))?;
    Ok(HeldPlan(OfProcess::new(plan)))
}

/// A plan, which is open as long as this object or until it is closed. A forked process can read its parts, and does
/// not end it.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct HeldPlan(OfProcess<PartPlan>);

#[pymethods]
impl HeldPlan {
    /// The URI of the source, without its password.
    #[getter]
    fn name(&self) -> &str {
        self.0.constant().connection().name()
    }

    /// A connection string for the same server, user and options, without a password.
    #[getter]
    fn address(&self) -> &str {
        self.0.constant().connection().address().unwrap_or_default()
    }

    /// Whether the server keeps the rows. Then the sizes of the parts are exact; otherwise they are estimates.
    #[getter]
    fn is_spooled(&self) -> bool {
        self.0.constant().is_spooled()
    }

    #[getter]
    fn is_open(&self) -> bool {
        self.0.get().is_some_and(|plan| plan.connection().is_open())
    }

    /// Of each part the ticket, the rows and the bytes.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Option<u64>, Option<u64>)> {
        let part = |part: &PlannedPart| {
            let (rows, bytes) = part.size.map_or((None, None), |size| (Some(size.rows), Some(size.bytes)));
            (PyBytes::new(py, &part.ticket.encode()), rows, bytes)
        };
        self.0.constant().parts().iter().map(part).collect()
    }

    /// A stream with the columns of the result and without rows.
    fn empty(&self, py: Python<'_>) -> PyResult<Stream> {
        let stream = Box::new(Empty(self.0.constant().schema().clone()));
        Stream::new(py, stream, self.name(), self.0.constant().connection().server())
    }

    /// Begins to read a part over another connection like the plan's, also after the plan is closed. `pushed` is as for
    /// `read_part`.
    #[pyo3(signature = (ticket, pushed, **options))]
    fn read_part(
        &self,
        py: Python<'_>,
        ticket: &[u8],
        pushed: Option<Pushed>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stream> {
        read(py, self.0.constant().connection(), PartConnection::Another, ticket, pushed, options)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.get().map_or(Ok(()), |plan| wait(py, |keep| plan.close(keep)))
    }
}

/// Begins to read a part over a connection, which is used up. `pushed` is what the database does of the reading: for a
/// snapshot's part a query over its own and its columns, for a spooled part the numbers of columns and the largest
/// number of rows.
#[pyfunction]
#[pyo3(signature = (connection, ticket, pushed, **options))]
pub(crate) fn read_part(
    py: Python<'_>,
    connection: &Connection,
    ticket: &[u8],
    pushed: Option<Pushed>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Stream> {
    read(py, &connection.inner(py)?, PartConnection::Own, ticket, pushed, options)
}

fn read(
    py: Python<'_>,
    connection: &Arc<dyn client::Connection>,
    whose: PartConnection,
    ticket: &[u8],
    pushed: Option<Pushed>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Stream> {
    let ticket = decoded(py, ticket)?;
    let mut options = ticket.options(&query_options(options)?);
    let request = match &pushed {
        None => PartRequest::Whole,
        Some(Pushed::Query(query, columns)) => {
            options.as_text.retain(|name| columns.contains(name));
            PartRequest::Query(query)
        }
        Some(Pushed::Selection(columns, limit)) => {
            PartRequest::Selection(SpoolSelection { columns: columns.clone(), limit: *limit })
        }
    };
    let stream = wait(py, |keep| partition::read_part(connection, whose, &ticket, &request, &options, keep))?;
    Stream::new(py, stream, connection.name(), connection.server())
}

/// A result without rows.
struct Empty(SchemaRef);

impl ResultStream for Empty {
    fn schema(&self) -> &SchemaRef {
        &self.0
    }

    fn next(&mut self, _: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        Ok(None)
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}

fn whose(own: bool) -> PartConnection {
    if own { PartConnection::Own } else { PartConnection::Another }
}

fn decoded(py: Python<'_>, ticket: &[u8]) -> PyResult<PartTicket> {
    PartTicket::decode(ticket).ok_or_else(|| {
        let error =
            Error::new(ErrorKind::Usage, "the part's ticket is damaged or was made by another version of colonnade");
        to_py(py, &error.with_hint("make the plan again, with the same version on both sides"))
    })
}
