//! UPDATE … RETURNING of rows to which foreign keys refer. With RETURNING, DuckDB writes all columns of a row anew, also
//! its key, and refuses that. So the rows are found first, changed without RETURNING, and then read, in one transaction.
//! They are known by `rowid`, which stays the same if no column of an index changes, and none with a nested type.

use colonnade_server::{BatchSize, EngineAnswer, EngineError, Parameter, SqlState};
use colonnade_sql::{Dialect, StatementKind, quote};

use super::clauses::{Clauses, mentions};
use crate::definitions::{number, without_schema};
use crate::placeholder::Placeholders;
use crate::{LibraryConnection, Translated, TranslatingSession};

/// UPDATE target SET … [WHERE condition] RETURNING …
pub(crate) struct ReturningUpdate<'a> {
    /// The table's name.
    table: &'a str,
    /// The name by which expressions know it.
    alias: &'a str,
    /// Both.
    target: &'a str,
    /// SET and what is set.
    set: &'a str,
    /// The columns that are set.
    changed: Vec<String>,
    /// The condition, if there is one.
    condition: &'a str,
    /// What is returned.
    columns: &'a str,
}

/// The most rows that are changed in this way. More keep DuckDB's error.
const MAX_ROWS: usize = 10_000;

/// Reads such a statement. `None` for others, also for those with WITH or FROM.
pub(crate) fn read<'a>(kind: &StatementKind, text: &'a str) -> Option<ReturningUpdate<'a>> {
    if *kind != StatementKind::Update || !mentions(text, "returning") {
        return None;
    }
    let clauses = Clauses::new(text);
    if !clauses.is_word(0, "update") || clauses.find(0, "from").is_some() {
        return None;
    }
    let (set, returning) = (clauses.find(1, "set")?, clauses.find(1, "returning")?);
    let condition = clauses.find(set, "where").filter(|condition| *condition < returning);
    let target = clauses.target(1, set)?;
    let end = condition.unwrap_or(returning);
    // Each begins SET or follows a comma.
    let changed = (set + 1..end).filter(|at| *at == set + 1 || clauses.is_separator(at - 1));
    let changed = changed.map(|at| clauses.is_symbol(at + 1, b'=').then(|| clauses.tokens[at].folded().into_owned()));
    Some(ReturningUpdate {
        changed: changed.collect::<Option<_>>()?,
        table: target.table,
        alias: target.alias,
        target: target.text,
        set: clauses.text(set, end),
        condition: condition.map_or("", |condition| clauses.text(condition, returning)),
        columns: clauses.text(returning + 1, clauses.len()),
    })
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Runs such a statement if a foreign key refers to its table. The caller has begun a transaction. `None` if nothing
    /// has run.
    pub(crate) fn update_returning(
        &mut self,
        update: &ReturningUpdate<'_>,
        translated: &Translated,
        values: &[&Parameter],
        size: BatchSize,
    ) -> Result<Option<EngineAnswer>, EngineError> {
        let columns: Vec<_> = update.changed.iter().map(|column| quote::string(column, Dialect::DuckDb)).collect();
        let referring = format!(
            "SELECT 1 FROM system.main.duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' \
             AND system.main.lower(referenced_table) = system.main.lower({}) LIMIT 1",
            quote::string(&without_schema(update.table), Dialect::DuckDb)
        );
        let moving = format!(
            "SELECT 1 FROM system.main.duckdb_columns() WHERE table_oid = {0} AND system.main.lower(column_name) IN ({1}) \
                 AND (data_type LIKE '%]' OR data_type LIKE '%(%' AND data_type NOT LIKE 'DECIMAL%' AND data_type NOT LIKE 'ENUM%') \
             UNION ALL SELECT 1 FROM colonnade_catalog.pg.indexes \
             WHERE relation = {0} AND system.main.list_has_any(elements, [{1}]) \
             UNION ALL SELECT 1 FROM colonnade_catalog.pg.indexes WHERE relation = {0} AND list_contains(columns, 0) \
             UNION ALL SELECT 1 FROM colonnade_catalog.pg.declared \
             WHERE relation = {0} AND kind = 'f' AND system.main.list_has_any(column_names, [{1}])",
            number(update.table),
            columns.join(", ")
        );
        if self.first_column(&referring)?.is_empty()
            || self.is_temporary(update.table)?
            || !self.has_row_numbers(update.table)?
            || !self.first_column(&moving)?.is_empty()
        {
            return Ok(None);
        }
        let ReturningUpdate { alias, target, set, condition, columns, .. } = update;
        let found = format!("SELECT {alias}.rowid FROM {target} {condition} LIMIT {}", MAX_ROWS + 1);
        let rows: Vec<_> = self.rows_before(&found, translated, values)?.into_iter().flatten().flatten().collect();
        if rows.len() > MAX_ROWS {
            return Ok(None);
        }
        let these = if rows.is_empty() { "NULL".to_owned() } else { rows.join(", ") };
        self.run_with(&format!("UPDATE {target} {set} WHERE {alias}.rowid IN ({these})"), values, size)?;
        let kept =
            self.first_column(&format!("SELECT system.main.count(*) FROM {target} WHERE {alias}.rowid IN ({these})"))?;
        if kept != [rows.len().to_string()] {
            return Err(EngineError::new(SqlState::INTERNAL_ERROR, "rows of an UPDATE have got other numbers"));
        }
        self.run_with(&format!("SELECT {columns} FROM {target} WHERE {alias}.rowid IN ({these})"), values, size)
            .map(Some)
    }

    /// Runs a part of the client's statement, with those of its values that occur there.
    fn run_with(&mut self, sql: &str, values: &[&Parameter], size: BatchSize) -> Result<EngineAnswer, EngineError> {
        let placeholders = Placeholders::find(sql);
        let used: Vec<_> = values.iter().copied().filter(|value| placeholders.has(value.number - 1)).collect();
        let without_position = |error| EngineError { position: None, ..error };
        self.connection.execute(&Translated::of(sql), &used, size, false).map_err(without_position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_update_are_read() {
        let update = read(
            &StatementKind::Update,
            "update s.t as x set a = (select 1 from u where b), c = $1 where d returning *",
        )
        .unwrap();
        assert_eq!((update.table, update.alias, update.target), ("s.t", "x", "s.t as x"));
        assert_eq!(update.set, "set a = (select 1 from u where b), c = $1");
        assert_eq!((update.condition, update.columns), ("where d", "*"));
        let whole = read(&StatementKind::Update, "update t set a = 1 returning a + 1 as b, c").unwrap();
        assert_eq!((whole.condition, whole.columns), ("", "a + 1 as b, c"));
        assert_eq!(update.changed, ["a", "c"]);
        for other in [
            "update t set a = 1",
            "with q as (select 1) update t set a = 1 returning a",
            "update t set a = 1 from u returning a",
            "update t set (a, b) = (1, 2) returning a",
        ] {
            assert!(read(&StatementKind::Update, other).is_none(), "{other}");
        }
        assert!(read(&StatementKind::Insert, "insert into t values (1) returning a").is_none());
    }
}
