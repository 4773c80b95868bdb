//! ALTER TABLE with several commands and DROP of several objects, which are one statement each in DuckDB, CREATE INDEX
//! without a name, and those that mean more or less there than in PostgreSQL:
//!
//! - DROP of a type, a sequence or a macro with CASCADE drops the tables that use it, with their rows. So CASCADE is left
//!   out, and DuckDB refuses to drop what tables use;
//! - ALTER TABLE … ADD UNIQUE makes a unique index, which means the same. DuckDB keeps its name, and can drop it;
//! - ALTER TYPE, and a composite type without attributes, are refused: DuckDB changes no type, and its rows have fields;
//! - other commands for a table with an index run without it, and make it again (`indexes`).

mod indexes;
mod names;
mod reading;

use colonnade_server::{EngineError, SqlState};
use colonnade_sql::{Dialect, code, quote};

use self::indexes::Effect;
pub(crate) use self::reading::read;
use crate::{LibraryConnection, TranslatingSession};

/// The statement in parts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Definition<'a> {
    /// DROP TABLE, of which one table may refer to another one.
    DropTables { before: &'a str, tables: Vec<&'a str>, after: &'a str },
    /// DROP of something else. `before` has IF EXISTS.
    Drop { before: &'a str, names: Vec<&'a str>, after: &'a str },
    /// CREATE INDEX without a name. `columns` are what PostgreSQL names it after, and `rest` begins with USING or a
    /// parenthesis.
    Index { is_unique: bool, table: &'a str, columns: Vec<String>, rest: &'a str },
    /// What DuckDB cannot define.
    Refused { message: &'static str, hint: &'static str },
    /// ALTER TABLE. `before` is what stands before the table's name, without ONLY.
    Alter { before: &'a str, table: &'a str, commands: Vec<Command<'a>> },
}

/// A command of ALTER TABLE.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Command<'a> {
    text: &'a str,
    kind: CommandKind<'a>,
}

#[derive(Debug, PartialEq, Eq)]
enum CommandKind<'a> {
    /// ADD [CONSTRAINT name] UNIQUE (columns).
    AddUnique { name: Option<String>, columns: &'a str, folded: Vec<String> },
    /// DROP CONSTRAINT.
    DropConstraint { if_exists: bool, name: String },
    /// ADD COLUMN IF NOT EXISTS. `rest` is the column.
    AddColumn { column: String, rest: &'a str },
    /// ALTER COLUMN … TYPE, without USING.
    Type { column: String, type_: &'a str },
    /// Any other, and its effect if DuckDB refuses it for a table with an index.
    Other(Option<Effect>),
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Runs such a statement. The caller has begun a transaction. Gives false if DuckDB may run it as it is.
    pub(crate) fn define(&mut self, definition: Definition<'_>) -> Result<bool, EngineError> {
        if let Definition::Alter { table, commands, .. } = &definition
            && let [Command { kind: CommandKind::Other(..), .. }] = commands[..]
            && self.indexes(table)?.is_none_or(|indexes| indexes.is_empty())
        {
            return Ok(false);
        }
        self.run_parts(definition).map(|()| true)
    }

    fn run_parts(&mut self, definition: Definition<'_>) -> Result<(), EngineError> {
        match definition {
            Definition::Refused { message, hint } => {
                let error = EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
                Err(EngineError { hint: Some(hint.to_owned()), ..error })
            }
            Definition::Drop { before, names, after } => {
                names.into_iter().try_for_each(|name| self.run_own(&format!("{before} {name} {after}")).map(drop))
            }
            Definition::DropTables { before, tables, after } => {
                for table in self.referring_first(tables)? {
                    self.run_own(&format!("{before} {table} {after}"))?;
                }
                Ok(())
            }
            Definition::Index { is_unique, table, columns, rest } => {
                let name = self.index_name(table, &columns)?;
                let unique = if is_unique { "UNIQUE " } else { "" };
                self.run_own(&format!("CREATE {unique}INDEX {name} ON {table} {rest}")).map(drop)
            }
            Definition::Alter { before, table, commands } => {
                // DuckDB finds it first, and the catalog may find another one with the name.
                let is_temporary = self.is_temporary(table)?;
                commands.iter().try_for_each(|command| match is_temporary {
                    true => self.run_own(&format!("{before} {table} {}", command.text)).map(drop),
                    false => self.alter(before, table, command),
                })
            }
        }
    }

    /// The tables in an order in which each one is dropped after those that refer to it.
    fn referring_first<'a>(&mut self, mut tables: Vec<&'a str>) -> Result<Vec<&'a str>, EngineError> {
        let mut ordered = Vec::new();
        while !tables.is_empty() {
            let numbers: Vec<_> = tables.iter().map(|table| number(table)).collect();
            let query = format!(
                "SELECT c.referenced FROM colonnade_catalog.pg.constraints c \
                 WHERE c.relation IN ({0}) AND c.referenced IN ({0}) AND c.relation <> c.referenced",
                numbers.join(", ")
            );
            let referenced = self.first_column(&query)?;
            let mut free = Vec::new();
            for table in &tables {
                let own = self.first_column(&format!("SELECT {}", number(table)))?;
                free.push(own.iter().all(|own| !referenced.contains(own)));
            }
            // Without any, they refer to each other, and DuckDB says so.
            let is_cycle = !free.contains(&true);
            let mut is_free = free.into_iter();
            tables.retain(|table| {
                let goes = is_free.next() == Some(true) || is_cycle;
                if goes {
                    ordered.push(*table);
                }
                !goes
            });
        }
        Ok(ordered)
    }

    /// Whether a temporary table has the name.
    pub(crate) fn is_temporary(&mut self, table: &str) -> Result<bool, EngineError> {
        let name = quote::string(&without_schema(table), Dialect::DuckDb);
        let query = format!(
            "SELECT 1 FROM system.main.duckdb_tables() WHERE temporary AND system.main.lower(table_name) = system.main.lower({name})"
        );
        Ok(!self.first_column(&query)?.is_empty())
    }

    fn alter(&mut self, before: &str, table: &str, command: &Command<'_>) -> Result<(), EngineError> {
        let text = command.text;
        match &command.kind {
            CommandKind::AddUnique { name, columns, folded } => {
                let default = || format!("{}_{}_key", without_schema(table), folded.join("_"));
                let name = quote::identifier(&name.clone().unwrap_or_else(default), Dialect::DuckDb);
                self.run_own(&format!("CREATE UNIQUE INDEX {name} ON {table} {columns}")).map(drop)
            }
            CommandKind::DropConstraint { if_exists, name } => {
                let of_table = format!("relation = {}", number(table));
                let is_named = format!("lower(name) = lower({})", quote::string(name, Dialect::DuckDb));
                let indexes = format!(
                    "SELECT schema || '.' || colonnade_catalog.pg.quote_ident(name) FROM colonnade_catalog.pg.indexes \
                     WHERE {of_table} AND {is_named} AND oid NOT IN (SELECT oid FROM colonnade_catalog.pg.declared)"
                );
                if let Some(index) = self.first_column(&indexes)?.first() {
                    return self.run_own(&format!("DROP INDEX {index}")).map(drop);
                }
                let declared =
                    format!("SELECT name FROM colonnade_catalog.pg.declared WHERE {of_table} AND {is_named}");
                if self.first_column(&declared)?.is_empty() {
                    let message = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
                    let missing = EngineError::new(SqlState::UNDEFINED_OBJECT, message);
                    return if *if_exists { Ok(()) } else { Err(missing) };
                }
                self.run_own(&format!("{before} {table} {text}")).map(drop)
            }
            CommandKind::AddColumn { column, rest } => {
                // DuckDB adds none that is NOT NULL in this way.
                let known = format!(
                    "SELECT column_name FROM system.main.duckdb_columns() WHERE table_oid = {} AND lower(column_name) = lower({})",
                    number(table),
                    quote::string(column, Dialect::DuckDb)
                );
                match self.first_column(&known)?.is_empty() {
                    true if code(rest, Dialect::DuckDb).any(|token| token.is_word("not")) => {
                        self.altered(before, table, &format!("ADD COLUMN {rest}"), &Effect::default())
                    }
                    true => self.run_own(&format!("{before} {table} ADD COLUMN {rest}")).map(drop),
                    false => Ok(()),
                }
            }
            CommandKind::Type { column, type_ } => {
                let column = quote::string(column, Dialect::DuckDb);
                let same = format!(
                    "SELECT data_type FROM system.main.duckdb_columns() WHERE table_oid = {} AND lower(column_name) = lower({column}) \
                     AND data_type = system.main.typeof(CAST(NULL AS {type_}))",
                    number(table)
                );
                // DuckDB stores no lengths, so it may be the column's type already.
                match self.first_column(&same)?.is_empty() {
                    true => self.altered(before, table, text, &Effect::default()),
                    false => Ok(()),
                }
            }
            CommandKind::Other(Some(effect)) => self.altered(before, table, text, effect),
            CommandKind::Other(None) => self.run_own(&format!("{before} {table} {text}")).map(drop),
        }
    }

    /// Runs a command that DuckDB refuses for a table with an index.
    fn altered(&mut self, before: &str, table: &str, text: &str, effect: &Effect) -> Result<(), EngineError> {
        let indexes = self.indexes(table)?.unwrap_or_default();
        let alter = |session: &mut Self| session.run_own(&format!("{before} {table} {text}")).map(drop);
        self.without_indexes(table, &indexes, effect, alter)
    }
}

/// An expression for a table's number; NULL if there is no such table.
pub(crate) fn number(table: &str) -> String {
    format!("colonnade_catalog.pg.to_regclass({})", quote::string(table, Dialect::DuckDb))
}

/// The last part of a table's name, without quotes.
pub(crate) fn without_schema(table: &str) -> String {
    code(table, Dialect::DuckDb).last().map_or_else(String::new, |last| last.folded().into_owned())
}

#[cfg(test)]
mod tests;
