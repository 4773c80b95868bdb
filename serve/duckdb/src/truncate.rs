//! TRUNCATE of several tables, or with PostgreSQL's options. DuckDB's TRUNCATE has one table and no options.
//!
//! CASCADE takes no further tables: where rows of others refer to those of the table, DuckDB's error remains.

use colonnade_server::{EngineError, SqlState};
use colonnade_sql::{Dialect, code};

use crate::definitions::number;
use crate::{LibraryConnection, TranslatingSession};

/// Such a statement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Truncate<'a> {
    /// The tables' names, as the client writes them.
    tables: Vec<&'a str>,
    /// Whether their sequences begin again.
    restarts: bool,
}

/// Reads such a statement. `None` for others, also for those that DuckDB knows.
pub(crate) fn read(statement: &str) -> Option<Truncate<'_>> {
    let mut tokens = code(statement, Dialect::DuckDb).peekable();
    tokens.next_if(|token| token.is_word("truncate"))?;
    let mut is_plain = true;
    tokens.next_if(|token| token.is_word("table"));
    let mut tables = Vec::new();
    loop {
        if tokens.next_if(|token| token.is_word("only")).is_some() {
            is_plain = false;
        }
        let first = tokens.next().filter(|token| token.is_identifier())?;
        let mut end = first.end();
        while tokens.next_if(|token| token.is_symbol(b'.')).is_some() {
            end = tokens.next().filter(|token| token.is_identifier())?.end();
        }
        tokens.next_if(|token| token.is_symbol(b'*'));
        tables.push(&statement[first.start..end]);
        if tokens.next_if(|token| token.is_symbol(b',')).is_none() {
            break;
        }
    }
    let mut restarts = false;
    if let Some(option) = tokens.next_if(|token| token.is_one_of(&["restart", "continue"])) {
        tokens.next().filter(|token| token.is_word("identity"))?;
        (restarts, is_plain) = (option.is_word("restart"), false);
    }
    if tokens.next_if(|token| token.is_one_of(&["cascade", "restrict"])).is_some() {
        is_plain = false;
    }
    let is_end = tokens.next().is_none_or(|token| token.is_symbol(b';'));
    (is_end && !(is_plain && tables.len() == 1)).then_some(Truncate { tables, restarts })
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Runs such a statement. The caller has begun a transaction.
    pub(crate) fn truncate(&mut self, truncate: &Truncate<'_>) -> Result<(), EngineError> {
        for table in &truncate.tables {
            self.run_own(&format!("TRUNCATE TABLE {table}"))?;
            if !truncate.restarts {
                continue;
            }
            if self.is_temporary(table)? {
                let message = "RESTART IDENTITY of a temporary table is not supported";
                return Err(EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            // As statements, because DuckDB takes no name of a sequence from a table.
            let restarts = format!(
                "SELECT 'SELECT system.main.setval(''' \
                        || replace(colonnade_catalog.pg.quote_ident(s.schema_name) || '.' \
                                   || colonnade_catalog.pg.quote_ident(s.sequence_name), '''', '''''') \
                        || ''', ' || s.start_value || ', false)' \
                 FROM system.main.duckdb_columns() c JOIN system.main.duckdb_sequences() s \
                     ON s.sequence_oid = colonnade_catalog.pg.to_regclass(\
                         system.main.regexp_extract(c.column_default, '^\\(?nextval\\(''(.*)''\\)\\)?$', 1)) \
                 WHERE c.table_oid = {}",
                number(table)
            );
            for restart in self.first_column(&restarts)? {
                self.first_column(&restart)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_options_are_read() {
        let found = |tables, restarts| Some(Truncate { tables, restarts });
        for (statement, expected) in [
            ("truncate t restart identity", found(vec!["t"], true)),
            ("TRUNCATE TABLE ONLY s.\"T\" CONTINUE IDENTITY CASCADE;", found(vec!["s.\"T\""], false)),
            ("truncate a, b.c *, only d restart identity restrict", found(vec!["a", "b.c", "d"], true)),
            ("truncate t cascade", found(vec!["t"], false)),
            ("truncate t", None),
            ("truncate table s.t;", None),
            ("truncate t restart", None),
            ("truncate a,", None),
            ("truncate a b", None),
            ("delete from t", None),
        ] {
            assert_eq!(read(statement), expected, "{statement}");
        }
    }
}
