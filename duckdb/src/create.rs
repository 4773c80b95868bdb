//! CREATE TABLE with columns that number their rows: the sequences, the table, and whose they are.

use colonnade_server::{EngineAnswer, EngineError, SqlState, value};
use colonnade_sql::statement::{CreateTable, NumberedColumn};
use colonnade_sql::{Dialect, Statement, quote};

use crate::session::BATCH;
use crate::{LibraryConnection, Translated, TranslatingSession, numbered};

/// DuckDB's name of a schema (`catalog.sql`).
const MEANT: &str = "colonnade_catalog.main.meant";

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Runs such a statement, within a transaction.
    pub(crate) fn create(&mut self, statement: &Statement<'_>, table: &CreateTable) -> Result<(), EngineError> {
        let options = table.numbered.iter().map(numbered::sequence_options).collect::<Result<Vec<_>, _>>()?;
        // Where the table will be, in SQL. A name of two parts begins with its schema.
        let (database, schema) = match (table.is_temporary, table.schema.last()) {
            (true, _) => (quote::string("temp", Dialect::DuckDb), quote::string("main", Dialect::DuckDb)),
            (false, Some(schema)) => {
                ("current_database()".to_owned(), format!("{MEANT}({})", quote::string(schema, Dialect::DuckDb)))
            }
            (false, None) => ("current_database()".to_owned(), "system.main.current_schema()".to_owned()),
        };
        let here = format!("database_name = {database} AND lower(schema_name) = lower({schema})");
        let named = |kind: &str| format!("lower({kind}_name) = lower({})", quote::string(&table.name, Dialect::DuckDb));
        if table.if_not_exists {
            let exists = format!("SELECT 1 FROM duckdb_tables() WHERE {here} AND {}", named("table"));
            if !self.ask(&exists)?.is_empty() {
                return self.create_table(statement, table, &[]);
            }
        }
        let prefix = match (table.is_temporary, &table.schema[..]) {
            (true, _) => vec!["temp".to_owned()],
            (false, []) => self.ask("SELECT system.main.current_schema()")?,
            (false, parts) => parts.to_vec(),
        };
        // The engine looks for temporary things first, and has no longer name for them in some places.
        let quoted = |name: &str| quote::identifier(name, Dialect::DuckDb);
        let within = |name: &str| match table.is_temporary {
            true => quoted(name),
            false => prefix.iter().map(String::as_str).chain([name]).map(quoted).collect::<Vec<_>>().join("."),
        };
        let mut names: Vec<String> = Vec::new();
        for (NumberedColumn { name, .. }, options) in table.numbered.iter().zip(options) {
            let wanted = format!("{}_{name}_seq", table.name);
            let taken = format!("SELECT lower(sequence_name) FROM duckdb_sequences() WHERE {here}");
            let taken = self.ask(&taken)?;
            // As in PostgreSQL, the first one that is free.
            let free = std::iter::once(wanted.clone()).chain((1..).map(|number| format!("{wanted}{number}")));
            let name = free.into_iter().find(|name| !taken.contains(&name.to_lowercase())).unwrap_or(wanted);
            let kind = if table.is_temporary { "TEMP SEQUENCE" } else { "SEQUENCE" };
            self.done(&format!("CREATE {kind} {} {options}", within(&name)))?;
            names.push(name);
        }
        let sequences: Vec<_> = names.iter().map(|name| readable(&prefix, name)).collect();
        self.create_table(statement, table, &sequences)?;
        for name in &names {
            // Dropped with it.
            self.done(&format!("ALTER SEQUENCE {} OWNED BY {}", within(name), within(&table.name)))?;
        }
        Ok(())
    }

    fn create_table(
        &mut self,
        statement: &Statement<'_>,
        table: &CreateTable,
        sequences: &[String],
    ) -> Result<(), EngineError> {
        let created = Translated::of(statement.text).edited(|_| numbered::edits(table, sequences));
        self.connection.execute(&created.translated(&self.home), &[], BATCH, false).map(drop)
    }

    /// Runs a statement that the client has not written. A place in it would be none in the client's.
    fn done(&mut self, statement: &str) -> Result<EngineAnswer, EngineError> {
        let statement = self.translated(statement);
        let placeless = |error| EngineError { position: None, ..error };
        self.connection.execute(&statement, &[], BATCH, false).map_err(placeless)
    }

    /// The first column of a query's rows; NULL is left out.
    fn ask(&mut self, query: &str) -> Result<Vec<String>, EngineError> {
        let EngineAnswer::Rows(mut rows) = self.done(query)? else { return Ok(Vec::new()) };
        let schema = rows.schema();
        let mut found = Vec::new();
        while let Some(batch) = rows.next()? {
            let (Some(field), Some(array)) = (schema.fields().first(), batch.columns().first()) else { continue };
            let column = value::ColumnWriter::new(field, array.as_ref(), "a text").map_err(internal)?;
            for row in (0..batch.num_rows()).filter(|row| !column.is_null(*row)) {
                let mut text = Vec::new();
                column.write_text(row, &mut text).map_err(internal)?;
                found.push(String::from_utf8_lossy(&text).into_owned());
            }
        }
        Ok(found)
    }
}

/// A name with its schema, in quotes where it needs them: what `nextval` reads and people see.
fn readable(prefix: &[String], name: &str) -> String {
    let parts: Vec<_> = prefix.iter().map(String::as_str).chain([name]).map(quote::plain_or_quoted).collect();
    parts.join(".")
}

fn internal(error: impl std::fmt::Display) -> EngineError {
    EngineError::new(SqlState::INTERNAL_ERROR, error.to_string())
}
