//! Savepoints for an engine that has none. ROLLBACK TO is accepted only if nothing was written since the savepoint.
//! This is enough for drivers, which use savepoints around queries of the catalog.

use colonnade_sql::statement;

use crate::error::Failure;
use crate::message::backend::{self, TransactionStatus};
use crate::session::state::Session;
use crate::session::state::savepoints::Savepoint;

impl Session {
    pub fn savepoint(&mut self, statement: &statement::Savepoint) -> Result<(), Failure> {
        if !self.transaction.is_open() {
            return Err(Failure::NoTransaction("SAVEPOINT"));
        }
        let savepoints = &mut self.transaction.savepoints;
        let tag = match statement {
            statement::Savepoint::Set(name) => {
                let savepoint = Savepoint {
                    name: name.clone(),
                    may_have_written: false,
                    settings: self.settings.mark(),
                    notifications: self.caller.notifications.mark(),
                };
                savepoints.push(self.control.budget.keep(savepoint, name.len())?);
                "SAVEPOINT"
            }
            statement::Savepoint::Release(name) => {
                let (at, _) = savepoints.find(name)?;
                savepoints.truncate(at);
                "RELEASE"
            }
            statement::Savepoint::RollBackTo(name) => {
                let (at, &Savepoint { may_have_written, settings, notifications, .. }) = savepoints.find(name)?;
                if may_have_written {
                    return Err(Failure::NotSupported("ROLLBACK TO a SAVEPOINT after a write"));
                }
                let _running = self.start()?;
                // This fails if an error has ended the engine's transaction.
                self.run_own_statement("SELECT 1")?;
                self.transaction.savepoints.truncate(at + 1);
                self.roll_back_settings(settings);
                self.caller.notifications.roll_back(notifications);
                self.transaction.status = TransactionStatus::InTransaction;
                "ROLLBACK"
            }
        };
        backend::command_complete(self.output.buffer(), tag);
        Ok(())
    }
}
