//! Where databases list their objects. Each query gives texts, first the names of what a row is in, and a column `place` to sort by. The other
//! columns have the names of the fields that they are for.

use colonnade_sql::Dialect;

/// The queries of a kind of database.
pub(super) struct Queries {
    /// `catalog_name`.
    pub(super) catalogs: &'static str,
    /// `catalog_name`, `db_schema_name`.
    pub(super) schemas: &'static str,
    /// `catalog_name`, `db_schema_name`, `table_name`, `table_type`.
    pub(super) tables: &'static str,
    /// The names of the table, and the fields of a column.
    pub(super) columns: &'static str,
    /// The names of the table, and the fields of a constraint; a row for each column of a constraint, which is `constrained_column`.
    pub(super) constraints: &'static str,
}

impl Queries {
    pub(super) fn of(dialect: Dialect) -> Option<&'static Self> {
        match dialect {
            Dialect::Postgres { .. } | Dialect::DuckDb => Some(&POSTGRES),
            Dialect::MySql { .. } => Some(&MYSQL),
            Dialect::Sqlite | Dialect::Unknown => None,
        }
    }
}

/// Of PostgreSQL's catalog, which `colonnade serve` has too. A connection sees one database, so that is the only catalog.
static POSTGRES: Queries = Queries {
    catalogs: "SELECT current_database()::text AS catalog_name, 1 AS place",
    schemas: include_str!("postgres/schemas.sql"),
    tables: include_str!("postgres/tables.sql"),
    columns: include_str!("postgres/columns.sql"),
    constraints: include_str!("postgres/constraints.sql"),
};

/// Of MySQL's and MariaDB's `information_schema`. A database is a catalog, which has one schema without a name.
static MYSQL: Queries = Queries {
    catalogs: include_str!("mysql/catalogs.sql"),
    schemas: include_str!("mysql/schemas.sql"),
    tables: include_str!("mysql/tables.sql"),
    columns: include_str!("mysql/columns.sql"),
    constraints: include_str!("mysql/constraints.sql"),
};
