//! Cuts between the blocks of a table, by the location of rows. This needs no key, and cannot be skewed.
//! <https://www.postgresql.org/docs/current/ddl-system-columns.html>
//!
//! Each row of the result must be exactly one row of the table. This is so if the planner's plan for the query is a
//! scan of the table with nothing above it. A row keeps its location while a snapshot sees it, and a statement that
//! rewrites the table waits for the transactions of the parts.

use colonnade_sql::{Dialect, quote, tokens};

use super::unsupported;
use crate::partition::PartitionSplit;
use crate::partition::plain::{self, Plain, no_plain_read};
use crate::postgres::session::PostgresConnection;
use crate::{ContinueCheck, Error, ErrorKind};

/// Settings that allow only a plain scan.
const PLAIN: [(&str, &str); 4] = [
    ("enable_indexscan", "off"),
    ("enable_indexonlyscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_tidscan", "off"),
];

impl PostgresConnection {
    /// The parts of a query that reads one table, by ranges of its blocks.
    pub(super) fn blocks(
        &self,
        query: &str,
        split: &PartitionSplit,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        if !split.consistent {
            return Err(unsupported(
                "without partition_on, consistent=False is not possible: rows that move would be lost or doubled",
            )
            .with_hint("name a key in partition_on"));
        }
        plain::check_no_range(split)?;
        let text = Plain::of(query, Dialect::POSTGRES).ok_or_else(|| no_plain_read(plain::MORE))?;
        let table = self.aside(&PLAIN, keep, |keep| self.plain_table(query, &text, keep))?;
        let size = format!(
            "SELECT pg_catalog.pg_relation_size(oid) / pg_catalog.current_setting('block_size')::pg_catalog.int8, \
             relkind = 'r' AND NOT relispartition AND relam IN (0, 2) \
             FROM pg_catalog.pg_class WHERE oid = {}::pg_catalog.regclass",
            quote::string(&table, Dialect::POSTGRES)
        );
        let size = self.ask(&size, keep)?;
        if size.text(0, 1) != Some("t") {
            return Err(no_plain_read(&format!("{table} is no ordinary table")));
        }
        let blocks: u64 = size.text(0, 0).and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(ranges(blocks, split.count).iter().map(|range| text.with(range)).collect())
    }

    /// The name of the table that a query only reads, if its rows can be chosen by location.
    fn plain_table(&self, query: &str, text: &Plain<'_>, keep: ContinueCheck<'_>) -> Result<String, Error> {
        let plan = self.ask(&format!("EXPLAIN (VERBOSE, COSTS OFF) {query}"), keep)?;
        let top = plan.text(0, 0).unwrap_or_default().trim();
        let scan = top.strip_prefix("Seq Scan on ");
        let table = scan.map(first_name).ok_or_else(|| no_plain_read(&format!("its plan is a {top}")))?;
        let part = format!("EXPLAIN (VERBOSE, COSTS OFF) {}", text.with("ctid < '(0,0)'"));
        let plan = self.ask(&part, keep).map_err(|error| match error.kind() {
            ErrorKind::Database => no_plain_read(error.message()).with_cause(error),
            _ => error,
        })?;
        let top = plan.text(0, 0).unwrap_or_default().trim();
        // Before version 14, each part scans the whole table.
        match ["Tid Range Scan on ", "Seq Scan on "].iter().find_map(|scan| top.strip_prefix(scan)) {
            Some(name) if first_name(name) == table => Ok(table.to_owned()),
            _ => Err(no_plain_read(&format!("the plan of a part is a {top}"))),
        }
    }
}

/// The table's name at the start of a plan's line, with its schema.
fn first_name(line: &str) -> &str {
    let name = tokens(line, Dialect::POSTGRES).take_while(|token| !token.is_blank());
    &line[..name.last().map_or(0, |last| last.end())]
}

/// Conditions that divide all rows, including those in blocks after the last known one.
fn ranges(blocks: u64, count: usize) -> Vec<String> {
    let count = (count as u64).clamp(1, blocks.max(1));
    let edge = |part: u64| u128::from(blocks) * u128::from(part) / u128::from(count);
    let from = |part: u64| (part > 0).then(|| format!("ctid >= '({},0)'", edge(part)));
    let below = |part: u64| (part + 1 < count).then(|| format!("ctid < '({},0)'", edge(part + 1)));
    let range = |part: u64| from(part).into_iter().chain(below(part)).collect::<Vec<_>>().join(" and ");
    if count == 1 { vec!["true".to_owned()] } else { (0..count).map(range).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_in_one_range() {
        assert_eq!(ranges(0, 4), ["true"]);
        assert_eq!(ranges(10, 1), ["true"]);
        assert_eq!(ranges(2, 8), ["ctid < '(1,0)'", "ctid >= '(1,0)'"]);
        assert_eq!(ranges(10, 3), ["ctid < '(3,0)'", "ctid >= '(3,0)' and ctid < '(6,0)'", "ctid >= '(6,0)'"]);
    }

    #[test]
    fn a_plan_names_its_table() {
        assert_eq!(first_name("public.t"), "public.t");
        assert_eq!(first_name("\"Odd s\".\"a b\" x"), "\"Odd s\".\"a b\"");
    }
}
