//! Where the rows go, so that all of them arrive or none.
//! <https://dev.mysql.com/doc/refman/8.4/en/implicit-commit.html>
//!
//! Rows for an existing table are part of a transaction. CREATE TABLE and DROP TABLE commit by themselves. So rows for
//! a new table go into a table with a random name next to it, which RENAME TABLE, one atomic statement, makes the
//! table. Statements about temporary tables do not commit, except ALTER TABLE.

use super::column_type;
use super::merge::Merge;
use super::row_encoder::WrittenColumn;
use super::settings::SessionSettings;
use super::table::{self, FoundTable, NO_SUCH_TABLE, TableColumn, TableName, quoted};
use super::transfer::{Transfer, gone};
use super::{ServerFamily, WritePlan};
use crate::mysql::packet::{protocol, status};
use crate::shared_connection::AnswerError;
use crate::write::kind::ColumnMeaning;
use crate::write::{IfExists, unsupported_column, unsupported_target};
use crate::{Error, ErrorKind};

const SAVEPOINT: &str = "colonnade_write";
/// ER_WARNING_NOT_COMPLETE_ROLLBACK
const NOT_ROLLED_BACK: &str = "1196";
const COPIES: &str = "if_exists=\"append\" adds to it, \"truncate\" empties it before, \"replace\" makes a new one";

/// The table that rows are written to, and what happens to it.
pub(super) struct TargetTable {
    /// The table that the user named.
    pub(super) name: TableName,
    way: Way,
    /// Whether there is a transaction of the user.
    nested: bool,
    /// Whether the transaction, or the savepoint, was begun.
    begun: bool,
}

enum Way {
    /// The rows are added to it, after it was emptied or not.
    Existing { empty: bool, columns: Vec<TableColumn>, merge: Option<Merge> },
    /// A temporary table is created, under another name if one of this name is replaced.
    Temporary { created: TableName, replaces: Option<TableName> },
    /// A table of another name is created. The second name is that of the table that is replaced, at the end.
    Aside { created: TableName, replaces: Option<TableName> },
}

impl TargetTable {
    /// Decides what will happen. Nothing has changed yet.
    pub(super) fn find(
        transfer: &mut Transfer<'_>,
        plan: &WritePlan,
        settings: &SessionSettings,
    ) -> Result<Self, AnswerError> {
        let target = &plan.target;
        let schema = target.schema.clone().or_else(|| settings.database.clone());
        let name = TableName { schema: schema.ok_or_else(no_database)?, table: target.table.clone() };
        if settings.lower_case && name.table != name.table.to_lowercase() {
            let message =
                format!("table name {:?} must be lower case: this server stores names in lower case", name.table);
            let error = Error::new(ErrorKind::Usage, message);
            return Err(AnswerError::Refused(error.with_hint(format!("write it as {:?}", name.table.to_lowercase()))));
        }
        let current = transfer.connection.status;
        let nested = current & status::AUTOCOMMIT == 0 || current & status::IN_TRANSACTION != 0;
        let mut found = table::find(transfer, &name)?;
        if target.temporary {
            // A temporary table hides another one of its name.
            found = found.filter(|found| found.is_temporary);
        }
        let way = match (target.if_exists, found) {
            (IfExists::Fail, Some(_)) => return Err(exists(&name)),
            (IfExists::Append | IfExists::Truncate, None) => return Err(missing(&name)),
            (IfExists::Replace, Some(found)) => new(&name, plan, nested, Some(&found))?,
            (_, None) => new(&name, plan, nested, None)?,
            (mode, Some(found)) => {
                found.check_can_roll_back(&name)?;
                let columns = table::columns(transfer, &name)?;
                let written = table::written(&columns, plan)?;
                let merge = match mode {
                    IfExists::Upsert => Some(Merge::new(transfer, &name, &columns, &written, plan)?),
                    _ => None,
                };
                Way::Existing { empty: mode == IfExists::Truncate, columns, merge }
            }
        };
        Ok(Self { name, way, nested, begun: false })
    }

    /// Makes the table ready, and begins the transaction. Returns the columns that receive the data.
    pub(super) fn begin(
        &mut self,
        transfer: &mut Transfer<'_>,
        plan: &WritePlan,
        family: ServerFamily,
    ) -> Result<Vec<WrittenColumn>, AnswerError> {
        match &self.way {
            Way::Existing { merge: None, .. } => {}
            Way::Existing { merge: Some(merge), .. } => transfer.ask(&merge.create()).map(drop)?,
            Way::Temporary { created, .. } => {
                transfer.ask(&create("CREATE TEMPORARY TABLE", created, plan, family)?)?;
            }
            Way::Aside { created, replaces } => {
                let create = create("CREATE TABLE", created, plan, family)?;
                check_privileges(transfer, &self.name, created, replaces.as_ref())?;
                transfer.ask(&create)?;
            }
        }
        if !matches!(self.way, Way::Aside { .. }) {
            let sql = if self.nested { format!("SAVEPOINT {SAVEPOINT}") } else { "START TRANSACTION".to_owned() };
            transfer.ask(&sql)?;
            self.begun = true;
        }
        if let Way::Existing { empty: true, .. } = &self.way {
            transfer.ask(&format!("DELETE FROM {}", self.name.quoted()))?;
        }
        let columns = match &self.way {
            Way::Existing { columns, .. } => columns.clone(),
            Way::Temporary { created, .. } | Way::Aside { created, .. } => table::columns(transfer, created)?,
        };
        let mut written = table::written(&columns, plan)?;
        for column in written.iter_mut().filter(|column| plan.target.key.contains(&column.name)) {
            column.no_null = column.no_null.or(Some("NULL, and the column is in the key"));
        }
        Ok(written)
    }

    /// The table that receives the rows.
    pub(super) fn table(&self) -> String {
        match &self.way {
            Way::Existing { merge: Some(merge), .. } => merge.stage.quoted(),
            Way::Existing { .. } => self.name.quoted(),
            Way::Temporary { created, .. } | Way::Aside { created, .. } => created.quoted(),
        }
    }

    /// Makes the rows visible.
    pub(super) fn finish(
        &mut self,
        transfer: &mut Transfer<'_>,
        plan: &WritePlan,
        rows: u64,
    ) -> Result<(), AnswerError> {
        if let Way::Existing { columns, merge, .. } = &self.way {
            if let Some(merge) = merge {
                merge.run(transfer, rows)?;
            }
            // Since its first row, the table is locked against changes of its columns.
            if table::columns(transfer, &self.name)? != *columns {
                let message = format!("the table {} was altered during the write", self.name.quoted());
                let error = Error::new(ErrorKind::Database, message).with_sqlstate("40001");
                return Err(AnswerError::Refused(error.with_hint("write again")));
            }
        }
        if plan.is_abandoned() || (plan.is_cancelled)() {
            return Err(AnswerError::Refused(gone()));
        }
        match &self.way {
            Way::Aside { created, replaces } => self.rename(transfer, created, replaces.as_ref())?,
            _ if self.nested => transfer.ask(&format!("RELEASE SAVEPOINT {SAVEPOINT}")).map(drop)?,
            _ => transfer.ask("COMMIT").map(drop).map_err(unknown_end)?,
        }
        self.begun = false;
        match &self.way {
            Way::Temporary { created, replaces: Some(old) } => self.swap_temporary(transfer, created, old),
            Way::Existing { merge: Some(merge), .. } => {
                // The rows are stored, and the session's end also drops the stage.
                let _ = transfer.ask_at_last(&merge.drop_stage());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Undoes everything. Returns the error, with what could not be undone.
    pub(super) fn undo(&mut self, transfer: &mut Transfer<'_>, error: Error) -> Result<Error, Error> {
        let error = if std::mem::take(&mut self.begun) { self.roll_back(transfer, error)? } else { error };
        let statement = match &self.way {
            Way::Existing { merge: None, .. } => return Ok(error),
            Way::Existing { merge: Some(merge), .. } => merge.drop_stage(),
            Way::Temporary { created, .. } => format!("DROP TEMPORARY TABLE IF EXISTS {}", created.quoted()),
            Way::Aside { created, .. } => format!("DROP TABLE IF EXISTS {}", created.quoted()),
        };
        match (transfer.ask_at_last(&statement), &self.way) {
            (Err(AnswerError::Lost(lost)), _) => Err(lost),
            (Err(AnswerError::Refused(refused)), Way::Aside { created, .. }) => {
                let left = format!("the table {} is left over: {}", created.quoted(), refused.message());
                Ok(with_detail(error, &left))
            }
            _ => Ok(error),
        }
    }

    /// The names of tables that are left over if the connection is lost: the new one, and the replaced one.
    pub(super) fn left_over(&self) -> Option<(TableName, Option<TableName>)> {
        match &self.way {
            Way::Aside { created, replaces } => Some((created.clone(), replaces.clone())),
            _ => None,
        }
    }

    fn roll_back(&self, transfer: &mut Transfer<'_>, error: Error) -> Result<Error, Error> {
        let sql = if self.nested { format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}") } else { "ROLLBACK".to_owned() };
        let error = match transfer.ask_at_last(&sql) {
            Ok(answer) if answer.warnings > 0 => self.with_lasting(transfer, error)?,
            Ok(_) => error,
            Err(AnswerError::Lost(lost)) => return Err(lost),
            // After a deadlock the whole transaction was rolled back.
            Err(AnswerError::Refused(_)) if transfer.connection.status & status::IN_TRANSACTION == 0 => {
                let end = "the server has rolled back the whole transaction";
                return Ok(if self.nested { with_detail(error, end) } else { error });
            }
            Err(AnswerError::Refused(refused)) => {
                let message = format!("the write could not be rolled back: {}", refused.message());
                return Err(Error::new(ErrorKind::ConnectionLost, message).with_cause(error));
            }
        };
        if self.nested {
            match transfer.ask_at_last(&format!("RELEASE SAVEPOINT {SAVEPOINT}")) {
                Err(AnswerError::Lost(lost)) => return Err(lost),
                Err(AnswerError::Refused(_)) | Ok(_) => {}
            }
        }
        Ok(error)
    }

    /// The error, if a trigger has changed a table without transactions.
    fn with_lasting(&self, transfer: &mut Transfer<'_>, error: Error) -> Result<Error, Error> {
        let warnings = match transfer.ask_at_last("SHOW WARNINGS") {
            Ok(warnings) => warnings,
            Err(AnswerError::Lost(lost)) => return Err(lost),
            Err(AnswerError::Refused(_)) => return Ok(error),
        };
        let lasting = (0..warnings.rows.len()).any(|row| warnings.text(row, 1) == Some(NOT_ROLLED_BACK));
        let what = "tables without transactions, which a trigger has changed, were not rolled back";
        Ok(if lasting { with_detail(error, what) } else { error })
    }

    fn rename(
        &self,
        transfer: &mut Transfer<'_>,
        created: &TableName,
        replaces: Option<&TableName>,
    ) -> Result<(), AnswerError> {
        let (named, created) = (self.name.quoted(), created.quoted());
        let Some(old) = replaces.map(TableName::quoted) else {
            return transfer.ask(&format!("RENAME TABLE {created} TO {named}")).map(drop).map_err(unknown_end);
        };
        let sql = format!("RENAME TABLE {named} TO {old}, {created} TO {named}");
        transfer.ask(&sql).map_err(unknown_end)?;
        match transfer.ask_at_last(&format!("DROP TABLE {old}")) {
            Ok(_) => Ok(()),
            Err(AnswerError::Lost(cause)) => {
                let message =
                    format!("the table {named} was replaced, but the old one may be left over as {old}: {cause}");
                let error = Error::new(ErrorKind::ConnectionLost, message).with_sqlstate("08007");
                Err(AnswerError::Lost(error.with_hint("drop it").with_cause(cause)))
            }
            // Another table refers to it since a moment ago.
            Err(AnswerError::Refused(refused)) => {
                transfer.ask_at_last(&format!("RENAME TABLE {named} TO {created}, {old} TO {named}"))?;
                Err(AnswerError::Refused(refused))
            }
        }
    }

    fn swap_temporary(
        &self,
        transfer: &mut Transfer<'_>,
        created: &TableName,
        old: &TableName,
    ) -> Result<(), AnswerError> {
        let (named, created, old) = (self.name.quoted(), created.quoted(), old.quoted());
        transfer.ask_at_last(&format!("ALTER TABLE {named} RENAME TO {old}"))?;
        if let Err(error) = transfer.ask_at_last(&format!("ALTER TABLE {created} RENAME TO {named}")) {
            transfer.ask_at_last(&format!("ALTER TABLE {old} RENAME TO {named}"))?;
            return Err(error);
        }
        transfer.ask_at_last(&format!("DROP TEMPORARY TABLE {old}")).map(drop)
    }
}

/// A table that is created.
fn new(name: &TableName, plan: &WritePlan, nested: bool, found: Option<&FoundTable>) -> Result<Way, AnswerError> {
    let random = || table::random_name().map(|random| name.sibling(random)).map_err(AnswerError::Refused);
    if let Some(found) = found {
        found.check_is_table(name)?;
    }
    if plan.target.temporary {
        if nested && found.is_some() {
            return Err(AnswerError::Refused(would_commit("replacing a temporary table")));
        }
        let (created, replaces) = match found {
            Some(_) => (random()?, Some(random()?)),
            None => (name.clone(), None),
        };
        return Ok(Way::Temporary { created, replaces });
    }
    if nested {
        return Err(AnswerError::Refused(would_commit("creating a table")));
    }
    if found.is_some_and(|found| found.is_temporary) {
        let what = format!("{} is a temporary table of this session", name.quoted());
        let hint = "drop it before, or replace it by another one with temporary=True";
        return Err(AnswerError::Refused(unsupported_target(&what, hint)));
    }
    let replaces = found.map(|_| random()).transpose()?;
    Ok(Way::Aside { created: random()?, replaces })
}

fn create(command: &str, name: &TableName, plan: &WritePlan, family: ServerFamily) -> Result<String, AnswerError> {
    let key = &plan.target.key;
    let is_long = |meaning: &ColumnMeaning| matches!(meaning, ColumnMeaning::Text | ColumnMeaning::Bytes);
    let long_keys = plan.columns.iter().filter(|(name, meaning)| key.contains(name) && is_long(meaning)).count();
    let columns = plan.columns.iter().map(|(name, meaning)| {
        let bytes = column_type::key_bytes(long_keys, key.len().saturating_sub(long_keys));
        let bytes = (key.contains(name) && is_long(meaning)).then_some(bytes);
        let type_name = column_type::created(meaning, family, bytes).ok_or_else(|| {
            let what = "MySQL has no type that would hold these values exactly";
            unsupported_column(name, what, meaning.way_out())
        })?;
        let null = if key.contains(name) { "NOT NULL" } else { "NULL" };
        Ok(format!("{} {type_name} {null}", quoted(name)))
    });
    let mut columns = columns.collect::<Result<Vec<_>, _>>().map_err(AnswerError::Refused)?;
    if !key.is_empty() {
        let names: Vec<_> = key.iter().map(|name| quoted(name)).collect();
        columns.push(format!("PRIMARY KEY ({})", names.join(", ")));
    }
    Ok(format!("{command} {} ({}) ENGINE=InnoDB", name.quoted(), columns.join(", ")))
}

/// # Errors
/// The user may not create, rename or drop the tables, or another table refers to the one that is replaced. All this is
/// known before a row is sent.
fn check_privileges(
    transfer: &mut Transfer<'_>,
    name: &TableName,
    created: &TableName,
    replaces: Option<&TableName>,
) -> Result<(), AnswerError> {
    let (named, created) = (name.quoted(), created.quoted());
    let sql = match replaces {
        // Of a table that does not exist yet.
        None => format!("RENAME TABLE {created} TO {named}"),
        Some(old) => format!("RENAME TABLE {created} TO {old}, {named} TO {created}", old = old.quoted()),
    };
    match transfer.ask(&sql) {
        Err(AnswerError::Refused(error)) if error.code() == Some(NO_SUCH_TABLE) => {}
        Err(error) => return Err(error),
        Ok(_) => return Err(protocol("that a table was renamed that does not exist").into()),
    }
    if replaces.is_none() {
        return Ok(());
    }
    let (schema, table) = (table::text(&name.schema), table::text(&name.table));
    // Tables of other schemas are found when the old table is dropped: MariaDB would open all tables of the server.
    let referring = transfer.ask(&format!(
        "SELECT TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = {schema} \
         AND REFERENCED_TABLE_SCHEMA = {schema} AND REFERENCED_TABLE_NAME = {table} AND TABLE_NAME <> {table} LIMIT 1"
    ))?;
    let Some(table) = referring.text(0, 0) else { return Ok(()) };
    let other = name.sibling(table.to_owned());
    let message = format!("the table {named} cannot be dropped: a foreign key of {} refers to it", other.quoted());
    let error = Error::new(ErrorKind::Database, message).with_sqlstate("23000");
    Err(AnswerError::Refused(error.with_hint("if_exists=\"truncate\" keeps the table")))
}

/// The error of a lost connection during COMMIT or RENAME TABLE.
fn unknown_end(error: AnswerError) -> AnswerError {
    let AnswerError::Lost(cause) = error else { return error };
    let message = format!("the connection was lost during the commit, so the rows may be in the table: {cause}");
    let error = Error::new(ErrorKind::ConnectionLost, message).with_sqlstate("08007");
    AnswerError::Lost(error.with_hint("look into the table before the rows are written again").with_cause(cause))
}

fn with_detail(error: Error, more: &str) -> Error {
    let detail = error.detail().map_or_else(|| more.to_owned(), |detail| format!("{detail}\n{more}"));
    error.with_detail(Some(detail))
}

fn would_commit(what: &str) -> Error {
    let message = format!("{what} would commit the open transaction");
    Error::new(ErrorKind::Unsupported, message)
        .with_sqlstate("25001")
        .with_hint("commit before, or create the table before the transaction and use if_exists=\"append\"")
}

fn no_database() -> AnswerError {
    let error = Error::new(ErrorKind::Database, "no database is chosen in which the table could be");
    AnswerError::Refused(error.with_sqlstate("3D000").with_hint("name it in the URI, or write schema=…"))
}

fn exists(name: &TableName) -> AnswerError {
    let message = format!("the table {} exists", name.quoted());
    AnswerError::Refused(Error::new(ErrorKind::Database, message).with_sqlstate("42P07").with_hint(COPIES))
}

fn missing(name: &TableName) -> AnswerError {
    let message = format!("the table {} does not exist", name.quoted());
    let hint = "names are exact; if_exists=\"create_append\" creates it";
    AnswerError::Refused(Error::new(ErrorKind::Database, message).with_sqlstate("42P01").with_hint(hint))
}
