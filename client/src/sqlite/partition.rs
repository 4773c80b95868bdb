//! Parts of one result over several connections, which see one state of the file.
//!
//! All siblings are in a transaction that reads, until they are closed. With a rollback journal, the first sibling's
//! lock blocks commits of writers (<https://www.sqlite.org/lockingv3.html>). With a write-ahead log, writers continue.
//! Another connection then reports whether one has committed between the first and the last sibling's start
//! (<https://www.sqlite.org/pragma.html#pragma_data_version>).

mod rowid;

use std::sync::Arc;
use std::time::Duration;

use colonnade_sql::split::trimmed;
use colonnade_sql::{Dialect, Token, code, quote, tokens};

use super::connection::{self, SqliteConnection};
use super::kind::ColumnKind;
use super::library::Database;
use super::value::Cell;
use crate::partition::key::{self, unsupported};
use crate::partition::{PartitionSplit, Partitioning, balance, text};
use crate::{Connection, ContinueCheck, Error, ErrorKind};

/// How often siblings are restarted because another process has written.
const ATTEMPTS: usize = 50;
/// The keys in a sample.
const SAMPLE: usize = 1000;
/// Questions about state of a connection that siblings cannot have.
const TEMPORARY: &str = "SELECT count(*) FROM temp.sqlite_schema";
const ATTACHED: &str = "SELECT count(*) FROM pragma_database_list WHERE name NOT IN ('main', 'temp')";
/// Functions that are not deterministic, and the text `'now'`.
const UNSTEADY: [&str; 8] = [
    "random",
    "randomblob",
    "current_timestamp",
    "current_date",
    "current_time",
    "changes",
    "total_changes",
    "last_insert_rowid",
];

impl Partitioning for SqliteConnection {
    fn siblings(
        &self,
        count: usize,
        setup: &[String],
        consistent: bool,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<Arc<dyn Connection>>, Error> {
        let has =
            |sql: &str, keep: ContinueCheck<'_>| Ok::<_, Error>(self.ask(sql, keep)?.first().is_some_and(|n| n != "0"));
        if self.location().file_name().is_none() {
            return Err(unsupported("a database in memory has one connection"));
        }
        if self.work(keep, |database| Ok(database.in_transaction()))? {
            return Err(unsupported("the connection is within a transaction").with_hint("commit first"));
        }
        if has(TEMPORARY, keep)? {
            return Err(unsupported("the connection has temporary tables, which other connections cannot see"));
        }
        if consistent && has(ATTACHED, keep)? {
            return Err(unsupported("several databases cannot show one state of all of them").with_hint(CONSISTENT));
        }
        let logged = consistent
            && !self.location().immutable
            && self.ask("SELECT journal_mode FROM pragma_journal_mode", keep)?.iter().any(|mode| mode == "wal");
        let observers = usize::from(logged);
        let mut siblings = Vec::with_capacity(count + observers);
        for _ in 0..count + observers {
            let sibling = connection::connect(self.location(), keep)?;
            for statement in setup {
                sibling.execute(statement.into(), keep)?;
            }
            siblings.push(sibling);
        }
        if consistent && count > 0 {
            SqliteConnection::together(&siblings, keep, move |databases| {
                let (siblings, observers) = databases.split_at(count);
                begin_together(siblings, observers.first())
            })?;
            siblings.truncate(count);
        }
        let siblings: Vec<_> = siblings.into_iter().map(|sibling| Arc::new(sibling) as Arc<dyn Connection>).collect();
        self.known_siblings().add(&siblings);
        Ok(siblings)
    }

    fn parts(&self, query: &str, split: &PartitionSplit, keep: ContinueCheck<'_>) -> Result<Vec<String>, Error> {
        let query = trimmed(query, Dialect::Sqlite);
        text::check(tokens(query, Dialect::Sqlite))?;
        if split.consistent {
            check_steady(query)?;
        }
        let plain = self.plain(query, keep)?;
        let Some(key) = &split.key else { return self.rowid_parts(plain, split, keep) };
        let described = format!("SELECT * FROM (\n{query}\n) AS {} LIMIT 0", text::ALIAS);
        let columns = self.work(keep, move |database| columns(database, &described))?;
        // SQLite compares names without letter case.
        let column = key::find(&columns, key, |column| &column.name, str::eq_ignore_ascii_case)?;
        if let (Ok(plain), Some(origin)) = (&plain, &column.origin)
            && self.is_rowid(plain.text.from(), &quote::identifier(origin, Dialect::Sqlite), keep)?
        {
            let cuts = match &split.range {
                Some((low, high)) => self.even_cuts(column.kind, low, high, split.count, keep)?,
                None => self.rowid_cuts(plain, split.count, keep)?,
            };
            return Ok(plain.parts(&cuts));
        }
        let key = format!("{}.{}", text::ALIAS, quote::identifier(&column.name, Dialect::Sqlite));
        let cuts = match &split.range {
            Some((low, high)) => self.even_cuts(column.kind, low, high, split.count, keep)?,
            None => self.balanced_cuts(query, &key, split.count, keep)?,
        };
        Ok(if cuts.is_empty() { vec![query.to_owned()] } else { text::parts(query, &key, &cuts) })
    }

    fn has_types_by_values(&self, query: &str, keep: ContinueCheck<'_>) -> Result<bool, Error> {
        let query = query.to_owned();
        let columns = self.work(keep, move |database| columns(database, &query))?;
        Ok(columns.iter().any(|column| column.kind == ColumnKind::ByValues))
    }
}

const CONSISTENT: &str =
    "pass consistent=False to let each part see the state at its own start, or read without partition_num";

/// Begins a transaction on each sibling. All of them see the same state. With a write-ahead log, the observer reports
/// whether another process has committed meanwhile.
fn begin_together(siblings: &[Database], observer: Option<&Database>) -> Result<(), Error> {
    let version = || observer.map(|observer| ask(observer, "PRAGMA data_version")).transpose();
    let mut reason = "it is written to all the time".to_owned();
    for _ in 0..ATTEMPTS {
        let before = version()?;
        match begin(siblings) {
            Ok(()) if before == version()? => return Ok(()),
            Ok(()) => {}
            // The connection that may write goes first.
            Err(error) if error.sqlstate() == Some("55P03") => error.message().clone_into(&mut reason),
            Err(error) => return Err(error),
        }
        for sibling in siblings {
            // Siblings without a transaction are in the right state.
            let _ = ask(sibling, "ROLLBACK");
        }
    }
    Err(unsupported(&format!("the file cannot show one state to several connections: {reason}")).with_hint(CONSISTENT))
}

/// Only the first sibling waits for locks: a writer that waits for its lock would let no other sibling begin.
fn begin(siblings: &[Database]) -> Result<(), Error> {
    for (index, sibling) in siblings.iter().enumerate() {
        if index > 0 {
            sibling.set_patience(Duration::ZERO);
        }
        ask(sibling, BEGIN)?;
    }
    Ok(())
}

/// The first read takes the lock or the snapshot.
const BEGIN: &str = "BEGIN; SELECT count(*) FROM sqlite_schema";

/// The first column of the rows of several statements, as text.
fn ask(database: &Database, sql: &str) -> Result<Vec<String>, Error> {
    ask_for(database, sql, 0)
}

/// One column of the rows of several statements with the same number of columns, as text.
fn ask_for(database: &Database, sql: &str, column: usize) -> Result<Vec<String>, Error> {
    let (mut rest, mut answer) = (sql, Vec::new());
    while !rest.is_empty() {
        let (statement, after) = database.prepare(rest)?;
        if let Some(mut statement) = statement {
            while let Some(row) = statement.step()? {
                answer.push(match row.value(column).cell() {
                    Some(Cell::Integer(number)) => number.to_string(),
                    Some(Cell::Text(text)) => String::from_utf8_lossy(text).into_owned(),
                    _ => String::new(),
                });
            }
        }
        rest = after;
    }
    Ok(answer)
}

fn check_steady(query: &str) -> Result<(), Error> {
    let is_unsteady = |token: &Token<'_>| token.is_one_of(&UNSTEADY) || token.text.eq_ignore_ascii_case("'now'");
    match code(query, Dialect::Sqlite).find(is_unsteady) {
        Some(token) => Err(text::refused(&format!(
            "{} gives another value in each part, so that a row could be in two or in none",
            token.text
        ))
        .with_hint("pass consistent=False if that does not matter, or read without partition_num")),
        None => Ok(()),
    }
}

/// A column of a query.
struct Described {
    name: String,
    kind: ColumnKind,
    /// The name of the table's column.
    origin: Option<String>,
}

fn columns(database: &Database, sql: &str) -> Result<Vec<Described>, Error> {
    database.refresh_schema()?;
    let (statement, _) = database.prepare(sql)?;
    let Some(statement) = statement else { return Ok(Vec::new()) };
    let column = |index| Described {
        name: statement.name(index),
        kind: ColumnKind::declared(statement.declared(index).as_deref()),
        origin: statement.origin(index),
    };
    Ok((0..statement.columns()).map(column).collect())
}

impl SqliteConnection {
    fn ask(&self, sql: &str, keep: ContinueCheck<'_>) -> Result<Vec<String>, Error> {
        let sql = sql.to_owned();
        self.work(keep, move |database| ask(database, &sql))
    }

    /// Cuts for parts of about equal size. The database sorts the sample as it compares the column, so any type is
    /// possible. The literal of a text would end at a NUL.
    fn balanced_cuts(
        &self,
        query: &str,
        key: &str,
        count: usize,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        let alias = text::ALIAS;
        let sample = format!(
            "SELECT count(*) || ' ' || quote(k) FROM (SELECT {key} AS k FROM (\n{query}\n) AS {alias} \
             WHERE typeof({key}) <> 'text' OR instr({key}, char(0)) = 0 ORDER BY random() LIMIT {SAMPLE}) GROUP BY k ORDER BY k"
        );
        let (mut nulls, mut keys) = (0.0, Vec::new());
        for line in self.ask(&sample, keep)? {
            let Some((weight, literal)) = line.split_once(' ') else { continue };
            let weight = weight.parse().unwrap_or(0.0);
            if literal == "NULL" { nulls = weight } else { keys.push((literal.to_owned(), weight)) }
        }
        Ok(balance::cuts(keys, nulls, count))
    }

    /// Cuts at equal distances.
    fn even_cuts(
        &self,
        kind: ColumnKind,
        low: &str,
        high: &str,
        count: usize,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        let steps = 1..count;
        let mut cuts = match (kind, low.parse::<i64>(), high.parse::<i64>(), low.parse::<f64>(), high.parse::<f64>()) {
            (ColumnKind::Date | ColumnKind::Timestamp { .. }, ..) => {
                // A rounded cut also divides the rows, because all of them are compared with the same text.
                let form = if matches!(kind, ColumnKind::Date) { "%Y-%m-%d" } else { "%Y-%m-%d %H:%M:%f" };
                let at = format!(
                    "strftime('{form}', julianday({l}) + (julianday({h}) - julianday({l})) * i / {count})",
                    h = quote::string(high, Dialect::Sqlite),
                    l = quote::string(low, Dialect::Sqlite)
                );
                let last = count.saturating_sub(1);
                self.ask(
                    &format!("WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {last}) SELECT quote({at}) FROM s"),
                    keep,
                )?
            }
            (
                ColumnKind::Integer | ColumnKind::Float | ColumnKind::Decimal { .. } | ColumnKind::ByValues,
                Ok(low),
                Ok(high),
                ..,
            ) => {
                let (low, high) = (i128::from(low), i128::from(high));
                steps.map(|step| (low + (high - low) * step as i128 / count as i128).to_string()).collect()
            }
            (
                ColumnKind::Integer | ColumnKind::Float | ColumnKind::Decimal { .. } | ColumnKind::ByValues,
                _,
                _,
                Ok(low),
                Ok(high),
            ) => steps.map(|step| format!("{:e}", low + (high - low) * (step as f64 / count as f64))).collect(),
            _ => {
                return Err(unsupported("partition_range needs a key of numbers, dates or timestamps")
                    .with_hint("leave partition_range out"));
            }
        };
        cuts.dedup();
        match cuts.iter().any(|cut| cut == "NULL" || cut.contains("inf") || cut.contains("NaN")) {
            true => Err(Error::new(ErrorKind::Usage, "partition_range has a bound that is no value of the key")),
            false => Ok(cuts),
        }
    }
}
