//! What ADBC's options change of a session: whether it only reads, and what names without a qualifier refer to.

use adbc_core::error::{Result, Status};
use colonnade_client::Dialect;
use colonnade_sql::quote;

use super::Session;
use crate::error::{not_implemented, refused};

impl Session {
    /// Whether this driver has made the session read-only.
    pub(crate) fn read_only(&self) -> bool {
        self.transactions().read_only || self.dialect() == Dialect::Sqlite
    }

    /// Lets the session only read, or write again.
    ///
    /// # Errors
    /// A transaction is open; the database cannot do that.
    pub(crate) fn set_read_only(&self, read_only: bool) -> Result<()> {
        self.refuse_transaction("whether a connection only reads")?;
        let mode = if read_only { "READ ONLY" } else { "READ WRITE" };
        match self.dialect() {
            Dialect::Postgres { .. } | Dialect::DuckDb => {
                self.execute(&format!("SET SESSION CHARACTERISTICS AS TRANSACTION {mode}"), None)?;
            }
            Dialect::MySql { .. } => drop(self.execute(&format!("SET SESSION TRANSACTION {mode}"), None)?),
            Dialect::Sqlite if read_only => {}
            Dialect::Sqlite | Dialect::Unknown => {
                return Err(not_implemented("this driver only reads this database: leave the option out"));
            }
        }
        self.transactions().read_only = read_only;
        Ok(())
    }

    /// Chooses a schema.
    ///
    /// # Errors
    /// A transaction is open; the database has no schemas.
    pub(crate) fn set_db_schema(&self, name: &str) -> Result<()> {
        self.refuse_transaction("the schema")?;
        let dialect = self.dialect();
        match dialect {
            Dialect::Postgres { .. } | Dialect::DuckDb => {
                let name = quote::identifier(&without_nul(name)?, dialect);
                self.execute(&format!("SET search_path TO {name}"), None).map(drop)
            }
            _ => Err(not_implemented("this database has no schemas to choose from: write names with their qualifiers")),
        }
    }

    /// Chooses a catalog.
    ///
    /// # Errors
    /// A transaction is open; a session of the database cannot change its catalog.
    pub(crate) fn set_catalog(&self, name: &str) -> Result<()> {
        self.refuse_transaction("the catalog")?;
        let dialect = self.dialect();
        match dialect {
            Dialect::MySql { .. } => {
                let name = quote::identifier(&without_nul(name)?, dialect);
                self.execute(&format!("USE {name}"), None).map(drop)
            }
            _ => {
                Err(not_implemented("a connection stays in its database: open one with the other database in its URI"))
            }
        }
    }
}

fn without_nul(name: &str) -> Result<String> {
    let wrong = || refused(Status::InvalidArguments, "a name cannot hold a NUL");
    if name.contains('\0') { Err(wrong()) } else { Ok(name.to_owned()) }
}
