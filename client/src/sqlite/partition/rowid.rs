//! Cuts between the rows of a table by rowid, which is the key of the table's tree. So each part reads different
//! pages.
//! <https://www.sqlite.org/rowidtable.html>
//!
//! Each row of the result must be made of one row of the table. Without DISTINCT, GROUP BY, ORDER BY, LIMIT and set
//! operations, only aggregates, windows and subqueries can relate rows to one another. SQLite's plan and program for
//! the query show whether there are any (<https://www.sqlite.org/eqp.html>, <https://www.sqlite.org/opcode.html>). The
//! plan also shows whether a name means the rowid of a table: SQLite then searches the table's tree.

use colonnade_sql::{Dialect, code};

use super::{SqliteConnection, ask, ask_for, unsupported};
use crate::partition::plain::{self, Plain, no_plain_read};
use crate::partition::{PartitionSplit, balance, text};
use crate::{ContinueCheck, Error};

/// The names of the rowid. A column of the table may have one of them.
const NAMES: [&str; 3] = ["rowid", "_rowid_", "oid"];
/// The plan of a search by rowid.
const BY_ROWID: &str = " USING INTEGER PRIMARY KEY (rowid>?)";
/// The SQLSTATE of a wrong statement.
const NO_COLUMN: &str = "42000";
/// The column that describes a step of a plan, and that of a program.
const DETAIL: usize = 3;
const OPCODE: usize = 1;
/// The ranges of rowids whose rows are estimated, for each part.
const RANGES: usize = 16;
/// The rows at each end of a range that show the density of rowids.
const NEAR: i64 = 100;

/// A query that reads one table and does nothing else.
pub(super) struct PlainTable<'a> {
    pub(super) text: Plain<'a>,
    /// The name of its rowid.
    rowid: &'static str,
}

impl PlainTable<'_> {
    /// The parts that begin with these rowids.
    pub(super) fn parts(&self, cuts: &[String]) -> Vec<String> {
        text::ranges_without_null(self.rowid, cuts).iter().map(|range| self.text.with(range)).collect()
    }
}

/// A range of rowids, from the first to the last row in it, and an estimate of its rows.
struct Range {
    first: i64,
    last: i64,
    rows: f64,
}

impl SqliteConnection {
    /// The query as the read of one table, or the reason why it is more than that.
    pub(super) fn plain<'a>(
        &self,
        query: &'a str,
        keep: ContinueCheck<'_>,
    ) -> Result<Result<PlainTable<'a>, Error>, Error> {
        let Some(text) = Plain::of(query, Dialect::Sqlite) else { return Ok(Err(no_plain_read(plain::MORE))) };
        if code(query, Dialect::Sqlite).nth(1).is_some_and(|second| second.is_word("distinct")) {
            return Ok(Err(no_plain_read("it is DISTINCT")));
        }
        if !text.reads_a_name(Dialect::Sqlite) {
            return Ok(Err(no_plain_read(plain::SEVERAL)));
        }
        let (plan, program) = (format!("EXPLAIN QUERY PLAN {query}"), format!("EXPLAIN {query}"));
        let explained =
            move |database: &_| Ok((ask_for(database, &plan, DETAIL)?, ask_for(database, &program, OPCODE)?));
        let (plan, program) = self.work(keep, explained)?;
        if plan.len() != 1 {
            return Ok(Err(no_plain_read(&format!("its plan is {}", plan.join(", ")))));
        }
        if program.iter().any(|opcode| opcode.starts_with("Agg") || opcode == "Count") {
            return Ok(Err(no_plain_read("it has an aggregate")));
        }
        for rowid in NAMES {
            if self.is_rowid(text.from(), rowid, keep)? {
                return Ok(Ok(PlainTable { text, rowid }));
            }
        }
        Ok(Err(no_plain_read("it reads a view, a virtual table or a table WITHOUT ROWID, or columns hide its rowid")))
    }

    /// Whether a name means the rowid of the table that FROM names.
    pub(super) fn is_rowid(&self, from: &str, name: &str, keep: ContinueCheck<'_>) -> Result<bool, Error> {
        let plan = format!("EXPLAIN QUERY PLAN SELECT NULL FROM {from}\nWHERE {name} >= 0");
        match self.work(keep, move |database| ask_for(database, &plan, DETAIL)) {
            Ok(plan) => Ok(matches!(&plan[..], [scan] if scan.ends_with(BY_ROWID))),
            // There is no such column.
            Err(error) if error.sqlstate() == Some(NO_COLUMN) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The parts of a query without a key.
    pub(super) fn rowid_parts(
        &self,
        plain: Result<PlainTable<'_>, Error>,
        split: &PartitionSplit,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        plain::check_no_range(split)?;
        if !split.consistent {
            return Err(unsupported(
                "without partition_on, consistent=False is not possible: VACUUM may give rows other rowids meanwhile",
            )
            .with_hint("name a key in partition_on"));
        }
        let plain = plain?;
        Ok(plain.parts(&self.rowid_cuts(&plain, split.count, keep)?))
    }

    /// Rowids that make the parts about equally large, whatever their distribution is. Rows that the query filters out
    /// count too.
    pub(super) fn rowid_cuts(
        &self,
        plain: &PlainTable<'_>,
        count: usize,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        let mut ranges: Vec<Range> = self.range(plain, i64::MIN, i64::MAX, keep)?.into_iter().collect();
        while ranges.len() < count.saturating_mul(RANGES) {
            // The range with the most estimated rows.
            let Some(at) = (0..ranges.len()).max_by(|a, b| ranges[*a].rows.total_cmp(&ranges[*b].rows)) else { break };
            if ranges[at].rows <= NEAR as f64 {
                break;
            }
            let Range { first, last, .. } = ranges.swap_remove(at);
            // Rounds down, also below zero, so that the last rowid is above the result.
            let middle = ((i128::from(first) + i128::from(last)).div_euclid(2)) as i64;
            ranges.extend(self.range(plain, first, middle, keep)?);
            ranges.extend(self.range(plain, middle + 1, last, keep)?);
        }
        ranges.sort_by_key(|range| range.first);
        let sample = ranges.into_iter().map(|range| (range.first.to_string(), range.rows)).collect();
        Ok(balance::cuts(sample, 0.0, count))
    }

    /// Estimates the rows of a table between two rowids.
    fn range(
        &self,
        plain: &PlainTable<'_>,
        low: i64,
        high: i64,
        keep: ContinueCheck<'_>,
    ) -> Result<Option<Range>, Error> {
        let (rowid, from) = (plain.rowid, format!("FROM {}\nWHERE", plain.text.from()));
        let within = format!("{rowid} >= {low} AND {rowid} <= {high}");
        let at = |order: &str, offset: i64| {
            format!("SELECT {rowid} {from} {within} ORDER BY {rowid} {order} LIMIT 1 OFFSET {offset}")
        };
        let questions = [at("ASC", 0), at("ASC", NEAR), at("DESC", NEAR), at("DESC", 0)];
        let few = format!("SELECT count(*) FROM (SELECT 1 {from} {within} LIMIT {NEAR})");
        self.work(keep, move |database| {
            let mut found = Vec::with_capacity(questions.len());
            for question in &questions {
                found.extend(ask(database, question)?.iter().filter_map(|rowid| rowid.parse::<i64>().ok()));
            }
            Ok(match found[..] {
                [first, up, down, last] => {
                    let distance = |from: i64, to: i64| i128::from(to) - i128::from(from);
                    // The end with the higher density decides.
                    let near = distance(first, up).min(distance(down, last)) as f64;
                    let rows = distance(first, last) as f64 / near * NEAR as f64;
                    Some(Range { first, last, rows })
                }
                [first, last] => {
                    let rows = ask(database, &few)?.first().and_then(|rows| rows.parse().ok()).unwrap_or(1.0);
                    Some(Range { first, last, rows })
                }
                _ => None,
            })
        })
    }
}
