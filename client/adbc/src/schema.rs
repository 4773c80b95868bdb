//! What queries, tables and parameters look like, without running anything.

use std::sync::{Arc, Mutex, PoisonError};

use adbc_core::error::{Result, Status};
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use colonnade_client::{self as client, Connection, Dialect, ErrorKind, Parameters, QueryOptions};
use colonnade_sql::quote;
use colonnade_sql::split::trimmed;

use crate::error::{converted, not_implemented, refused};
use crate::options::ReadOptions;
use crate::session::Session;
use crate::types;

/// The columns of a query that is read with these options; none if it gives no rows.
///
/// # Errors
/// Those of the source; a statement that is no query, where the source cannot describe it.
pub(crate) fn of_query(session: &Session, sql: &str, options: &QueryOptions) -> Result<Schema> {
    session.begin_execution()?;
    of_source(session.source(), sql, options)
}

/// The same over a connection that is at rest.
///
/// # Errors
/// As for [`of_query`].
pub(crate) fn of_source(source: &dyn Connection, sql: &str, options: &QueryOptions) -> Result<Schema> {
    let described = source.describe(sql, &[], options, &mut || true);
    let schema = match described.map_err(|error| converted(&error))? {
        Some(described) => described.schema,
        None if source.dialect() == Dialect::Sqlite => Some(refused_schema(source, sql, options)?),
        None => Some(limited(source, sql, options)?),
    };
    Ok(schema.map_or_else(Schema::empty, |schema| types::schema(&schema, source)))
}

/// The columns of a query that is refused once they are known. Nothing else has happened then in a database that is
/// only read.
fn refused_schema(source: &dyn Connection, sql: &str, options: &QueryOptions) -> Result<SchemaRef> {
    let found = Arc::new(Mutex::new(None));
    let note = found.clone();
    let check = move |schema: &SchemaRef| {
        *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(schema.clone());
        Err(client::Error::new(ErrorKind::Interrupted, "only the columns are wanted"))
    };
    let done = source.query_checked(sql.into(), options, Box::new(check), &mut || true);
    let schema = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (schema, done) {
        (Some(schema), _) => Ok(schema),
        (None, Err(error)) => Err(converted(&error)),
        (None, Ok(_)) => Err(refused(Status::Internal, "the source has not shown the columns")),
    }
}

/// The columns of a query, by running it for no rows. What changes something is no subquery, and so an error.
fn limited(source: &dyn Connection, sql: &str, options: &QueryOptions) -> Result<SchemaRef> {
    let query = trimmed(sql, source.dialect());
    // The line break ends a comment in the query's last line.
    let none = format!("SELECT * FROM (\n{query}\n) AS query LIMIT 0");
    let read = || {
        let mut rows = source.query((&none).into(), options, &mut || true)?;
        while rows.next(&mut || true)?.is_some() {}
        Ok(rows.schema().clone())
    };
    read().map_err(|error| converted(&error))
}

/// The columns of a table. A name that is empty counts as none.
///
/// # Errors
/// There is no such table, or the database has no schemas within catalogs.
pub(crate) fn of_table(
    session: &Session,
    catalog: Option<&str>,
    db_schema: Option<&str>,
    table: &str,
) -> Result<Schema> {
    let dialect = session.dialect();
    let (catalog, db_schema) = (catalog.filter(|name| !name.is_empty()), db_schema.filter(|name| !name.is_empty()));
    match (dialect, catalog, db_schema) {
        (Dialect::MySql { .. }, _, Some(_)) => {
            let message = "MySQL has no schemas within its databases: give the database as the catalog";
            return Err(refused(Status::InvalidArguments, message));
        }
        (Dialect::Postgres { .. }, Some(_), None) => {
            return Err(refused(Status::InvalidArguments, "a table's catalog needs its schema beside it"));
        }
        _ => {}
    }
    let names = [catalog, db_schema, Some(table)].into_iter().flatten();
    let name = names.map(|name| quote::identifier(name, dialect)).collect::<Vec<_>>().join(".");
    of_query(session, &format!("SELECT * FROM {name}"), &ReadOptions::default().query)
}

/// Arrow's types of PostgreSQL's types that have one for all values, by number: `pg_type.dat`.
fn parameter_type(type_oid: u32) -> DataType {
    match type_oid {
        16 => DataType::Boolean,
        17 => DataType::Binary,
        20 => DataType::Int64,
        21 => DataType::Int16,
        23 => DataType::Int32,
        25 | 1042 | 1043 => DataType::Utf8,
        26 => DataType::UInt32,
        700 => DataType::Float32,
        701 => DataType::Float64,
        1082 => DataType::Date32,
        1083 => DataType::Time64(TimeUnit::Microsecond),
        1114 => DataType::Timestamp(TimeUnit::Microsecond, None),
        1184 => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        _ => DataType::Null,
    }
}

/// The parameters of a statement, by number and without names; null where Arrow's type depends on the value.
///
/// # Errors
/// The source does not say; otherwise those of the source.
pub(crate) fn of_parameters(session: &Session, sql: &str) -> Result<Schema> {
    session.begin_execution()?;
    let described = session
        .source()
        .describe(sql, &[], &QueryOptions::default(), &mut || true)
        .map_err(|error| converted(&error))?;
    let described = described.ok_or_else(|| {
        not_implemented("this database does not tell the types of parameters before it has their values: bind them")
    })?;
    let fields = described.parameters.into_iter().map(|oid| Field::new("", parameter_type(oid), true));
    Ok(Schema::new(fields.collect::<Vec<_>>()))
}

/// What a session's names without a qualifier refer to.
pub(crate) enum Current {
    Catalog,
    DbSchema,
}

/// # Errors
/// The database has no such thing, or none is chosen.
pub(crate) fn current(session: &Session, what: Current) -> Result<String> {
    let query = match (session.dialect(), what) {
        (Dialect::Postgres { .. } | Dialect::DuckDb, Current::Catalog) => "SELECT current_database()",
        (Dialect::Postgres { .. } | Dialect::DuckDb, Current::DbSchema) => "SELECT current_schema()",
        (Dialect::MySql { .. }, Current::Catalog) => "SELECT database()",
        _ => return Err(refused(Status::NotFound, "the database has no current one of these")),
    };
    let query = format!("{query} AS name");
    let batches = session.ask(&query, &Parameters::Positional(Vec::new()))?;
    let name = batches.first().and_then(|batch| {
        let names = batch.column(0).as_string_opt::<i32>()?;
        names.iter().next().flatten().map(str::to_owned)
    });
    name.ok_or_else(|| refused(Status::NotFound, "none is chosen"))
}
