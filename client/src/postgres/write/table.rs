//! The statements about the table: whether it exists, its creation, and its columns.

use colonnade_sql::{Dialect, quote};

use super::column_type::TableColumn;
use super::steps::WritePlan;
use super::transfer::Transfer;
use crate::shared_connection::AnswerError;
use crate::write::IfExists;
use crate::{Error, ErrorKind};

/// The session's own schema of temporary tables.
const TEMPORARY: &str = "pg_temp";

/// The table that gets the rows.
pub(super) struct TargetTable {
    /// Its name, quoted and with its schema.
    pub(super) name: String,
    /// Whether row-level security applies to this user. COPY FROM then refuses the table, and INSERT accepts it.
    pub(super) row_security: bool,
}

/// A table that exists.
struct FoundTable {
    target: TargetTable,
    /// The schema's name, quoted.
    schema: String,
}

/// Makes the table ready.
pub(super) fn prepare(transfer: &mut Transfer<'_>, plan: &WritePlan) -> Result<TargetTable, AnswerError> {
    let target = &plan.target;
    let refused =
        |message: &str, hint: &str| Err(AnswerError::Refused(Error::new(ErrorKind::Usage, message).with_hint(hint)));
    let named = match (&target.schema, target.temporary) {
        (Some(_), true) => return refused("a temporary table has no schema of its own", "leave schema out"),
        (Some(schema), false) => format!("{}.{}", quoted(schema), quoted(&target.table)),
        (None, true) => format!("{TEMPORARY}.{}", quoted(&target.table)),
        (None, false) => quoted(&target.table),
    };
    let adds = matches!(target.if_exists, IfExists::Append | IfExists::CreateAppend | IfExists::Upsert);
    let found = find(transfer, &named, adds)?;
    let missing = || {
        let message = format!("the table {named} does not exist");
        let hint = "names are exact, with their case; if_exists=\"create_append\" creates it";
        AnswerError::Refused(Error::new(ErrorKind::Database, message).with_sqlstate("42P01").with_hint(hint))
    };
    match (target.if_exists, found) {
        (IfExists::Fail, Some(found)) => {
            let message = format!("the table {} exists", found.target.name);
            let hint = "if_exists=\"append\" adds to it, \"truncate\" empties it before, \"replace\" makes a new one";
            Err(AnswerError::Refused(Error::new(ErrorKind::Database, message).with_sqlstate("42P07").with_hint(hint)))
        }
        (IfExists::Append | IfExists::Truncate, None) => Err(missing()),
        (IfExists::Replace, Some(found)) => {
            transfer.ask(&format!("DROP TABLE {}", found.target.name))?;
            create(transfer, plan, &found.schema)
        }
        (IfExists::Truncate, Some(found)) => {
            transfer.ask(&format!("TRUNCATE TABLE {}", found.target.name))?;
            Ok(found.target)
        }
        (IfExists::Append | IfExists::CreateAppend | IfExists::Upsert, Some(found)) => Ok(found.target),
        (IfExists::Fail | IfExists::CreateAppend | IfExists::Replace | IfExists::Upsert, None) => {
            let schema = match &target.schema {
                None if target.temporary => TEMPORARY.to_owned(),
                Some(schema) if schema.starts_with(TEMPORARY) => {
                    return refused(
                        "a table in pg_temp ends with the connection",
                        "say so: temporary=True, without schema",
                    );
                }
                Some(schema) => quoted(schema),
                None => current_schema(transfer)?,
            };
            create(transfer, plan, &schema)
        }
    }
}

/// COPY's statement, with its options.
pub(super) fn copy(table: &str, plan: &WritePlan, options: &str) -> String {
    let names: Vec<_> = plan.columns.iter().map(|(name, _)| quoted(name)).collect();
    format!("COPY {table} ({}) FROM STDIN ({options})", names.join(", "))
}

/// The columns of a table.
pub(super) fn columns(transfer: &mut Transfer<'_>, table: &str) -> Result<Vec<TableColumn>, AnswerError> {
    let sql = format!(
        "WITH RECURSIVE columns AS ( \
           SELECT attnum, attname, atttypid AS type, atttypmod AS typmod FROM pg_catalog.pg_attribute \
           WHERE attrelid = {}::pg_catalog.regclass AND attnum > 0 AND NOT attisdropped \
           UNION ALL \
           SELECT c.attnum, c.attname, t.typbasetype, CASE WHEN c.typmod = -1 THEN t.typtypmod ELSE c.typmod END \
           FROM columns c JOIN pg_catalog.pg_type t ON t.oid = c.type WHERE t.typtype = 'd') \
         SELECT c.attname, c.type, c.typmod, t.typtype, e.oid, pg_catalog.format_type(c.type, c.typmod), \
           coalesce(e.oid, t.oid) <> 'pg_catalog.text'::pg_catalog.regtype \
           AND r.prosrc = 'textrecv' AND i.prosrc = 'textin' AND i.prolang = r.prolang AND l.lanname = 'internal' \
         FROM columns c JOIN pg_catalog.pg_type t ON t.oid = c.type \
         LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typarray = t.oid \
         LEFT JOIN pg_catalog.pg_proc r ON r.oid = coalesce(e.typreceive, t.typreceive) \
         LEFT JOIN pg_catalog.pg_proc i ON i.oid = coalesce(e.typinput, t.typinput) \
         LEFT JOIN pg_catalog.pg_language l ON l.oid = r.prolang \
         WHERE t.typtype <> 'd' ORDER BY c.attnum",
        text(table)
    );
    let rows = transfer.ask(&sql)?;
    let number = |value: &Option<String>| value.as_deref().and_then(|value| value.parse::<i64>().ok());
    Ok(rows
        .into_iter()
        .map(|row| TableColumn {
            name: row.first().cloned().flatten().unwrap_or_default(),
            type_oid: row.get(1).and_then(number).and_then(|oid| u32::try_from(oid).ok()).unwrap_or_default(),
            typmod: row.get(2).and_then(number).and_then(|typmod| i32::try_from(typmod).ok()).unwrap_or(-1),
            is_enum: row.get(3).is_some_and(|kind| kind.as_deref() == Some("e")),
            element: row.get(4).and_then(number).and_then(|oid| u32::try_from(oid).ok()),
            is_received_as_text: row.get(6).is_some_and(|yes| yes.as_deref() == Some("t")),
            type_name: row.get(5).cloned().flatten().unwrap_or_default(),
        })
        .collect())
}

/// The table that a name means now. If rows are only added, it is locked against changes of its columns until the end.
/// Other modes take a stronger lock: two writers that both held this one could not get it.
fn find(transfer: &mut Transfer<'_>, named: &str, adds: bool) -> Result<Option<FoundTable>, AnswerError> {
    let sql = format!(
        "SELECT n.nspname, c.relname, c.relkind, pg_catalog.row_security_active(c.oid) FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = pg_catalog.to_regclass({})",
        text(named)
    );
    let rows = transfer.ask(&sql)?;
    // The recorded answers to older versions do not say whether row-level security is active.
    let Some([Some(schema), Some(table), Some(kind), active @ ..]) = rows.first().map(Vec::as_slice) else {
        return Ok(None);
    };
    let schema = quoted(schema);
    let name = format!("{schema}.{}", quoted(table));
    if adds && matches!(kind.as_str(), "r" | "p") {
        // LOCK TABLE needs a right on the whole table. This takes the same lock, and the right to insert into one
        // column is enough, as for COPY. Nothing runs.
        transfer.ask(&format!("EXPLAIN INSERT INTO {name} DEFAULT VALUES"))?;
    }
    let target = TargetTable { name, row_security: active.first().and_then(Option::as_deref) == Some("t") };
    Ok(Some(FoundTable { target, schema }))
}

/// The schema of a new table without one.
fn current_schema(transfer: &mut Transfer<'_>) -> Result<String, AnswerError> {
    let rows = transfer.ask("SELECT pg_catalog.current_schema()")?;
    match rows.into_iter().flatten().next().flatten() {
        Some(schema) => Ok(quoted(&schema)),
        None => Err(AnswerError::Refused(
            Error::new(ErrorKind::Database, "the search path names no schema in which a table could be created")
                .with_sqlstate("3F000")
                .with_hint("name one: schema=\"public\""),
        )),
    }
}

fn create(transfer: &mut Transfer<'_>, plan: &WritePlan, schema: &str) -> Result<TargetTable, AnswerError> {
    if plan.target.table.len() > 63 {
        let message = format!("the table's name has {} bytes, and PostgreSQL keeps 63", plan.target.table.len());
        return Err(AnswerError::Refused(Error::new(ErrorKind::Database, message).with_sqlstate("42622")));
    }
    let table = format!("{schema}.{}", quoted(&plan.target.table));
    let mut columns: Vec<_> = plan.columns.iter().map(|(name, kind)| format!("{} {kind}", quoted(name))).collect();
    if !plan.target.key.is_empty() {
        let key: Vec<_> = plan.target.key.iter().map(|name| quoted(name)).collect();
        columns.push(format!("PRIMARY KEY ({})", key.join(", ")));
    }
    transfer.ask(&format!("CREATE TABLE {table} ({})", columns.join(", ")))?;
    Ok(TargetTable { name: table, row_security: false })
}

pub(super) fn quoted(name: &str) -> String {
    quote::identifier(name, Dialect::POSTGRES)
}

/// A literal that both settings of `standard_conforming_strings` read alike.
pub(super) fn text(value: &str) -> String {
    quote::string(value, Dialect::POSTGRES)
}
