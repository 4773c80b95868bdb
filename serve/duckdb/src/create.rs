//! Runs CREATE TABLE with columns that number their rows: it creates the sequences and the table, and makes the table
//! their owner.

use std::collections::HashSet;

use colonnade_server::{EngineAnswer, EngineError};
use colonnade_sql::statement::{CreateTable, NumberedColumn};
use colonnade_sql::{Dialect, Statement, quote};

use crate::session::OWN_BATCH;
use crate::{LibraryConnection, Translated, TranslatingSession, numbered};

/// The macro that gives DuckDB's name of a schema (`catalog_types.sql`).
const ENGINE_SCHEMA: &str = "colonnade_catalog.pg.engine_schema";

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Runs such a statement. The caller has begun a transaction.
    pub(crate) fn create(&mut self, statement: &Statement<'_>, table: &CreateTable) -> Result<(), EngineError> {
        self.connection.check_size(statement.text)?;
        let options = table.numbered.iter().map(numbered::sequence_options).collect::<Result<Vec<_>, _>>()?;
        // SQL expressions for the table's database and schema. The last part of `schema` is the schema's name.
        let (database, schema) = match (table.is_temporary, table.schema.last()) {
            (true, _) => (quote::string("temp", Dialect::DuckDb), quote::string("main", Dialect::DuckDb)),
            (false, Some(schema)) => (
                "system.main.current_database()".to_owned(),
                format!("{ENGINE_SCHEMA}({})", quote::string(schema, Dialect::DuckDb)),
            ),
            (false, None) => ("system.main.current_database()".to_owned(), "system.main.current_schema()".to_owned()),
        };
        let here =
            format!("database_name = {database} AND system.main.lower(schema_name) = system.main.lower({schema})");
        let named = |kind: &str| {
            let name = quote::string(&table.name, Dialect::DuckDb);
            format!("system.main.lower({kind}_name) = system.main.lower({name})")
        };
        if table.if_not_exists {
            let exists = format!("SELECT 1 FROM system.main.duckdb_tables() WHERE {here} AND {}", named("table"));
            if !self.first_column(&exists)?.is_empty() {
                return self.create_table(statement, table, &[]);
            }
        }
        let prefix = match (table.is_temporary, &table.schema[..]) {
            (true, _) => vec!["temp".to_owned()],
            (false, []) => self.first_column("SELECT system.main.current_schema()")?,
            (false, parts) => parts.to_vec(),
        };
        // DuckDB searches temporary objects first. In some statements it does not accept a qualified name for them.
        let quoted = |name: &str| quote::identifier(name, Dialect::DuckDb);
        let within = |name: &str| match table.is_temporary {
            true => quoted(name),
            false => prefix.iter().map(String::as_str).chain([name]).map(quoted).collect::<Vec<_>>().join("."),
        };
        let mut names: Vec<String> = Vec::new();
        let taken = format!("SELECT system.main.lower(sequence_name) FROM system.main.duckdb_sequences() WHERE {here}");
        let mut taken: HashSet<_> = self.first_column(&taken)?.into_iter().collect();
        for (NumberedColumn { name, .. }, options) in table.numbered.iter().zip(options) {
            let wanted = format!("{}_{name}_seq", table.name);
            // As in PostgreSQL, the first free name.
            let free = std::iter::once(wanted.clone()).chain((1..).map(|number| format!("{wanted}{number}")));
            let name = free.into_iter().find(|name| taken.insert(name.to_lowercase())).unwrap_or(wanted);
            let kind = if table.is_temporary { "TEMP SEQUENCE" } else { "SEQUENCE" };
            self.run_own(&format!("CREATE {kind} {} {options}", within(&name)))?;
            names.push(name);
        }
        let sequences: Vec<_> = names.iter().map(|name| qualified_name(&prefix, name)).collect();
        self.create_table(statement, table, &sequences)?;
        for name in &names {
            // Dropping the table then drops the sequence.
            self.run_own(&format!("ALTER SEQUENCE {} OWNED BY {}", within(name), within(&table.name)))?;
        }
        Ok(())
    }

    fn create_table(
        &mut self,
        statement: &Statement<'_>,
        table: &CreateTable,
        sequences: &[String],
    ) -> Result<(), EngineError> {
        let created = Translated::of(statement.text).edited(numbered::edits(table, sequences));
        self.connection.execute(&created.translated(&self.served), &[], OWN_BATCH, false).map(drop)
    }

    /// Runs a statement that the client has not written. A position in it has no meaning for the client.
    pub(crate) fn run_own(&mut self, statement: &str) -> Result<EngineAnswer, EngineError> {
        let statement = self.translated(statement)?;
        let without_position = |error| EngineError { position: None, ..error };
        self.connection.execute(&statement, &[], OWN_BATCH, false).map_err(without_position)
    }

    /// The first column of a query's rows, without NULLs.
    pub(crate) fn first_column(&mut self, query: &str) -> Result<Vec<String>, EngineError> {
        let query = self.translated(query)?;
        Ok(self.own_rows(&query, &[])?.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }
}

/// A name with its schema, with quotes where they are necessary. `nextval` reads it, and users see it.
fn qualified_name(prefix: &[String], name: &str) -> String {
    let parts: Vec<_> = prefix.iter().map(String::as_str).chain([name]).map(quote::plain_or_quoted).collect();
    parts.join(".")
}
