//! Rows that wait in a temporary table, from which INSERT moves them: for what COPY FROM cannot do.

use super::steps::WritePlan;
use super::table::{quoted, text};
use super::transfer::Transfer;
use crate::shared_connection::AnswerError;
use crate::write::other_count;

/// The temporary table with the rows of the data.
pub(super) const STAGE: &str = "pg_temp.colonnade_upsert";

/// The rows that wait in a temporary table.
pub(super) struct Stage {
    /// The table that gets the rows, quoted and with its schema.
    pub(super) table: String,
    /// The names of the columns, quoted.
    names: Vec<String>,
}

impl Stage {
    /// Makes the temporary table.
    ///
    /// The columns have the table's types and collations, and neither its defaults nor its constraints. CREATE TABLE AS
    /// would need the right to read them.
    pub(super) fn create(transfer: &mut Transfer<'_>, table: &str, plan: &WritePlan) -> Result<Self, AnswerError> {
        let sql = format!(
            "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), n.nspname, l.collname \
             FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation \
             LEFT JOIN pg_catalog.pg_namespace n ON n.oid = l.collnamespace \
             WHERE a.attrelid = {}::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped",
            text(table)
        );
        let found = transfer.ask(&sql)?;
        let mut columns = Vec::with_capacity(plan.columns.len());
        for (name, _) in &plan.columns {
            // The writer refuses a column that is not there, by its name.
            let Some([_, Some(kind), schema, collation]) =
                found.iter().map(Vec::as_slice).find(|row| row.first().and_then(Option::as_ref) == Some(name))
            else {
                continue;
            };
            let collate = match (schema, collation) {
                (Some(schema), Some(collation)) => format!(" COLLATE {}.{}", quoted(schema), quoted(collation)),
                _ => String::new(),
            };
            columns.push(format!("{} {kind}{collate}", quoted(name)));
        }
        transfer.ask(&format!("CREATE TEMPORARY TABLE {STAGE} ({}) ON COMMIT DROP", columns.join(", ")))?;
        let names = plan.columns.iter().map(|(name, _)| quoted(name)).collect();
        Ok(Self { table: table.to_owned(), names })
    }

    /// The statement that moves the rows. As COPY does, it takes the data's values for identity columns.
    pub(super) fn insert(&self) -> String {
        let names = self.names.join(", ");
        format!("INSERT INTO {} ({names}) OVERRIDING SYSTEM VALUE SELECT {names} FROM {STAGE}", self.table)
    }

    /// Moves the rows into the table. Their number is `rows`.
    ///
    /// # Errors
    /// The table has another number of them afterwards, or the database refuses.
    pub(super) fn append(&self, transfer: &mut Transfer<'_>, rows: u64) -> Result<(), AnswerError> {
        let stored = transfer.change(&self.insert())?;
        Self::end(transfer, rows, stored)
    }

    /// Drops the temporary table, from which `stored` of `rows` rows have come into the table: in a transaction of the
    /// user, another write may follow.
    ///
    /// # Errors
    /// The numbers differ, or the database refuses.
    pub(super) fn end(transfer: &mut Transfer<'_>, rows: u64, stored: u64) -> Result<(), AnswerError> {
        if stored != rows {
            return Err(AnswerError::Refused(other_count(rows, stored)));
        }
        transfer.ask(&format!("DROP TABLE {STAGE}")).map(drop)
    }
}
