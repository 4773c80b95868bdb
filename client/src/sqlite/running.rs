//! Runs the statements of a text, on the thread that has the database.

use std::sync::mpsc::SyncSender;

use arrow_schema::SchemaRef;

use super::library::Database;
use super::parameters;
use super::rows::StatementRows;
use crate::produced::{self, Pulled};
use crate::{Error, Parameters, QueryOptions};

/// What is known of a statement after its start.
pub(super) enum Started {
    Rows(SchemaRef),
    /// It has ended without rows.
    Done(Option<u64>),
}

/// Passes on a query's schema and then its batches. Returns the last event.
pub(super) fn deliver(
    database: &Database,
    (sql, parameters): (&str, Option<&Parameters>),
    options: &QueryOptions,
    rows_only: bool,
    begun: SyncSender<Started>,
    batches: &SyncSender<Pulled>,
) -> Pulled {
    if !rows_only && let Some(changed) = effect(database, sql, parameters)? {
        let _ = begun.send(Started::Done(changed));
        return Ok(None);
    }
    let mut rows = StatementRows::open(database, sql, parameters, options)?;
    let _ = begun.send(Started::Rows(rows.schema().clone()));
    produced::pump(batches, || rows.next())
}

/// Runs a statement if it returns no rows.
fn effect(database: &Database, sql: &str, parameters: Option<&Parameters>) -> Result<Option<Option<u64>>, Error> {
    let (statement, rest) = database.prepare(sql)?;
    if statement.is_some_and(|statement| statement.columns() > 0) {
        return Ok(None);
    }
    if database.prepare(rest)?.0.is_some() {
        return Err(Error::several_statements());
    }
    run(database, sql, parameters).map(Some)
}

/// Runs statements for their effect, and counts the rows that they changed, if any of them can write. Only one
/// statement may have values.
pub(super) fn run(database: &Database, sql: &str, parameters: Option<&Parameters>) -> Result<Option<u64>, Error> {
    let (mut rest, mut changed) = (sql, None);
    if parameters.is_some() {
        let (_, mut others) = database.prepare(sql)?;
        while !others.is_empty() {
            let (other, after) = database.prepare(others)?;
            if other.is_some() {
                return Err(Error::several_statements());
            }
            others = after;
        }
    }
    while !rest.is_empty() {
        let (statement, after) = parameters::prepare(database, rest, parameters.filter(|_| rest.len() == sql.len()))?;
        if let Some(mut statement) = statement {
            while statement.step()?.is_some() {}
            if !statement.only_reads() {
                changed = Some(changed.unwrap_or(0) + database.changes());
            }
        }
        rest = after;
    }
    Ok(changed)
}
