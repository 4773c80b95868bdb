//! Upsert: COPY into a temporary table, and from there INSERT … ON CONFLICT into the table.
//!
//! `DuckDB` has no locks: of two sessions that change one row, or add one key, the later one fails (40001). The rows
//! are then in the temporary table already, so that [`merge_repeatedly`] can repeat the rest.
//! <https://duckdb.org/docs/stable/sql/statements/insert.html#on-conflict-clause>

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{FoundTable, ServedPlan, names, quoted, text};
use crate::postgres::server_connection::ServerConnection;
use crate::postgres::write::transfer::{Transfer, in_transaction};
use crate::postgres::write::upsert::{count, refuse_repeated};
use crate::shared_connection::{AnswerError, AnswerOutcome, Tick};
use crate::write::other_count;
use crate::{Error, ErrorKind};

/// The temporary table with the rows of the data.
const STAGE: &str = "colonnade_upsert";
/// The SQLSTATE of a change that another session's has made impossible.
const CONFLICT: &str = "40001";

/// How often a merge is repeated after a conflict. Each conflict means that another session has changed these rows.
const ATTEMPTS: u32 = 200;
/// The time before a merge is repeated, for each earlier attempt.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The rows that wait in a temporary table.
pub(super) struct UpsertStage<'a> {
    table: FoundTable,
    plan: &'a ServedPlan,
    /// The names of the key's columns, quoted.
    key: Vec<String>,
}

impl<'a> UpsertStage<'a> {
    /// Checks that the key is a primary key or a unique constraint of the table, and makes the temporary table.
    ///
    /// # Errors
    /// There is no such constraint, or the database refuses.
    pub(super) fn begin(
        transfer: &mut Transfer<'_>,
        table: FoundTable,
        plan: &'a ServedPlan,
    ) -> Result<Self, AnswerError> {
        let stage = Self { table, plan, key: plan.target.key.iter().map(|name| quoted(name)).collect() };
        stage.require_constraint(transfer)?;
        let (names, table) = (names(plan), &stage.table.name);
        transfer.ask(&format!("CREATE TEMP TABLE {STAGE} AS SELECT {names} FROM {table} LIMIT 0"))?;
        Ok(stage)
    }

    /// The temporary table's name.
    pub(super) fn name(&self) -> &str {
        STAGE
    }

    /// Whether the rows are for a table that was there before, so that the temporary table can be committed alone.
    pub(super) fn may_wait(&self) -> bool {
        !self.table.is_new
    }

    /// Moves the rows into the table. Their number is `rows`.
    ///
    /// # Errors
    /// Two rows have one key, the table has another number of them afterwards, or the database refuses.
    pub(super) fn merge(&self, transfer: &mut Transfer<'_>, rows: u64) -> Result<(), AnswerError> {
        // DuckDB itself finds repeated keys only within a block of rows.
        self.refuse_repeated(transfer)?;
        let (key, names) = (self.key.join(", "), names(self.plan));
        let fields = self.plan.schema.fields().iter().map(|field| field.name());
        let replaced: Vec<_> = fields
            .filter(|name| !self.plan.target.key.contains(name))
            .map(|name| format!("{} = EXCLUDED.{}", quoted(name), quoted(name)))
            .collect();
        let action =
            if replaced.is_empty() { "NOTHING".to_owned() } else { format!("UPDATE SET {}", replaced.join(", ")) };
        let inserted = transfer.change(&format!(
            "INSERT INTO {} AS target ({names}) SELECT {names} FROM {STAGE} ON CONFLICT ({key}) DO {action}",
            self.table.name
        ))?;
        // Rows that are there stay as they are, and are not counted.
        let stored = if replaced.is_empty() { self.count_present(transfer)? } else { inserted };
        if stored != rows {
            return Err(AnswerError::Refused(other_count(rows, stored)));
        }
        self.write_keys(transfer)?;
        // In a transaction of the user, another upsert may follow.
        transfer.ask(&format!("DROP TABLE {STAGE}"))?;
        Ok(())
    }

    /// Replaces keys that are equal to those of the data and not the same: by a collation, or 0.0 and -0.0. ON CONFLICT
    /// does not, because `DuckDB` would delete and insert every row whose key is set.
    fn write_keys(&self, transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        let fields = self.plan.schema.fields().iter();
        let of_key = fields.filter(|field| self.plan.target.key.contains(field.name()));
        let inexact: Vec<_> = of_key
            .filter(|field| !field.data_type().is_integer() && !field.data_type().is_temporal())
            .map(|field| quoted(field.name()))
            .collect();
        if inexact.is_empty() {
            return Ok(());
        }
        let joined = |names: &[String], separator: &str, write: &dyn Fn(&String) -> String| {
            names.iter().map(write).collect::<Vec<_>>().join(separator)
        };
        let written = |side: &str, name: &str| format!("system.main.encode(CAST({side}.{name} AS VARCHAR))");
        let changes = joined(&inexact, ", ", &|name| format!("{name} = {STAGE}.{name}"));
        let same = joined(&self.key, " AND ", &|name| format!("target.{name} = {STAGE}.{name}"));
        let differs =
            joined(&inexact, " OR ", &|name| format!("{} <> {}", written("target", name), written(STAGE, name)));
        let table = &self.table.name;
        transfer
            .change(&format!("UPDATE {table} AS target SET {changes} FROM {STAGE} WHERE {same} AND ({differs})"))?;
        Ok(())
    }

    fn count_present(&self, transfer: &mut Transfer<'_>) -> Result<u64, AnswerError> {
        let sql = format!(
            "SELECT system.main.count(*) FROM {STAGE} SEMI JOIN {} USING ({})",
            self.table.name,
            self.key.join(", ")
        );
        count(transfer, &sql)
    }

    /// # Errors
    /// Two rows have one key.
    fn refuse_repeated(&self, transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        let shown: Vec<_> = self.key.iter().map(|name| format!("CAST({name} AS VARCHAR)")).collect();
        let sql = format!(
            "SELECT {} FROM {STAGE} GROUP BY {} HAVING system.main.count(*) > 1 LIMIT 1",
            shown.join(", "),
            self.key.join(", ")
        );
        refuse_repeated(transfer, &self.key, &sql)
    }

    fn require_constraint(&self, transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        let place = match &self.table.schema {
            Some(schema) => format!("c.relpersistence <> 't' AND n.nspname = {}", text(schema)),
            None => "c.relpersistence = 't'".to_owned(),
        };
        let key: Vec<_> = self.plan.target.key.iter().map(|name| text(name)).collect();
        let sql = format!(
            "SELECT k.oid FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND system.main.list_contains(k.conkey, a.attnum) \
             WHERE k.contype IN ('p', 'u') AND {place} AND c.relname = {} \
             GROUP BY k.oid HAVING system.main.list_sort(system.main.list(CAST(a.attname AS VARCHAR))) = \
             system.main.list_sort(system.main.list_value({})) LIMIT 1",
            text(&self.plan.target.table),
            key.join(", ")
        );
        if !transfer.ask(&sql)?.is_empty() {
            return Ok(());
        }
        let wanted = self.key.join(", ");
        let message = format!(
            "the table {} has no primary key or unique constraint on exactly the key ({wanted})",
            self.table.name
        );
        let hint = format!("add one: ALTER TABLE {} ADD PRIMARY KEY ({wanted})", self.table.name);
        Err(AnswerError::Refused(Error::new(ErrorKind::Database, message).with_sqlstate("42P10").with_hint(hint)))
    }
}

/// Moves the rows of a temporary table that is committed into the table, in a transaction that is repeated after a
/// conflict. Afterwards the temporary table is gone in any case.
pub(super) fn merge_repeatedly(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    stage: &UpsertStage<'_>,
    rows: u64,
    abandoned: &AtomicBool,
) -> AnswerOutcome {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let merged = in_transaction(connection, &mut *tick, abandoned, |transfer| {
            stage.merge(transfer, rows)?;
            Ok(rows)
        })?;
        let Err(error) = merged else { return Ok(merged) };
        if error.sqlstate() == Some(CONFLICT) && attempt < ATTEMPTS && !abandoned.load(Ordering::Acquire) {
            thread::sleep((PAUSE * attempt).min(LONGEST_PAUSE));
            continue;
        }
        let dropped = in_transaction(connection, tick, &AtomicBool::new(false), |transfer| {
            transfer.ask(&format!("DROP TABLE IF EXISTS {STAGE}")).map(|_| 0)
        });
        return dropped.map(|_| Err(error));
    }
}
