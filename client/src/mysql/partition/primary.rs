//! Parts without a given key: by the primary key of the only table that a query reads.
//!
//! An additional condition must only remove rows and change nothing else. The server knows whether this is so: it
//! merges a derived table into the outer query only if it has no aggregates, windows, DISTINCT, LIMIT or the like. The
//! plan for both is then one read of the table. <https://mariadb.com/kb/en/derived-table-merge-optimization/>,
//! <https://dev.mysql.com/doc/refman/8.4/en/derived-table-optimization.html>

use colonnade_sql::{Dialect, quote};

use super::keys::PartitionKey;
use super::{DUPLICATE_COLUMN, MysqlConnection};
use crate::partition::plain::{self, Plain, no_plain_read};
use crate::partition::{PartitionSplit, text};
use crate::{Connection, ContinueCheck, Error};

impl MysqlConnection {
    /// The parts of a query that reads one table, by the first column of its primary key.
    pub(super) fn primary_parts(
        &self,
        query: &str,
        split: &PartitionSplit,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        plain::check_no_range(split)?;
        let plain = Plain::of(query, self.dialect()).ok_or_else(|| no_plain_read(plain::MORE))?;
        if !plain.reads_a_name(self.dialect()) {
            return Err(no_plain_read(plain::SEVERAL));
        }
        if split.consistent {
            self.check_repeatable(query, keep)?;
        }
        // This also locks the tables, so that nobody alters them.
        let columns = self.ask(&format!("SELECT * FROM {}\nLIMIT 0", plain.from()), keep)?.columns;
        self.check_merged(query, keep)?;
        let [database, table, _] = columns.first().map(|column| column.origin.clone()).unwrap_or_default();
        let first = self.ask(
            &format!(
                "SELECT column_name FROM information_schema.statistics WHERE table_schema = {} AND table_name = {} \
                 AND index_name = 'PRIMARY' AND seq_in_index = 1",
                quote::string(&database, Dialect::MYSQL),
                quote::string(&table, Dialect::MYSQL)
            ),
            keep,
        )?;
        let primary = first.text(0, 0).and_then(|name| columns.iter().find(|column| column.origin[2] == name));
        let Some(primary) = primary else { return Err(no_plain_read("its table shows no primary key")) };
        let key = PartitionKey::find(&columns, &primary.name)?;
        let name = quote::identifier(&primary.name, Dialect::MYSQL);
        let cuts = self.balanced_cuts(&format!("SELECT {name} FROM {}", plain.from()), &key, split.count, keep)?;
        Ok(text::ranges_without_null(&key.compared(&name), &cuts).iter().map(|range| plain.with(range)).collect())
    }

    /// Refuses a query whose rows depend on one another.
    fn check_merged(&self, query: &str, keep: ContinueCheck<'_>) -> Result<(), Error> {
        let merged = format!("EXPLAIN FORMAT=TRADITIONAL SELECT * FROM (\n{query}\n) AS {}", text::ALIAS);
        let plan = self.ask(&merged, keep).map_err(|error| match error.sqlstate() {
            Some(DUPLICATE_COLUMN) => no_plain_read(error.message()).with_cause(error),
            _ => error,
        })?;
        let place = |name: &str| plan.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let said = |name: &str| place(name).and_then(|column| plan.text(0, column));
        let is_read = said("table").is_some_and(|table| !table.starts_with('<'));
        match plan.rows.len() == 1 && said("select_type") == Some("SIMPLE") && is_read {
            true => Ok(()),
            false => Err(no_plain_read("the server's plan is more than one read of it")),
        }
    }
}
