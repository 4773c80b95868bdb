//! The statements that a connection has described.
//!
//! A description tells whether all columns can be requested in binary. If it is remembered, the next run of the
//! statement needs one round trip: Parse, Describe, Bind and Execute are sent together. The server still parses the
//! statement each time, so the meaning of its literals and names is never that of an earlier time, and the new
//! description decides how the rows are read.

use std::collections::VecDeque;

use super::catalog::Catalog;
use super::kind::{self, ColumnDescription};
use crate::QueryOptions;
use crate::postgres::extended::{ResultColumn, ValueFormat};
use crate::postgres::parameters::BoundStatement;
use crate::postgres::request::is_read;

/// The statements that are remembered, and the most bytes of each.
const STATEMENTS: usize = 64;
const LONGEST: usize = 4096;

/// The statements of one connection, the last used one at the end.
#[derive(Debug, Default)]
pub(in crate::postgres) struct KnownStatements(VecDeque<KnownStatement>);

/// A statement and its columns.
#[derive(Debug)]
pub(super) struct KnownStatement {
    sql: String,
    types: Vec<u32>,
    pub(super) columns: Vec<ResultColumn>,
    /// Whether its last answer was short and came at once. Its description then need not come before.
    pub(super) is_short: bool,
}

impl KnownStatements {
    /// Takes out a statement that can be run in one round trip, with its expected columns.
    pub(super) fn take(
        &mut self,
        statement: &BoundStatement,
        options: &QueryOptions,
    ) -> Option<(KnownStatement, Vec<ColumnDescription>)> {
        let place = self.0.iter().rposition(|known| known.is(statement))?;
        let known = self.0.remove(place)?;
        let columns = in_binary(&known.columns, options)?;
        Some((known, columns))
    }

    /// Remembers a statement that has run. Only statements that read are remembered: if the columns of one have
    /// changed, its result may have to be refused after it has run.
    pub(super) fn note(&mut self, statement: &BoundStatement, columns: Vec<ResultColumn>, is_short: bool) {
        if statement.sql.len() > LONGEST || !is_read(&statement.sql) {
            return;
        }
        self.0.retain(|known| !known.is(statement));
        if self.0.len() >= STATEMENTS {
            self.0.pop_front();
        }
        let (sql, types) = (statement.sql.clone(), statement.types());
        self.0.push_back(KnownStatement { sql, types, columns, is_short });
    }
}

impl KnownStatement {
    fn is(&self, statement: &BoundStatement) -> bool {
        let types = statement.values.iter().map(|value| &value.type_oid);
        self.sql == statement.sql && self.types.iter().eq(types)
    }
}

/// The columns of a result, if all are requested in binary and the catalog is not needed.
pub(super) fn in_binary(described: &[ResultColumn], options: &QueryOptions) -> Option<Vec<ColumnDescription>> {
    if kind::needs_catalog(described, options) {
        return None;
    }
    let columns = kind::columns(described, &Catalog::default(), options).ok()?;
    columns.iter().all(|column| column.format == ValueFormat::Binary).then_some(columns)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Sent;

    const INT4: u32 = 23;
    const INET: u32 = 869;

    fn column(type_oid: u32) -> ResultColumn {
        ResultColumn { name: "c".to_owned(), type_oid, typmod: -1, origin: (0, 0) }
    }

    fn statement(sql: &str) -> BoundStatement {
        BoundStatement { sql: sql.to_owned(), values: Vec::new() }
    }

    #[test]
    fn only_a_statement_with_the_same_text_and_types_is_known() {
        let (mut known, options) = (KnownStatements::default(), QueryOptions::default());
        known.note(&statement("select 1"), vec![column(INT4)], true);
        assert!(known.take(&statement("select 2"), &options).is_none());
        let value = Sent { type_oid: INT4, is_binary: true, bytes: None };
        let with_value = BoundStatement { sql: "select 1".to_owned(), values: vec![value] };
        assert!(known.take(&with_value, &options).is_none());
        let (found, columns) = known.take(&statement("select 1"), &options).unwrap();
        assert!(found.is_short && columns.len() == 1);
    }

    #[test]
    fn columns_that_need_text_or_the_catalog_are_described_first() {
        let (mut known, options) = (KnownStatements::default(), QueryOptions::default());
        known.note(&statement("select x"), vec![column(INT4), column(INET)], true);
        assert!(known.take(&statement("select x"), &options).is_none());
        known.note(&statement("select y"), vec![column(INT4)], true);
        let as_text = QueryOptions { as_text: vec!["c".to_owned()], ..QueryOptions::default() };
        assert!(known.take(&statement("select y"), &as_text).is_none());
    }

    #[test]
    fn statements_with_effects_and_long_ones_are_not_remembered() {
        let (mut known, options) = (KnownStatements::default(), QueryOptions::default());
        let long = format!("select {}", "1".repeat(LONGEST));
        for sql in ["insert into t values (1) returning a", long.as_str()] {
            known.note(&statement(sql), vec![column(INT4)], true);
            assert!(known.take(&statement(sql), &options).is_none());
        }
    }

    #[test]
    fn the_last_used_statements_are_kept() {
        let (mut known, options) = (KnownStatements::default(), QueryOptions::default());
        for number in 0..=STATEMENTS {
            known.note(&statement(&format!("select {number}")), vec![column(INT4)], false);
        }
        assert!(known.take(&statement("select 0"), &options).is_none());
        assert!(known.take(&statement("select 1"), &options).is_some());
    }
}
