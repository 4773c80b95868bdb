//! Transactions. Without autocommit, one begins before the first statement that needs it, so that an idle connection
//! keeps none open.

use adbc_core::constants;
use adbc_core::error::{Result, Status};
use colonnade_client::{Dialect, Transaction};

use super::Session;
use crate::error::{refused, with_sqlstate};

/// How a session uses transactions.
pub(super) struct Transactions {
    autocommit: bool,
    isolation: Isolation,
    pub(super) read_only: bool,
    /// Whether this driver has begun one and not ended it. The source knows better if it says.
    begun: bool,
}

impl Default for Transactions {
    fn default() -> Self {
        Self { autocommit: true, isolation: Isolation::Default, read_only: false, begun: false }
    }
}

/// What a transaction sees of others. ADBC's snapshot and linearizable isolation have no name in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// As the database does it.
    Default,
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// ADBC's names, and SQL's.
const ISOLATION: [(Isolation, &str, &str); 5] = [
    (Isolation::Default, constants::ADBC_OPTION_ISOLATION_LEVEL_DEFAULT, ""),
    (Isolation::ReadUncommitted, constants::ADBC_OPTION_ISOLATION_LEVEL_READ_UNCOMMITTED, "READ UNCOMMITTED"),
    (Isolation::ReadCommitted, constants::ADBC_OPTION_ISOLATION_LEVEL_READ_COMMITTED, "READ COMMITTED"),
    (Isolation::RepeatableRead, constants::ADBC_OPTION_ISOLATION_LEVEL_REPEATABLE_READ, "REPEATABLE READ"),
    (Isolation::Serializable, constants::ADBC_OPTION_ISOLATION_LEVEL_SERIALIZABLE, "SERIALIZABLE"),
];

impl Isolation {
    /// # Errors
    /// ADBC has no such level, or SQL has no name for it.
    pub(crate) fn parse(name: &str) -> Result<Self> {
        let found = ISOLATION.iter().find(|(_, adbc, _)| *adbc == name);
        found.map(|(isolation, ..)| *isolation).ok_or_else(|| {
            let names = ISOLATION.map(|(_, adbc, _)| adbc).join(", ");
            refused(Status::NotImplemented, format!("there is no isolation level {name}: use one of {names}"))
        })
    }

    /// ADBC's name.
    pub(crate) fn name(self) -> &'static str {
        ISOLATION.iter().find(|(isolation, ..)| *isolation == self).map_or("", |(_, adbc, _)| adbc)
    }

    fn sql(self) -> &'static str {
        ISOLATION.iter().find(|(isolation, ..)| *isolation == self).map_or("", |(.., sql)| sql)
    }
}

impl Session {
    pub(crate) fn autocommit(&self) -> bool {
        self.transactions().autocommit
    }

    pub(crate) fn isolation(&self) -> Isolation {
        self.transactions().isolation
    }

    /// # Errors
    /// A transaction is open, or the database has no levels.
    pub(crate) fn set_isolation(&self, isolation: Isolation) -> Result<()> {
        self.refuse_transaction("the isolation level")?;
        let has_levels = !matches!(self.dialect(), Dialect::Sqlite | Dialect::Unknown);
        if !has_levels && !matches!(isolation, Isolation::Default | Isolation::Serializable) {
            let message = "the database's transactions are serializable: leave the isolation level at its default";
            return Err(refused(Status::NotImplemented, message));
        }
        self.transactions().isolation = isolation;
        Ok(())
    }

    /// Autocommit that is switched on commits what is open.
    ///
    /// # Errors
    /// As for [`Session::commit`].
    pub(crate) fn set_autocommit(&self, autocommit: bool) -> Result<()> {
        if autocommit && !self.autocommit() {
            self.commit()?;
        }
        self.transactions().autocommit = autocommit;
        Ok(())
    }

    /// Commits the open transaction, if there is one.
    ///
    /// # Errors
    /// Autocommit is on, a result is not read to its end, the transaction has failed and is rolled back, or the
    /// database refuses.
    pub(crate) fn commit(&self) -> Result<()> {
        self.refuse_autocommit("commit")?;
        self.free()?;
        self.wait_for_state();
        // PostgreSQL answers COMMIT of such a transaction with ROLLBACK and without an error.
        if self.source.transaction() == Some(Transaction::Failed) {
            self.end("ROLLBACK")?;
            let message = "the transaction was rolled back, because one of its statements had failed";
            return Err(with_sqlstate(refused(Status::InvalidState, message), "25P02"));
        }
        if self.in_transaction() { self.end("COMMIT") } else { Ok(()) }
    }

    /// Waits until the source says whether a transaction is open, which it does not while the rest of a result that was
    /// released is cancelled. In PostgreSQL, that makes the transaction fail.
    fn wait_for_state(&self) {
        if self.source.transaction().is_none() {
            // Its error is that of a failed transaction, or comes again with the next statement.
            let _ = self.execute("SELECT 1", None);
        }
    }

    /// Rolls the open transaction back, if there is one. A result that is still read is given up.
    ///
    /// # Errors
    /// Autocommit is on, or the database refuses.
    pub(crate) fn rollback(&self) -> Result<()> {
        self.refuse_autocommit("roll back")?;
        self.current().give_up("the result was given up: its transaction was rolled back");
        if self.in_transaction() { self.end("ROLLBACK") } else { Ok(()) }
    }

    /// Begins a transaction, unless autocommit is on or one is open.
    ///
    /// # Errors
    /// Those of the source.
    pub(super) fn begin_transaction(&self) -> Result<()> {
        if self.autocommit() || self.in_transaction() { Ok(()) } else { self.begin() }
    }

    /// Runs several statements so that all of them have an effect or none. Within a transaction, the caller ends it.
    ///
    /// # Errors
    /// Those of `work`, and of the transaction around it.
    pub(crate) fn atomically<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.in_transaction() {
            return work();
        }
        self.begin()?;
        match work() {
            Ok(done) => self.end("COMMIT").map(|()| done),
            Err(error) => {
                // The first error is the reason; if the connection is lost, the server rolls back.
                let _ = self.end("ROLLBACK");
                Err(error)
            }
        }
    }

    fn begin(&self) -> Result<()> {
        let level = self.isolation().sql();
        match self.dialect() {
            Dialect::MySql { .. } => {
                if !level.is_empty() {
                    self.execute(&format!("SET TRANSACTION ISOLATION LEVEL {level}"), None)?;
                }
                self.execute("START TRANSACTION", None)?;
            }
            Dialect::Postgres { .. } | Dialect::DuckDb if !level.is_empty() => {
                self.execute(&format!("BEGIN ISOLATION LEVEL {level}"), None)?;
            }
            _ => drop(self.execute("BEGIN", None)?),
        }
        self.transactions().begun = true;
        Ok(())
    }

    fn end(&self, how: &str) -> Result<()> {
        self.execute(how, None)?;
        self.transactions().begun = false;
        Ok(())
    }

    fn in_transaction(&self) -> bool {
        let begun = self.transactions().begun;
        self.source.transaction().map_or(begun, |transaction| transaction != Transaction::None)
    }

    /// # Errors
    /// A transaction is open. What changes within one may end with it.
    pub(super) fn refuse_transaction(&self, what: &str) -> Result<()> {
        if self.in_transaction() {
            let message = format!("{what} cannot change within a transaction: commit it or roll it back first");
            return Err(refused(Status::InvalidState, message));
        }
        Ok(())
    }

    fn refuse_autocommit(&self, what: &str) -> Result<()> {
        if self.autocommit() {
            let message = format!("there is nothing to {what}: autocommit is on (adbc.connection.autocommit)");
            return Err(refused(Status::InvalidState, message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn levels_have_adbcs_names() {
        for (isolation, name, _) in ISOLATION {
            assert_eq!(Isolation::parse(name).unwrap(), isolation);
            assert_eq!(isolation.name(), name);
        }
        let error = Isolation::parse(constants::ADBC_OPTION_ISOLATION_LEVEL_LINEARIZABLE).unwrap_err();
        assert_eq!(error.status, Status::NotImplemented);
    }
}
