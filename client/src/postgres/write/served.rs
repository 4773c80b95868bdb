//! The statements about a table of `colonnade serve`: whether it exists, its creation, and its columns. Names are
//! DuckDB's: they keep their case, and names that differ in case alone are the same.

mod column_type;
mod upsert;

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use colonnade_sql::{Dialect, quote};

use self::upsert::{UpsertStage, merge_repeatedly};
use super::column_target::{ColumnTarget, StreamColumns};
use super::columnar::ColumnarPayload;
use super::steps::{Progress, Steps};
use super::transfer::{Transfer, in_transaction};
use crate::postgres::request;
use crate::postgres::server_connection::ServerConnection;
use crate::shared_connection::{AnswerError, AnswerOutcome, Tick};
use crate::write::exact_array::ArrayTarget;
use crate::write::{IfExists, WriteTarget};
use crate::{Error, ErrorKind};

/// What the writer knows before the table is.
pub(super) struct ServedPlan {
    pub(super) target: WriteTarget,
    /// The data's columns.
    pub(super) schema: SchemaRef,
}

/// Writes within a transaction, or within the user's. The rows of an upsert have a transaction of their own, in which
/// other sessions cannot disturb them, before they come into a table that is there.
pub(super) fn run(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    plan: &ServedPlan,
    steps: &Steps<'_>,
    tell: &mut dyn FnMut(Progress),
) -> AnswerOutcome {
    let (is_alone, mut waiting) = (connection.is_idle(), None);
    let written = in_transaction(connection, &mut *tick, steps.abandoned, |transfer| {
        let (rows, stage) = copy(transfer, plan, steps, tell)?;
        match stage {
            Some(stage) if is_alone && stage.may_wait() => waiting = Some(stage),
            Some(stage) => stage.merge(transfer, rows)?,
            None => {}
        }
        Ok(rows)
    })?;
    match (written, waiting) {
        (Ok(Some(rows)), Some(stage)) => merge_repeatedly(connection, tick, &stage, rows, steps.abandoned),
        (written, _) => Ok(written),
    }
}

/// Makes the table ready, and copies the rows into it, or into the temporary table of an upsert. Returns their number.
fn copy<'a>(
    transfer: &mut Transfer<'_>,
    plan: &'a ServedPlan,
    steps: &Steps<'_>,
    tell: &mut dyn FnMut(Progress),
) -> Result<(u64, Option<UpsertStage<'a>>), AnswerError> {
    let table = prepare(transfer, plan)?;
    let columns = columns(transfer, &table.name, plan)?;
    let payload = &mut ColumnarPayload::new(columns.schema.clone());
    let (into, stage) = match plan.target.if_exists {
        IfExists::Upsert => {
            let stage = UpsertStage::begin(transfer, table, plan)?;
            (stage.name().to_owned(), Some(stage))
        }
        _ => (table.name, None),
    };
    tell(Progress::Served(columns));
    let statement = format!("COPY {into} ({}) FROM STDIN ({})", names(plan), request::STREAM);
    Ok((transfer.copy(&statement, steps, payload, tell)?, stage))
}

fn names(plan: &ServedPlan) -> String {
    let names: Vec<_> = plan.schema.fields().iter().map(|field| quoted(field.name())).collect();
    names.join(", ")
}

/// Makes the table ready.
fn prepare(transfer: &mut Transfer<'_>, plan: &ServedPlan) -> Result<FoundTable, AnswerError> {
    let target = &plan.target;
    if target.temporary && target.schema.is_some() {
        let error = Error::new(ErrorKind::Usage, "a temporary table has no schema of its own");
        return Err(AnswerError::Refused(error.with_hint("leave schema out")));
    }
    let found = find(transfer, target)?;
    let refused = |message: String, sqlstate: &str, hint: &str| {
        let error = Error::new(ErrorKind::Database, message).with_sqlstate(sqlstate);
        Err(AnswerError::Refused(error.with_hint(hint)))
    };
    match (target.if_exists, found) {
        (IfExists::Fail, Some(found)) => {
            let hint = "if_exists=\"append\" adds to it, \"truncate\" empties it before, \"replace\" makes a new one";
            refused(format!("the table {} exists", found.name), "42P07", hint)
        }
        (IfExists::Append | IfExists::Truncate, None) => {
            let hint = "names are exact; if_exists=\"create_append\" creates it";
            refused(format!("the table {} does not exist", named(target)), "42P01", hint)
        }
        (IfExists::Replace, Some(found)) => {
            let columns = new_columns(plan)?;
            transfer.ask(&format!("DROP TABLE {}", found.name))?;
            create(transfer, target, found.schema.as_deref(), &columns)
        }
        (IfExists::Truncate, Some(found)) => {
            transfer.ask(&format!("TRUNCATE TABLE {}", found.name))?;
            Ok(found)
        }
        (_, Some(found)) => Ok(found),
        (_, None) => create(transfer, target, target.schema.as_deref(), &new_columns(plan)?),
    }
}

struct FoundTable {
    /// Its name in statements.
    name: String,
    /// Its schema; `None` if it is temporary.
    schema: Option<String>,
    /// Whether this write has created it.
    is_new: bool,
}

/// The table that the name means now: a temporary one first, as in the server's own search.
fn find(transfer: &mut Transfer<'_>, target: &WriteTarget) -> Result<Option<FoundTable>, AnswerError> {
    let path = "pg_catalog.current_schemas(false)";
    let place = match &target.schema {
        _ if target.temporary => "c.relpersistence = 't'".to_owned(),
        Some(schema) => format!("c.relpersistence <> 't' AND n.nspname = {}", text(schema)),
        None => format!("(c.relpersistence = 't' OR system.main.list_contains({path}, n.nspname))"),
    };
    let sql = format!(
        "SELECT c.relname, n.nspname, c.relpersistence FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE system.main.lower(c.relname) = system.main.lower({}) AND c.relkind IN ('r', 'v') AND {place} \
         ORDER BY c.relpersistence <> 't', system.main.list_position({path}, n.nspname) LIMIT 1",
        text(&target.table)
    );
    let rows = transfer.ask(&sql)?;
    let Some([Some(table), Some(schema), Some(persistence)]) = rows.first().map(Vec::as_slice) else { return Ok(None) };
    if *table != target.table {
        let message = format!("the table is called {}, not {}", quoted(table), quoted(&target.table));
        let error = Error::new(ErrorKind::Database, message).with_sqlstate("42P07");
        return Err(AnswerError::Refused(
            error.with_hint("the server takes both for one name: write it as the table has it"),
        ));
    }
    Ok(Some(if persistence == "t" {
        FoundTable { name: quoted(table), schema: None, is_new: false }
    } else {
        let name = format!("{}.{}", quoted(schema), quoted(table));
        FoundTable { name, schema: Some(schema.clone()), is_new: false }
    }))
}

/// A query without rows that has the columns of a new table.
fn new_columns(plan: &ServedPlan) -> Result<String, AnswerError> {
    let columns = plan.schema.fields().iter().map(|field| {
        let type_name = column_type::created(field).map_err(AnswerError::Refused)?;
        Ok(format!("CAST(NULL AS {type_name}) AS {}", quoted(field.name())))
    });
    Ok(format!("SELECT {} LIMIT 0", columns.collect::<Result<Vec<_>, AnswerError>>()?.join(", ")))
}

fn create(
    transfer: &mut Transfer<'_>,
    target: &WriteTarget,
    schema: Option<&str>,
    columns: &str,
) -> Result<FoundTable, AnswerError> {
    let table = match schema {
        Some(schema) => format!("{}.{}", quoted(schema), quoted(&target.table)),
        None => quoted(&target.table),
    };
    let kind = if target.temporary { "TEMP TABLE" } else { "TABLE" };
    // The server takes a name before a parenthesis for a function, and refuses some of them.
    transfer.ask(&format!("CREATE {kind} {table} AS {columns}"))?;
    if !target.key.is_empty() {
        let key: Vec<_> = target.key.iter().map(|name| quoted(name)).collect();
        transfer.ask(&format!("ALTER TABLE {table} ADD PRIMARY KEY ({})", key.join(", ")))?;
    }
    let created = match schema {
        Some(schema) => FoundTable { name: table, schema: Some(schema.to_owned()), is_new: true },
        // Without a schema, the server has chosen one.
        None => find(transfer, target)?.ok_or_else(|| {
            AnswerError::Lost(Error::new(ErrorKind::Protocol, "the server does not list a table that it has created"))
        })?,
    };
    Ok(FoundTable { is_new: true, ..created })
}

/// The columns of the table that the data names.
fn columns(transfer: &mut Transfer<'_>, table: &str, plan: &ServedPlan) -> Result<StreamColumns, AnswerError> {
    let described = transfer.ask(&format!("DESCRIBE {table}"))?;
    let type_of = |name: &String| {
        let row = described.iter().find(|row| row.first().and_then(Option::as_ref) == Some(name));
        row.and_then(|row| row.get(1).cloned().flatten()).ok_or_else(|| {
            let message = format!("the table has no column {name:?}");
            let error = Error::new(ErrorKind::Database, message).with_sqlstate("42703");
            AnswerError::Refused(error.with_hint("names are compared exactly, with their case"))
        })
    };
    let types = plan.schema.fields().iter().map(|field| type_of(field.name())).collect::<Result<Vec<_>, _>>()?;
    let query = format!("SELECT {} FROM {table} LIMIT 0", names(plan));
    let schema = transfer.schema(&format!("COPY ({query}) TO STDOUT ({})", request::STREAM))?;
    if schema.fields().len() != plan.schema.fields().len() {
        let error = Error::new(ErrorKind::Protocol, "the server has sent other columns than it was asked for");
        return Err(AnswerError::Lost(error));
    }
    let targets = schema.fields().iter().zip(types);
    let targets = targets.map(|(field, type_name)| ArrayTarget { field: field.clone(), type_name });
    let targets = targets.map(ColumnTarget::served).collect();
    let fields = schema.fields().iter().zip(plan.schema.fields());
    let fields = fields.map(|(field, given)| Field::clone(field).with_name(given.name()).with_nullable(true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    Ok(StreamColumns { schema, targets })
}

fn named(target: &WriteTarget) -> String {
    match &target.schema {
        Some(schema) => format!("{}.{}", quoted(schema), quoted(&target.table)),
        None => quoted(&target.table),
    }
}

fn quoted(name: &str) -> String {
    quote::identifier(name, Dialect::DuckDb)
}

fn text(value: &str) -> String {
    quote::string(value, Dialect::DuckDb)
}
