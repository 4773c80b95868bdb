//! Statements that would change a row twice: a key twice in INSERT … ON CONFLICT DO UPDATE, and a row of the target
//! that has several rows of the source in MERGE and in UPDATE … FROM.
//!
//! PostgreSQL refuses the first two (21000; its `ExecOnConflictUpdate` and `ExecMergeMatched`), and counts the row of
//! an UPDATE once. DuckDB takes one of the rows and drops the others, or counts each of them. So a query about the
//! statement's own rows runs before the statement, in its transaction ([`read`]).

mod clauses;
pub(crate) mod returning;
mod upsert;

pub(crate) use clauses::changed_table;
use colonnade_server::{EngineError, Parameter, SqlState};
use colonnade_sql::{Dialect, Statement, StatementKind};

use self::clauses::Clauses;
use self::upsert::{Conflict, Upsert};
use crate::placeholder::Placeholders;
use crate::{LibraryConnection, Translated, TranslatingSession};

/// A statement that may change a row twice.
pub(crate) enum Change<'a> {
    /// INSERT … ON CONFLICT DO UPDATE of several rows, or INSERT OR REPLACE.
    Upsert(Upsert<'a>),
    /// A query with a row if MERGE changes a row twice.
    Merge { table: &'a str, query: String },
    /// A query for the number of rows of UPDATE … FROM, and for the number of different ones.
    UpdateFrom { table: &'a str, query: String, has_returning: bool },
}

/// What has to be found out before a statement runs; `None` for nearly all statements.
pub(crate) fn read<'a>(kind: &StatementKind, text: &'a str) -> Option<Change<'a>> {
    match kind {
        StatementKind::Insert if upsert::may_be(text) => Upsert::read(&Clauses::new(text)).map(Change::Upsert),
        StatementKind::Merge => merge(&Clauses::new(text)),
        StatementKind::Update if clauses::mentions(text, "from") => update_from(&Clauses::new(text)),
        _ => None,
    }
}

/// MERGE INTO target USING source ON condition WHEN [NOT] MATCHED [AND condition] THEN action …
fn merge<'a>(clauses: &Clauses<'a>) -> Option<Change<'a>> {
    let into = clauses.find(0, "merge")? + 1;
    let into = if clauses.is_word(into, "into") { into + 1 } else { into };
    let (using, first) = (clauses.find(into, "using")?, clauses.find(into, "when")?);
    let target = clauses.target(into, using)?;
    let mut actions = String::new();
    let mut when = Some(first);
    while let Some(at) = when {
        when = clauses.find(at + 1, "when");
        let then = clauses.find(at, "then")?;
        if !clauses.is_word(at + 1, "matched") {
            continue;
        }
        let condition = if then > at + 3 { clauses.text(at + 3, then) } else { "true" };
        let changes = clauses.is_word(then + 1, "update") || clauses.is_word(then + 1, "delete");
        actions.push_str(&format!(" WHEN ({condition}) THEN {changes}"));
    }
    if actions.is_empty() {
        return None;
    }
    let query = format!(
        "{}SELECT 1 FROM {} JOIN {} WHERE CASE{actions} ELSE false END GROUP BY {}.rowid HAVING system.main.count(*) > 1 LIMIT 1",
        clauses.with(),
        target.text,
        clauses.text(using + 1, first),
        target.alias,
    );
    Some(Change::Merge { table: target.table, query })
}

/// UPDATE target SET … FROM source [WHERE condition] [RETURNING …]
fn update_from<'a>(clauses: &Clauses<'a>) -> Option<Change<'a>> {
    let update = clauses.find(0, "update")?;
    let set = clauses.find(update, "set")?;
    let target = clauses.target(update + 1, set)?;
    let mut from = clauses.find(set, "from")?;
    // IS DISTINCT FROM
    while clauses.is_word(from - 1, "distinct") {
        from = clauses.find(from + 1, "from")?;
    }
    let returning = clauses.find(from, "returning");
    let query = format!(
        "{}SELECT system.main.count(*), system.main.count(DISTINCT {}.rowid) FROM {}, {}",
        clauses.with(),
        target.alias,
        target.text,
        clauses.text(from + 1, returning.unwrap_or(clauses.len())),
    );
    Some(Change::UpdateFrom { table: target.table, query, has_returning: returning.is_some() })
}

const UPSERT: &str = "ON CONFLICT DO UPDATE command cannot affect row a second time";
const UPSERT_HINT: &str =
    "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.";
const MERGE: &str = "MERGE command cannot affect row a second time";
const MERGE_HINT: &str = "Ensure that not more than one source row matches any one target row.";
const RETURNING: &str = "UPDATE … FROM with RETURNING cannot affect row a second time";
const RETURNING_HINT: &str =
    "DuckDB would return the row more than once. Make the source's rows unique, or leave RETURNING out.";

fn refused(message: &str, hint: &str) -> EngineError {
    EngineError { hint: Some(hint.to_owned()), ..EngineError::new(SqlState::CARDINALITY_VIOLATION, message) }
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Refuses a statement that would change a row twice. Gives the number of rows that an UPDATE changes, where DuckDB
    /// counts some of them more than once.
    pub(crate) fn check_repeated(
        &mut self,
        statement: &Statement<'_>,
        translated: &Translated,
        values: &[&Parameter],
    ) -> Result<Option<u64>, EngineError> {
        // The calls of table functions have run, and only for the statement itself.
        if !matches!(statement.kind, StatementKind::Insert | StatementKind::Merge | StatementKind::Update)
            || self.may_call_tables(statement.text)
        {
            return Ok(None);
        }
        match read(&statement.kind, &translated.text) {
            None => Ok(None),
            Some(Change::Upsert(upsert)) => {
                let columns = self.own_rows(&Translated::of(&format!("DESCRIBE {}", upsert.table)), &[])?;
                let Some(query) = upsert.query(&columns) else { return Ok(None) };
                match self.rows_before(&query, translated, values)?.is_empty() {
                    true => Ok(None),
                    false => Err(refused(UPSERT, UPSERT_HINT)),
                }
            }
            Some(Change::Merge { table, query }) => {
                let repeats = !self.rows_before(&query, translated, values)?.is_empty();
                if repeats && self.has_row_numbers(table)? { Err(refused(MERGE, MERGE_HINT)) } else { Ok(None) }
            }
            Some(Change::UpdateFrom { table, query, has_returning }) => {
                let counts = self.rows_before(&query, translated, values)?;
                let counts: Vec<u64> =
                    counts.into_iter().flatten().flatten().filter_map(|count| count.parse().ok()).collect();
                match counts[..] {
                    [rows, different] if rows != different && self.has_row_numbers(table)? => match has_returning {
                        true => Err(refused(RETURNING, RETURNING_HINT)),
                        false => Ok(Some(different)),
                    },
                    _ => Ok(None),
                }
            }
        }
    }

    /// The rows of a query about a statement that runs next.
    fn rows_before(
        &mut self,
        query: &str,
        statement: &Translated,
        values: &[&Parameter],
    ) -> Result<Vec<Vec<Option<String>>>, EngineError> {
        let placeholders = Placeholders::find(query);
        let used: Vec<_> = values.iter().copied().filter(|value| placeholders.has(value.number - 1)).collect();
        let asked = self.own_rows(&Translated::of(query), &used);
        // If DuckDB cannot bind the statement, it says where in the client's text.
        asked.map_err(|error| self.connection.describe(statement, values).err().unwrap_or(error))
    }

    /// Whether `rowid` is DuckDB's number of the row, and no column.
    fn has_row_numbers(&mut self, table: &str) -> Result<bool, EngineError> {
        let columns = self.own_rows(&Translated::of(&format!("DESCRIBE {table}")), &[])?;
        let mut names = columns.iter().filter_map(|column| column.first()?.as_deref());
        Ok(!names.any(|name| name.eq_ignore_ascii_case("rowid")))
    }
}

/// What a statement does with keys that are there, if it says so.
fn conflict(kind: &StatementKind, text: &str) -> Option<Conflict> {
    let may_be = *kind == StatementKind::Insert && upsert::may_be(text);
    may_be.then(|| Conflict::read(&Clauses::new(text))).flatten()
}

/// Whether a statement says what to do with keys that are there.
pub(crate) fn has_conflict_clause(statement: &Statement<'_>) -> bool {
    conflict(&statement.kind, statement.text).is_some()
}

/// Whether an error about a key that is there can only come from another session: the statement says what to do with
/// this key, and does it for those that were there when it began.
pub(crate) fn is_concurrent(statement: &str, message: &str) -> bool {
    let kind = Statement::of(statement, Dialect::DuckDb).kind;
    conflict(&kind, statement).is_some_and(|conflict| conflict.has_key_of(message))
}

#[cfg(test)]
mod tests;
