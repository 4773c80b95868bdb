//! The statements about the table: whether it exists, its creation, and its columns.

use colonnade_sql::{Dialect, quote};

use super::stored::TargetColumn;
use super::stored_type::StoredType;
use super::upsert::UpsertPlan;
use crate::sqlite::library::Database;
use crate::write::kind::ColumnMeaning;
use crate::write::{IfExists, WriteTarget, unsupported_column, unsupported_target};
use crate::{Error, ErrorKind};

const ADVICE: &str = "convert the data: dtype={…: …}; spec/TYPES.md lists what a column accepts";

/// The table that is ready for rows.
pub(super) struct ReadyTable {
    /// Quoted, with its schema.
    pub(super) name: String,
    /// In the order of the data.
    pub(super) columns: Vec<TargetColumn>,
    pub(super) upsert: Option<UpsertPlan>,
    /// Whether an insert may run statements of the table's owner.
    pub(super) has_triggers: bool,
}

/// Makes the table ready, and checks that its columns can hold the values exactly.
pub(super) fn prepare(
    database: &Database,
    target: &WriteTarget,
    columns: &[(String, ColumnMeaning)],
) -> Result<ReadyTable, Error> {
    if let Some(schema) = target.schema.as_deref().filter(|schema| *schema != "main") {
        let message = format!("an SQLite file has no schema {schema:?}: leave schema out, or name \"main\"");
        return Err(Error::new(ErrorKind::Database, message).with_sqlstate("3F000"));
    }
    if target.temporary {
        let what = "a temporary table of SQLite ends with the connection that writes it, so nobody could read it";
        return Err(unsupported_target(what, "write into a file of its own, such as sqlite:///new.db, and delete it"));
    }
    let name = format!("main.{}", quoted(&target.table));
    match (target.if_exists, exists(database, &target.table)?) {
        (IfExists::Fail, true) => {
            let message = format!("the table {} exists", quoted(&target.table));
            let hint = "if_exists=\"append\" adds to it, \"truncate\" empties it before, \"replace\" makes a new one";
            return Err(Error::new(ErrorKind::Database, message).with_sqlstate("42P07").with_hint(hint));
        }
        (IfExists::Append | IfExists::Truncate, false) => {
            let message = format!("the table {} does not exist", quoted(&target.table));
            let hint = "if_exists=\"create_append\" creates it";
            return Err(Error::new(ErrorKind::Database, message).with_sqlstate("42P01").with_hint(hint));
        }
        (IfExists::Replace, true) => {
            database.run(&format!("DROP TABLE {name}"))?;
            create(database, &name, columns, &target.key)?;
        }
        (IfExists::Fail | IfExists::CreateAppend | IfExists::Replace | IfExists::Upsert, false) => {
            create(database, &name, columns, &target.key)?
        }
        (IfExists::Truncate, true) => database.run(&format!("DELETE FROM {name}"))?,
        (IfExists::Append | IfExists::CreateAppend | IfExists::Upsert, true) => {}
    }
    let found = declared(database, &target.table)?;
    let columns = columns.iter().map(|(column, meaning)| accepted(&found, column, meaning));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let upsert = match target.if_exists {
        IfExists::Upsert => Some(UpsertPlan::of(database, &target.table, &target.key, &columns)?),
        _ => None,
    };
    Ok(ReadyTable { name, columns, upsert, has_triggers: has_triggers(database, &target.table)? })
}

/// The statement that inserts so many rows. A constraint that would drop or replace rows is an error instead.
pub(super) fn insert(table: &ReadyTable, rows: usize) -> String {
    let names: Vec<_> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let places = vec![format!("({})", vec!["?"; names.len()].join(", ")); rows].join(", ");
    let clause = table.upsert.as_ref().map_or_else(String::new, UpsertPlan::clause);
    format!("INSERT OR ABORT INTO {} ({}) VALUES {places}{clause}", table.name, names.join(", "))
}

/// Whether there is a table or a view. SQLite's names differ in more than the case of ASCII letters.
///
/// # Errors
/// There is one with another case.
fn exists(database: &Database, table: &str) -> Result<bool, Error> {
    let sql = format!(
        "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name = {} COLLATE NOCASE",
        quote::string(table, Dialect::Sqlite)
    );
    match database.texts(&sql)?.first().and_then(|row| row.first()) {
        None => Ok(false),
        Some(found) if found == table => Ok(true),
        Some(found) => {
            let message = format!("the table is called {}, not {}", quoted(found), quoted(table));
            Err(Error::new(ErrorKind::Database, message)
                .with_sqlstate("42P07")
                .with_hint("SQLite takes both for one name: write it as the table has it"))
        }
    }
}

fn has_triggers(database: &Database, table: &str) -> Result<bool, Error> {
    let table = quote::string(table, Dialect::Sqlite);
    let sql = format!(
        "SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = {table} COLLATE NOCASE LIMIT 1"
    );
    Ok(!database.texts(&sql)?.is_empty())
}

fn create(database: &Database, name: &str, columns: &[(String, ColumnMeaning)], key: &[String]) -> Result<(), Error> {
    let columns = columns.iter().map(|(column, meaning)| {
        let declaration = StoredType::created(meaning).ok_or_else(|| {
            let what = "SQLite has no type that would hold these values exactly";
            unsupported_column(column, what, meaning.way_out())
        })?;
        // SQLite allows NULL in most primary keys.
        let not_null = if key.contains(column) { " NOT NULL" } else { "" };
        Ok(format!("{} {declaration}{not_null}", quoted(column)))
    });
    let mut columns = columns.collect::<Result<Vec<_>, Error>>()?;
    if !key.is_empty() {
        let key: Vec<_> = key.iter().map(|name| quoted(name)).collect();
        columns.push(format!("PRIMARY KEY ({})", key.join(", ")));
    }
    database.run(&format!("CREATE TABLE {name} ({})", columns.join(", ")))
}

/// The name, the declared type, and the place in the primary key of each column that can be written to.
fn declared(database: &Database, table: &str) -> Result<Vec<[String; 3]>, Error> {
    let table = quote::string(table, Dialect::Sqlite);
    let rows = database.texts(&format!("SELECT name, type, pk FROM pragma_table_info({table}, 'main')"))?;
    Ok(rows.into_iter().filter_map(|row| row.try_into().ok()).collect())
}

/// The column of this name.
///
/// # Errors
/// There is none, or it cannot hold the values exactly.
fn accepted(found: &[[String; 3]], name: &str, meaning: &ColumnMeaning) -> Result<TargetColumn, Error> {
    let Some([_, declaration, key]) = found.iter().find(|[column, ..]| column == name) else {
        let message = format!("the table has no column {name:?} that can be written to");
        return Err(Error::new(ErrorKind::Database, message)
            .with_sqlstate("42703")
            .with_hint("names are compared exactly, with their case"));
    };
    let keys = found.iter().filter(|[_, _, key]| key != "0").count();
    let numbers_nulls = key != "0" && keys == 1 && declaration.eq_ignore_ascii_case("INTEGER");
    let stored = StoredType::declared(declaration).filter(|stored| stored.accepts(meaning));
    let stored = stored.ok_or_else(|| {
        let what = format!("the table's column, declared {declaration:?}, cannot hold these values exactly");
        unsupported_column(name, &what, ADVICE)
    })?;
    Ok(TargetColumn { name: name.to_owned(), stored, numbers_nulls })
}

fn quoted(name: &str) -> String {
    quote::identifier(name, Dialect::Sqlite)
}
