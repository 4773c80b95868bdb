//! What there is in a database: `GetObjects` and `GetStatistics`.
//!
//! The database is asked once for each level, for flat rows of texts ([`queries`]). Each row begins with the names of
//! what it is in, by which the rows of a level are given to those of the level above ([`nested`]).

mod nested;
mod queries;
mod statistics;

use adbc_core::error::{Result, Status};
use adbc_core::options::ObjectDepth;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use colonnade_client::{Parameters, Value};

use crate::error::refused;
use crate::info::Single;
use crate::session::Session;
use nested::Table;
use queries::Queries;
pub(crate) use statistics::{names as statistic_names, statistics};

/// The column that most rows are sorted by.
const PLACE: &str = "place";

/// Which objects are asked for. In a pattern `%` is any text, `_` any letter, and a letter behind a backslash is
/// itself; `None` is all.
pub(crate) struct Filters<'a> {
    pub(crate) catalog: Option<&'a str>,
    pub(crate) db_schema: Option<&'a str>,
    pub(crate) table: Option<&'a str>,
    /// Kinds of tables.
    pub(crate) kinds: Option<Vec<&'a str>>,
    pub(crate) column: Option<&'a str>,
}

impl<'a> Filters<'a> {
    /// What the names of catalogs, schemas, tables and columns must be like.
    fn patterns(&self) -> [Pattern<'a>; 4] {
        [
            ("catalog_name", self.catalog),
            ("coalesce(db_schema_name, '')", self.db_schema),
            ("table_name", self.table),
            ("column_name", self.column),
        ]
    }
}

/// The rows of each level that was asked for.
struct Levels {
    catalogs: Table,
    schemas: Option<Table>,
    tables: Option<Table>,
    columns: Option<Table>,
    constraints: Option<Table>,
}

/// The objects down to a depth.
///
/// # Errors
/// This driver does not know where the database lists them; otherwise those of the source.
pub(crate) fn objects(session: &Session, depth: ObjectDepth, filters: &Filters<'_>) -> Result<Single> {
    let queries = Queries::find(session)?;
    let [catalog, db_schema, table, column] = filters.patterns();
    let has_schemas = depth != ObjectDepth::Catalogs;
    let has_tables = has_schemas && depth != ObjectDepth::Schemas;
    let has_columns = has_tables && depth != ObjectDepth::Tables;
    let ask = |wanted: bool, query: &str, patterns: &[Pattern<'_>], order: &str| {
        if wanted { read(session, query, patterns, order).map(Some) } else { Ok(None) }
    };
    let mut levels = Levels {
        catalogs: read(session, queries.catalogs, &[catalog], PLACE)?,
        schemas: ask(has_schemas, queries.schemas, &[catalog, db_schema], PLACE)?,
        tables: ask(has_tables, queries.tables, &[catalog, db_schema, table], PLACE)?,
        columns: ask(has_columns, queries.columns, &[catalog, db_schema, table, column], PLACE)?,
        constraints: ask(has_columns, queries.constraints, &[catalog, db_schema, table], "constraint_name, place")?,
    };
    if let (Some(tables), Some(kinds)) = (&mut levels.tables, &filters.kinds) {
        tables.keep("table_type", |kind| kind.is_some_and(|kind| kinds.contains(&kind)));
    }
    nested::nested(levels)
}

/// A column of a query, and what its values must be like.
type Pattern<'a> = (&'static str, Option<&'a str>);

/// The rows of a query whose values are like the patterns.
fn read(session: &Session, query: &str, patterns: &[Pattern<'_>], order: &str) -> Result<Table> {
    let mut sql = format!("SELECT * FROM ({query}) AS objects WHERE 1 = 1");
    let mut values = Vec::new();
    for (column, pattern) in patterns {
        if let Some(pattern) = pattern {
            values.push(Value::Text(escaped(pattern)));
            sql.push_str(&format!(" AND {column} LIKE ${} ESCAPE '!'", values.len()));
        }
    }
    sql.push_str(" ORDER BY ");
    sql.push_str(order);
    let mut table = Table::default();
    for batch in session.ask(&sql, &Parameters::Positional(values))? {
        take(&mut table, &batch)?;
    }
    Ok(table)
}

/// A pattern with `!` in place of the backslash, which some databases' LIKE does not know and others read in literals
/// too.
fn escaped(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        // At the end, a backslash is one.
        let (letter, is_itself) = match letter {
            '\\' => (letters.next().unwrap_or('\\'), true),
            letter => (letter, letter == '!'),
        };
        if is_itself && matches!(letter, '!' | '%' | '_') {
            written.push('!');
        }
        written.push(letter);
    }
    written
}

/// Takes a batch's texts. The column `place` has served its purpose.
fn take(table: &mut Table, batch: &RecordBatch) -> Result<()> {
    let fields = batch.schema_ref().fields().iter();
    let columns: Vec<_> = fields.zip(batch.columns()).filter(|(field, _)| field.name() != PLACE).collect();
    table.names = columns.iter().map(|(field, _)| field.name().to_ascii_lowercase()).collect();
    let mut texts = Vec::with_capacity(columns.len());
    for (field, column) in columns {
        let wrong = || refused(Status::Internal, format!("the catalog's column {} is no text", field.name()));
        texts.push(column.as_string_opt::<i32>().ok_or_else(wrong)?);
    }
    let text = |column: &StringArray, row| column.is_valid(row).then(|| column.value(row).to_owned());
    let row = |row| texts.iter().map(|column| text(column, row)).collect();
    table.rows.extend((0..batch.num_rows()).map(row));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_the_same_everywhere() {
        for (pattern, expected) in
            [("a%_b", "a%_b"), (r"a\%\_\\b", r"a!%!_\b"), ("a!b", "a!!b"), (r"\!", "!!"), (r"\a", "a"), ("a\\", "a\\")]
        {
            assert_eq!(escaped(pattern), expected, "{pattern}");
        }
    }
}
