//! Savepoints for an engine that has none. ROLLBACK TO is accepted only if nothing was written since the savepoint. This is enough for
//! drivers, which use savepoints around queries of the catalog.

use colonnade_sql::statement;

use crate::error::Failure;
use crate::limits::Charged;
use crate::message::backend::{self, TransactionStatus};
use crate::session::state::Session;

#[derive(Debug, Default)]
pub struct Savepoints(Vec<Charged<Savepoint>>);

#[derive(Debug)]
struct Savepoint {
    name: String,
    /// Whether a later statement may have written.
    may_have_written: bool,
    /// The mark of the settings at the savepoint ([`Settings::mark`](crate::session::settings::Settings::mark)).
    settings: usize,
}

impl Savepoints {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn may_write(&mut self) {
        self.0.iter_mut().for_each(|savepoint| savepoint.may_have_written = true);
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
                let savepoint =
                    Savepoint { name: name.clone(), may_have_written: false, settings: self.settings.mark() };
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
                let Savepoint { may_have_written, settings, .. } = *savepoints.0[at];
                if may_have_written {
                    return Err(Failure::NotSupported("ROLLBACK TO a SAVEPOINT after a write"));
                }
                // This fails if an error has ended the engine's transaction.
                self.run_own_statement("SELECT 1")?;
                self.transaction.savepoints.0.truncate(at + 1);
                self.roll_back_settings(settings);
                self.transaction.status = TransactionStatus::InTransaction;
                "ROLLBACK"
            }
        };
        backend::command_complete(self.output.buffer(), tag);
        Ok(())
    }
}
