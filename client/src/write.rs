//! Writes batches into a table: all rows, or none.
//!
//! [`Connection::writing`](crate::Connection::writing) returns a source's [`Writing`], if it has one:
//!
//! ```text
//!   ResultStream ──batches──> TableWriter ──rows of the database's form──> a thread: one transaction
//!                                └ begin: the table and its columns; finish: the count, then COMMIT
//! ```
//!
//! Dropping a writer rolls back. A queue of a few blocks limits the memory, and an interrupted writer cannot commit.
//! `docs/explanation/writing.md` describes the way of each source.
//!
//! The code for all sources is here: the types of columns ([`kind`]), their values ([`values`]), and the errors of
//! values ([`misfit`]). [`exact_array`] converts whole columns for databases that take rows as columns. `spec/TYPES.md`
//! says what each type becomes.

pub(crate) mod exact_array;
mod extension;
mod fitted;
pub(crate) mod kind;
pub(crate) mod misfit;
pub(crate) mod moment;
pub(crate) mod queue;
pub(crate) mod uuid;
pub(crate) mod values;

use std::collections::HashSet;
use std::str::FromStr;

use arrow_array::{Array as _, RecordBatch};
use arrow_schema::{Schema, SchemaRef};

use crate::{Connection, ContinueCheck, Error, ErrorKind, ResultStream};

pub use fitted::fitted;

/// The bytes, or the estimate of them, that go to the writing thread at once.
pub(crate) const BLOCK: usize = 256 << 10;
/// The blocks that wait for the writing thread.
pub(crate) const WAITING: usize = 2;

/// What happens if the table exists, and if it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// An existing table is an error. Otherwise it is created.
    Fail,
    /// The rows are added. A missing table is an error.
    Append,
    /// An existing table is dropped. A new one is created.
    Replace,
    /// The rows are added. A missing table is created.
    CreateAppend,
    /// The table's rows are deleted before. A missing table is an error.
    Truncate,
    /// A row whose key is in the table replaces that row's other columns; other rows are added. A missing table is
    /// created, with the key as its primary key.
    Upsert,
}

impl FromStr for IfExists {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "fail" => Self::Fail,
            "append" => Self::Append,
            "replace" => Self::Replace,
            "create_append" => Self::CreateAppend,
            "truncate" => Self::Truncate,
            "upsert" => Self::Upsert,
            _ => {
                let message = format!(
                    "if_exists must be one of fail, append, replace, create_append, truncate, upsert, not {name:?}"
                );
                return Err(Error::new(ErrorKind::Usage, message));
            }
        })
    }
}

/// Where the rows go. Names are exact: no folding, no pattern, no dots with a meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteTarget {
    /// The schema; without it, the one in which the database finds or creates the table.
    pub schema: Option<String>,
    /// The table.
    pub table: String,
    /// What happens if the table exists.
    pub if_exists: IfExists,
    /// The columns whose values identify a row; not empty for [`IfExists::Upsert`], and empty for all others.
    pub key: Vec<String>,
    /// Whether a new table is one that only this session sees and that ends with it.
    pub temporary: bool,
}

/// Implemented by the connections of a source that can be written to.
pub trait Writing: Send + Sync {
    /// Begins a transaction, makes the table ready, and checks that each column can be written.
    ///
    /// # Errors
    /// The database refuses, a column has no exact form in the table, or an interruption. Nothing has changed then.
    fn begin(
        &self,
        target: &WriteTarget,
        schema: &SchemaRef,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn TableWriter>, Error>;
}

/// A transaction that writes rows. Dropping it rolls back.
pub trait TableWriter: Send {
    /// Adds the rows of a batch, whose columns are those of `begin`. Nobody else sees them yet.
    ///
    /// # Errors
    /// A value has no exact form in its column (the error names column and row), the database refuses, or an
    /// interruption. The writer must be dropped then.
    fn write(&mut self, batch: &RecordBatch, keep: ContinueCheck<'_>) -> Result<(), Error>;

    /// Compares the database's count of the rows with ours, and commits. Returns the count.
    ///
    /// # Errors
    /// The counts differ, the database refuses, or an interruption. Nothing has changed then, except if the connection
    /// is lost during the commit; the error says so (SQLSTATE 08007).
    fn finish(self: Box<Self>, keep: ContinueCheck<'_>) -> Result<u64, Error>;
}

/// Writes all rows of a stream into a table, or nothing. Returns their number.
///
/// # Errors
/// The source cannot be written to, or an error of the stream or of the writer.
pub fn write(
    connection: &dyn Connection,
    rows: &mut dyn ResultStream,
    target: &WriteTarget,
    keep: ContinueCheck<'_>,
) -> Result<u64, Error> {
    let named = |error: Error| error.with_origin(connection.name());
    let writing = connection.writing().map_err(named)?;
    check_target(target, rows.schema()).map_err(named)?;
    let mut writer = writing.begin(target, &rows.schema().clone(), keep).map_err(named)?;
    let mut written = 0;
    while let Some(batch) = rows.next(keep)? {
        let batch = batch.decode()?;
        check_key_values(target, &batch, written).map_err(named)?;
        writer.write(&batch, keep).map_err(named)?;
        written += batch.num_rows() as u64;
    }
    writer.finish(keep).map_err(named)
}

/// Checks that data with these columns can be written, and that the target's key fits `if_exists` and the data.
///
/// # Errors
/// There are no columns or two of one name; a column has an extension type that no table has; a key is missing, is not
/// wanted, or has columns that the data has not.
pub fn check_target(target: &WriteTarget, schema: &Schema) -> Result<(), Error> {
    check(schema)?;
    check_key(target, schema)
}

fn check(schema: &Schema) -> Result<(), Error> {
    if schema.fields().is_empty() {
        return Err(Error::new(ErrorKind::Usage, "the data has no columns, so there is nothing to write"));
    }
    let mut names = HashSet::new();
    match schema.fields().iter().find(|field| !names.insert(field.name())) {
        Some(field) => {
            let message = format!("the data has two columns {:?}", field.name());
            Err(Error::new(ErrorKind::Usage, message).with_hint("rename one of them"))
        }
        None => schema.fields().iter().try_for_each(|field| extension::check(field)),
    }
}

/// # Errors
/// The key does not fit `if_exists`, or has columns that the data has not.
fn check_key(target: &WriteTarget, schema: &Schema) -> Result<(), Error> {
    let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
    match (target.if_exists == IfExists::Upsert, target.key.is_empty()) {
        (true, true) => return usage("if_exists \"upsert\" needs the key, such as key=[\"id\"]".to_owned()),
        (false, false) => return usage("a key is for if_exists \"upsert\" only".to_owned()),
        _ => {}
    }
    let mut names = HashSet::new();
    for name in &target.key {
        if schema.column_with_name(name).is_none() {
            return usage(format!("the data has no column {name:?}, which is in the key"));
        }
        if !names.insert(name) {
            return usage(format!("the key has the column {name:?} twice"));
        }
    }
    Ok(())
}

/// # Errors
/// A value of the key is NULL, which equals no other value, so that the row would be added again and again. `before`
/// rows came before this batch.
fn check_key_values(target: &WriteTarget, batch: &RecordBatch, before: u64) -> Result<(), Error> {
    for name in &target.key {
        let nulls = batch.column_by_name(name).and_then(|column| column.logical_nulls());
        let Some(row) = nulls.and_then(|nulls| nulls.iter().position(|is_valid| !is_valid)) else { continue };
        let message = format!("column {name:?}, row {}: NULL in the key", before + row as u64 + 1);
        let hint = "NULL identifies no row: leave such rows out, or give another key";
        return Err(Error::new(ErrorKind::Database, message).with_sqlstate("23502").with_hint(hint));
    }
    Ok(())
}

/// The error of what a source cannot do yet.
pub(crate) fn unsupported_target(what: &str, hint: &str) -> Error {
    Error::new(ErrorKind::Unsupported, what).with_sqlstate("0A000").with_hint(hint)
}

/// The error of a column whose type the table's column cannot hold exactly.
pub(crate) fn unsupported_column(name: &str, what: &str, hint: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("column {name:?}: {what}")).with_sqlstate("0A000").with_hint(hint)
}

/// The error of a key that two rows of the data have. The names are quoted.
pub(crate) fn repeated_key(names: &[String], values: &[String]) -> Error {
    /// The characters of a value that are shown.
    const SHOWN: usize = 100;
    let shown = values.iter().map(|value| match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.clone(),
    });
    let shown: Vec<_> = shown.collect();
    let message = format!("two rows of the data have the key ({}) = ({})", names.join(", "), shown.join(", "));
    Error::new(ErrorKind::Database, message)
        .with_sqlstate("21000")
        .with_hint("an upsert takes one row for each key: drop or aggregate the others before")
}

/// The error of a count that differs from ours.
pub(crate) fn other_count(ours: u64, stored: u64) -> Error {
    let message = format!("the database stored {stored} of {ours} rows, so the transaction was rolled back");
    Error::new(ErrorKind::Database, message).with_sqlstate("44000").with_hint(
        "a trigger or a rule of the table drops rows: disable it, or filter the rows before they are written",
    )
}
