//! Where databases list their objects. Each query gives texts, first the names of what a row is in, and a column
//! `place` to sort by. The other columns have the names of the fields that they are for.

use adbc_core::error::Result;
use colonnade_client::{Dialect, catalog};

use crate::error::not_implemented;
use crate::session::Session;

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
    /// The names of the table, and the fields of a constraint; a row for each column of a constraint, which is
    /// `constrained_column`.
    pub(super) constraints: &'static str,
    /// The names of a table and of a column, or NULL for the table itself, `statistic_key`, `estimate` and
    /// `statistic_is_approximate`.
    pub(super) statistics: &'static str,
}

impl Queries {
    /// Those of a session's database.
    ///
    /// # Errors
    /// There are none.
    pub(super) fn find(session: &Session) -> Result<&'static Self> {
        match session.dialect() {
            Dialect::Postgres { .. } => Ok(&POSTGRES),
            Dialect::DuckDb => Ok(&SERVED),
            Dialect::MySql { .. } => Ok(&MYSQL),
            Dialect::Sqlite | Dialect::Unknown => Err(not_implemented(
                "this driver lists the objects of PostgreSQL, colonnade serve, MySQL and MariaDB: query sqlite_schema",
            )),
        }
    }
}

/// Of PostgreSQL's catalog. A connection sees one database, so that is the only catalog.
const POSTGRES: Queries = Queries {
    catalogs: "SELECT current_database()::text AS catalog_name, 1 AS place",
    schemas: include_str!("postgres/schemas.sql"),
    tables: catalog::POSTGRES,
    columns: include_str!("postgres/columns.sql"),
    constraints: include_str!("postgres/constraints.sql"),
    statistics: include_str!("postgres/statistics.sql"),
};

/// Of PostgreSQL's catalog as `colonnade serve` has it.
const SERVED: Queries = Queries { statistics: include_str!("duckdb/statistics.sql"), ..POSTGRES };

/// Of MySQL's and MariaDB's `information_schema`. A database is a catalog, which has one schema without a name.
const MYSQL: Queries = Queries {
    catalogs: include_str!("mysql/catalogs.sql"),
    schemas: include_str!("mysql/schemas.sql"),
    tables: catalog::MYSQL,
    columns: include_str!("mysql/columns.sql"),
    constraints: include_str!("mysql/constraints.sql"),
    statistics: include_str!("mysql/statistics.sql"),
};
