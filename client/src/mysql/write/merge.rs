//! Upsert: the rows go into a temporary table, and from there into the table, in one statement.
//! <https://dev.mysql.com/doc/refman/8.4/en/insert-on-duplicate.html>
//!
//! MySQL does not let a statement name the key: a row that equals another one in any unique key replaces its values. So
//! the key must be the only unique key that the data can violate.

use super::WritePlan;
use super::row_encoder::WrittenColumn;
use super::table::{self, TableColumn, TableName, UniqueKey, quoted};
use super::transfer::Transfer;
use crate::shared_connection::AnswerError;
use crate::write::{other_count, unsupported_target};
use crate::{Error, ErrorKind};

/// The temporary table and the statements about it.
pub(super) struct Merge {
    /// The temporary table.
    pub(super) stage: TableName,
    table: String,
    /// The definitions of its columns.
    definitions: Vec<String>,
    /// The quoted names of all columns, and of the key.
    names: Vec<String>,
    key: Vec<String>,
    /// The quoted columns of the key that are compared by a collation.
    collated: Vec<String>,
}

impl Merge {
    /// # Errors
    /// The key is not a unique key of the table, or another unique key could be violated.
    pub(super) fn new(
        transfer: &mut Transfer<'_>,
        name: &TableName,
        columns: &[TableColumn],
        written: &[WrittenColumn],
        plan: &WritePlan,
    ) -> Result<Self, AnswerError> {
        let keys = table::unique_keys(transfer, name)?;
        check(&keys, columns, plan, name).map_err(AnswerError::Refused)?;
        let key = &plan.target.key;
        let definitions = written.iter().map(|column| {
            let found = columns.iter().find(|found| found.name == column.name);
            let type_name = found.map(|found| found.type_name.as_str()).unwrap_or_default();
            let collation = found.and_then(|found| found.collation.as_deref());
            let collation = collation.map(|collation| format!(" COLLATE {collation}")).unwrap_or_default();
            let null = if key.contains(&column.name) { "NOT NULL" } else { "NULL DEFAULT NULL" };
            format!("{} {type_name}{collation} {null}", quoted(&column.name))
        });
        let is_collated = |column: &&WrittenColumn| key.contains(&column.name) && column.to.is_collated();
        Ok(Self {
            stage: name.sibling(table::random_name().map_err(AnswerError::Refused)?),
            table: name.quoted(),
            definitions: definitions.collect(),
            names: written.iter().map(|column| quoted(&column.name)).collect(),
            key: key.iter().map(|name| quoted(name)).collect(),
            collated: written.iter().filter(is_collated).map(|column| quoted(&column.name)).collect(),
        })
    }

    /// The statement that creates the temporary table. Its key is that of the table, so it refuses repetitions.
    pub(super) fn create(&self) -> String {
        let (stage, columns, key) = (self.stage.quoted(), self.definitions.join(", "), self.key.join(", "));
        format!("CREATE TEMPORARY TABLE {stage} ({columns}, PRIMARY KEY ({key})) ENGINE=InnoDB")
    }

    pub(super) fn drop_stage(&self) -> String {
        format!("DROP TEMPORARY TABLE IF EXISTS {}", self.stage.quoted())
    }

    /// Moves the rows into the table.
    ///
    /// # Errors
    /// The server refuses, or the table has not all rows afterwards.
    pub(super) fn run(&self, transfer: &mut Transfer<'_>, rows: u64) -> Result<(), AnswerError> {
        let (stage, table) = (self.stage.quoted(), &self.table);
        // Also the key: a collation takes different texts for one, and the data's is stored.
        let assigned: Vec<_> = self.names.iter().map(|name| format!("{table}.{name} = staged.{name}")).collect();
        let selected: Vec<_> = self.names.iter().map(|name| format!("staged.{name}")).collect();
        let merged = transfer.ask(&format!(
            "INSERT INTO {table} ({}) SELECT {} FROM {stage} AS staged ON DUPLICATE KEY UPDATE {}",
            self.names.join(", "),
            selected.join(", "),
            assigned.join(", ")
        ))?;
        if merged.warnings > 0 {
            transfer.check_warnings(0)?;
        }
        let same = self.key.iter().map(|name| format!("present.{name} = staged.{name}"));
        let bytes =
            self.collated.iter().map(|name| format!("CAST(present.{name} AS BINARY) = CAST(staged.{name} AS BINARY)"));
        let conditions = same.chain(bytes).collect::<Vec<_>>().join(" AND ");
        let sql = format!("SELECT COUNT(*) FROM {stage} AS staged JOIN {table} AS present ON {conditions}");
        let found = transfer.ask(&sql)?.text(0, 0).and_then(|count| count.parse::<u64>().ok());
        if found == Some(rows) {
            return Ok(());
        }
        Err(AnswerError::Refused(other_count(rows, found.unwrap_or_default())))
    }
}

fn check(keys: &[UniqueKey], columns: &[TableColumn], plan: &WritePlan, name: &TableName) -> Result<(), Error> {
    let wanted = &plan.target.key;
    let is_wanted = |key: &&UniqueKey| {
        key.is_exact && key.columns.len() == wanted.len() && key.columns.iter().all(|column| wanted.contains(column))
    };
    let Some(own) = keys.iter().find(is_wanted) else {
        let list = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let others = keys.iter().filter(|key| key.is_exact).map(|key| format!("({})", list(&key.columns)));
        let others: Vec<_> = others.collect();
        let known = match others.is_empty() {
            true => String::new(),
            false => format!(", or give a key that has one: {}", others.join(", ")),
        };
        let (table, wanted) = (name.quoted(), list(wanted));
        let limited = "of whole columns that are NOT NULL";
        let message = format!("the table {table} has no unique index on exactly the key ({wanted}), {limited}");
        let hint = format!("make one: CREATE UNIQUE INDEX … ON {table} ({wanted}){known}");
        return Err(Error::new(ErrorKind::Database, message).with_sqlstate("42P10").with_hint(hint));
    };
    // A key with a number that the server makes cannot be violated.
    let is_numbered = |key: &UniqueKey| {
        let numbers = columns.iter().filter(|column| column.is_auto_increment);
        let mut left_out = numbers.filter(|column| plan.columns.iter().all(|(name, _)| *name != column.name));
        left_out.any(|column| key.columns.contains(&column.name))
    };
    match keys.iter().find(|key| key.name != own.name && !is_numbered(key)) {
        None => Ok(()),
        Some(other) => {
            let what = format!(
                "the table {} has another unique key, {}: MySQL would also update rows that equal in that one",
                name.quoted(),
                other.name
            );
            Err(unsupported_target(&what, "upsert into a table whose only unique key is the key"))
        }
    }
}
