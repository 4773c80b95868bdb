//! Upsert: COPY into a temporary table, and from there INSERT … ON CONFLICT into the table.
//! <https://www.postgresql.org/docs/current/sql-insert.html#SQL-ON-CONFLICT>

use super::column_type::{ColumnType, TableColumn};
use super::stage::{STAGE, Stage};
use super::steps::WritePlan;
use super::table::{quoted, text};
use super::transfer::Transfer;
use crate::shared_connection::AnswerError;
use crate::write::repeated_key;
use crate::{Error, ErrorKind};

const SAVEPOINT: &str = "colonnade_upsert";
/// The SQLSTATE of a row that ON CONFLICT would change a second time.
const SECOND_CHANGE: &str = "21000";

/// The rows of an upsert.
pub(super) struct UpsertStage {
    stage: Stage,
    /// The names of the key's columns, quoted.
    key: Vec<String>,
    /// The columns that a row with an existing key gets, quoted.
    replaced: Vec<String>,
}

/// A column of a unique index.
struct IndexColumn {
    index: String,
    /// Whether ON CONFLICT can use the index: all rows are in it, and it is checked at once.
    usable: bool,
    /// `None` is an expression.
    name: Option<String>,
    /// Whether the index compares by the column's own rules, and these take only identical texts for equal.
    strict: bool,
}

impl UpsertStage {
    /// Checks that the key is a unique index of the table, and makes the temporary table.
    ///
    /// # Errors
    /// There is no such index, or the database refuses.
    pub(super) fn begin(
        transfer: &mut Transfer<'_>,
        table: &str,
        columns: &[TableColumn],
        plan: &WritePlan,
    ) -> Result<Self, AnswerError> {
        let key = &plan.target.key;
        let index = index_of(transfer, table, key)?;
        let coarse = |name: &String| {
            let strict = index.iter().any(|column| column.name.as_ref() == Some(name) && column.strict);
            !strict || !columns.iter().any(|column| column.name == *name && is_identity(column))
        };
        let names = plan.columns.iter().map(|(name, _)| name);
        let replaced = names.clone().filter(|name| !key.contains(name) || coarse(name)).map(|name| quoted(name));
        let replaced = replaced.collect();
        let stage = Stage::create(transfer, table, plan)?;
        Ok(Self { stage, key: key.iter().map(|name| quoted(name)).collect(), replaced })
    }

    /// Moves the rows into the table. Their number is `rows`.
    ///
    /// # Errors
    /// Two rows have one key, the table has another number of them afterwards, or the database refuses.
    pub(super) fn merge(&self, transfer: &mut Transfer<'_>, rows: u64) -> Result<(), AnswerError> {
        let stored = if self.replaced.is_empty() { self.add_keys(transfer)? } else { self.replace(transfer)? };
        Stage::end(transfer, rows, stored)
    }

    /// Inserts or updates every row. Returns their number.
    fn replace(&self, transfer: &mut Transfer<'_>) -> Result<u64, AnswerError> {
        let changes: Vec<_> = self.replaced.iter().map(|name| format!("{name} = EXCLUDED.{name}")).collect();
        let sql = format!("{} DO UPDATE SET {}", self.insert(), changes.join(", "));
        transfer.ask(&format!("SAVEPOINT {SAVEPOINT}"))?;
        match transfer.change(&sql) {
            Err(AnswerError::Refused(error)) if error.sqlstate() == Some(SECOND_CHANGE) => {
                transfer.ask(&format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}"))?;
                // A function of a trigger may have the same SQLSTATE.
                self.refuse_repeated(transfer)?;
                Err(AnswerError::Refused(error))
            }
            stored => {
                let stored = stored?;
                transfer.ask(&format!("RELEASE SAVEPOINT {SAVEPOINT}"))?;
                Ok(stored)
            }
        }
    }

    /// Inserts the rows whose key is missing. Returns how many of all are in the table afterwards.
    fn add_keys(&self, transfer: &mut Transfer<'_>) -> Result<u64, AnswerError> {
        self.refuse_repeated(transfer)?;
        transfer.change(&format!("{} DO NOTHING", self.insert()))?;
        let same: Vec<_> = self.key.iter().map(|name| format!("t.{name} = s.{name}")).collect();
        let sql = format!(
            "SELECT pg_catalog.count(*) FROM {STAGE} s WHERE EXISTS (SELECT 1 FROM {} t WHERE {})",
            self.stage.table,
            same.join(" AND ")
        );
        count(transfer, &sql)
    }

    fn insert(&self) -> String {
        format!("{} ON CONFLICT ({})", self.stage.insert(), self.key.join(", "))
    }

    /// # Errors
    /// Two rows have one key.
    fn refuse_repeated(&self, transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        let shown: Vec<_> = self.key.iter().map(|name| format!("{name}::pg_catalog.text")).collect();
        let sql = format!(
            "SELECT {} FROM {STAGE} GROUP BY {} HAVING pg_catalog.count(*) > 1 LIMIT 1",
            shown.join(", "),
            self.key.join(", ")
        );
        refuse_repeated(transfer, &self.key, &sql)
    }
}

/// The number that a query counts.
pub(super) fn count(transfer: &mut Transfer<'_>, sql: &str) -> Result<u64, AnswerError> {
    let counted = transfer.ask(sql)?.into_iter().flatten().flatten().next();
    Ok(counted.and_then(|count| count.parse().ok()).unwrap_or_default())
}

/// # Errors
/// The query, which asks for a repeated key of the data as texts, has a row.
pub(super) fn refuse_repeated(transfer: &mut Transfer<'_>, key: &[String], sql: &str) -> Result<(), AnswerError> {
    match transfer.ask(sql)?.into_iter().next() {
        None => Ok(()),
        Some(row) => {
            let values: Vec<_> = row.into_iter().map(Option::unwrap_or_default).collect();
            Err(AnswerError::Refused(repeated_key(key, &values)))
        }
    }
}

/// The columns of the unique index on exactly the key's columns.
fn index_of(transfer: &mut Transfer<'_>, table: &str, key: &[String]) -> Result<Vec<IndexColumn>, AnswerError> {
    // Columns that an index only includes have no operator class. Old versions have only deterministic collations.
    let sql = format!(
        "SELECT i.indexrelid, i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL, a.attname, \
         o.opcdefault AND k.coll = a.attcollation \
         AND coalesce(pg_catalog.to_jsonb(l) ->> 'collisdeterministic', 'true') = 'true' \
         FROM pg_catalog.pg_index i CROSS JOIN LATERAL \
         ROWS FROM (pg_catalog.unnest(i.indkey), pg_catalog.unnest(i.indclass), pg_catalog.unnest(i.indcollation)) \
         WITH ORDINALITY AS k(attnum, opclass, coll, place) \
         JOIN pg_catalog.pg_opclass o ON o.oid = k.opclass \
         LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum \
         LEFT JOIN pg_catalog.pg_collation l ON l.oid = k.coll \
         WHERE i.indrelid = {}::pg_catalog.regclass AND i.indisunique ORDER BY i.indexrelid, k.place",
        text(table)
    );
    let is_true = |value: Option<&Option<String>>| value.is_some_and(|value| value.as_deref() == Some("t"));
    let mut indexes: Vec<Vec<IndexColumn>> = Vec::new();
    for row in transfer.ask(&sql)? {
        let column = IndexColumn {
            index: row.first().cloned().flatten().unwrap_or_default(),
            usable: is_true(row.get(1)),
            name: row.get(2).cloned().flatten(),
            strict: is_true(row.get(3)),
        };
        match indexes.last_mut() {
            Some(last) if last.first().is_some_and(|first| first.index == column.index) => last.push(column),
            _ => indexes.push(vec![column]),
        }
    }
    let has = |index: &[IndexColumn], name: &String| index.iter().any(|column| column.name.as_ref() == Some(name));
    let is_key = |index: &[IndexColumn]| index.len() == key.len() && key.iter().all(|name| has(index, name));
    let (usable, others): (Vec<_>, Vec<_>) =
        indexes.into_iter().partition(|index| index.iter().all(|column| column.usable && column.name.is_some()));
    // ON CONFLICT uses all indexes on these columns. If one of them is not strict, the key is not.
    let (fitting, others_usable): (Vec<_>, Vec<_>) = usable.into_iter().partition(|index| is_key(index));
    let mut fitting = fitting.into_iter();
    let Some(first) = fitting.next() else {
        let is_limited = others.iter().any(|index| is_key(index));
        return Err(AnswerError::Refused(no_index(table, key, is_limited, &others_usable)));
    };
    Ok(fitting.fold(first, |mut strictest, index| {
        for column in &mut strictest {
            column.strict &= index.iter().all(|other| other.name != column.name || other.strict);
        }
        strictest
    }))
}

fn no_index(table: &str, key: &[String], is_limited: bool, usable: &[Vec<IndexColumn>]) -> Error {
    let list = |names: &mut dyn Iterator<Item = &String>| {
        let names: Vec<_> = names.map(|name| quoted(name)).collect();
        format!("({})", names.join(", "))
    };
    let wanted = list(&mut key.iter());
    let limited = if is_limited { "; one on these columns is partial, deferrable, or not valid" } else { "" };
    let others = usable.iter().map(|index| list(&mut index.iter().filter_map(|column| column.name.as_ref())));
    let others: Vec<_> = others.collect();
    let known =
        if others.is_empty() { String::new() } else { format!(", or give a key that has one: {}", others.join(", ")) };
    let message = format!("the table {table} has no unique index on exactly the key {wanted}{limited}");
    Error::new(ErrorKind::Database, message)
        .with_sqlstate("42P10")
        .with_hint(format!("make one: CREATE UNIQUE INDEX ON {table} {wanted}{known}"))
}

/// Whether values that the type takes for equal are the same value. 0.0 and -0.0 are equal, as are 1 day and 24 hours.
fn is_identity(column: &TableColumn) -> bool {
    use ColumnType as T;
    if column.is_received_as_text {
        // It has an equality of its own: citext's ignores case.
        return false;
    }
    matches!(
        ColumnType::of(column),
        Some(
            T::Bool
                | T::Int2
                | T::Int4
                | T::Int8
                | T::Numeric(Some(_))
                | T::Text
                | T::Varchar(_)
                | T::Char(_)
                | T::Enum
                | T::Bytea
                | T::Date
                | T::Time(_)
                | T::Timestamp { .. }
                | T::Uuid
        )
    )
}
