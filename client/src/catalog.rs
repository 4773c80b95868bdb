//! Where databases list their tables.
//!
//! [`POSTGRES`] and [`MYSQL`] list all tables of the catalog as texts, with ADBC's names: `catalog_name`,
//! `db_schema_name`, `table_name`, `table_type`, and `estimated_rows`. [`tables`] lists those of users.

use crate::Dialect;

/// All tables of PostgreSQL's catalog, and of the one that `colonnade serve` has.
pub const POSTGRES: &str = include_str!("catalog/postgres.sql");

/// All tables of MySQL's and MariaDB's `information_schema`. A database is a catalog, which has one schema without a
/// name.
pub const MYSQL: &str = include_str!("catalog/mysql.sql");

/// The query for the tables of users: `catalog`, `schema`, `name`, `type` and the planner's `estimated_rows`, in the
/// order of their names. A table is found by its name and `schema`, so this is MySQL's database. Temporary tables are
/// not listed. `None` if this crate does not know where the database lists them.
pub fn tables(dialect: Dialect) -> Option<String> {
    match dialect {
        // PostgreSQL reserves schemas that begin with pg_ for itself.
        Dialect::Postgres { .. } | Dialect::DuckDb => Some(format!(
            "SELECT catalog_name AS catalog, db_schema_name AS schema, table_name AS name, table_type AS type,
                CAST(estimated_rows AS bigint) AS estimated_rows
            FROM ({POSTGRES}) AS objects
            WHERE db_schema_name <> 'information_schema' AND pg_catalog.left(db_schema_name, 3) <> 'pg_'
            ORDER BY db_schema_name, table_name"
        )),
        Dialect::MySql { .. } => Some(format!(
            "SELECT CAST(NULL AS CHAR) AS `catalog`, catalog_name AS `schema`, table_name AS `name`,
                CASE table_type WHEN 'BASE TABLE' THEN 'table' ELSE LOWER(table_type) END AS `type`,
                CAST(estimated_rows AS SIGNED) AS estimated_rows
            FROM ({MYSQL}) AS objects
            WHERE catalog_name NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
            ORDER BY catalog_name, table_name"
        )),
        // Names that begin with sqlite_ are SQLite's own.
        Dialect::Sqlite => Some(
            "SELECT CAST(NULL AS TEXT) AS \"catalog\", 'main' AS \"schema\", name, type, CAST(NULL AS INTEGER) AS estimated_rows
            FROM sqlite_schema
            WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
            ORDER BY name"
                .to_owned(),
        ),
        Dialect::Unknown => None,
    }
}
