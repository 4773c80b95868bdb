//! Savepoints for an engine that has none. Rolling back to one is possible if nothing was written since, and refused otherwise.
//! Drivers use savepoints around queries of the catalog.

use colonnade_sql::statement;

use crate::error::Failure;
use crate::limits::budget::Kept;
use crate::message::backend::{self, TransactionStatus};
use crate::session::state::Session;

#[derive(Debug, Default)]
pub struct Savepoints(Vec<Kept<Savepoint>>);

#[derive(Debug)]
struct Savepoint {
    name: String,
    /// Whether something may have been written since.
    is_dirty: bool,
    /// How often something was set before.
    settings: usize,
}

impl Savepoints {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn may_write(&mut self) {
        self.0.iter_mut().for_each(|savepoint| savepoint.is_dirty = true);
    }

    fn find(&self, name: &str) -> Result<usize, Failure> {
        let found = self.0.iter().rposition(|savepoint| savepoint.name == name);
        found.ok_or_else(|| Failure::NoSavepoint(name.to_owned()))
    }
}

impl Session {
    pub fn savepoint(&mut self, statement: &statement::Savepoint) -> Result<(), Failure> {
        if !self.transaction.is_open() {
            return Err(Failure::NoTransaction("SAVEPOINT"));
        }
        let savepoints = &mut self.transaction.savepoints;
        let tag = match statement {
            statement::Savepoint::Set(name) => {
                let savepoint = Savepoint { name: name.clone(), is_dirty: false, settings: self.settings.mark() };
                savepoints.0.push(self.control.budget.keep(savepoint, name.len())?);
                "SAVEPOINT"
            }
            statement::Savepoint::Release(name) => {
                let at = savepoints.find(name)?;
                savepoints.0.truncate(at);
                "RELEASE"
            }
            statement::Savepoint::RollBackTo(name) => {
                let at = savepoints.find(name)?;
                let Savepoint { is_dirty, settings, .. } = *savepoints.0[at];
                if is_dirty {
                    return Err(Failure::NotSupported("ROLLBACK TO a SAVEPOINT after something was written"));
                }
                // An error may have ended the engine's transaction.
                self.run_plain("SELECT 1")?;
                self.transaction.savepoints.0.truncate(at + 1);
                self.undo_settings(settings);
                self.transaction.status = TransactionStatus::InTransaction;
                "ROLLBACK"
            }
        };
        backend::command_complete(self.output.buffer(), tag);
        Ok(())
    }
}
