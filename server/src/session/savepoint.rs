//! Savepoints, as far as they can be had from an engine that has none: going back to one is possible if nothing was written
//! since, and refused otherwise. Drivers wrap questions to the catalog in them.

use crate::error::Failure;
use crate::lex::Lexer;
use crate::limits::budget::Kept;
use crate::message::backend::{self, Status};
use crate::session::Session;

/// The savepoints of a transaction.
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
    /// The transaction is over.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A statement runs that may write.
    pub fn may_write(&mut self) {
        self.0.iter_mut().for_each(|savepoint| savepoint.is_dirty = true);
    }

    fn find(&self, name: &str) -> Result<usize, Failure> {
        let found = self.0.iter().rposition(|savepoint| savepoint.name == name);
        found.ok_or_else(|| Failure::NoSavepoint(name.to_owned()))
    }
}

impl Session {
    /// Runs SAVEPOINT, RELEASE or ROLLBACK TO.
    pub fn savepoint(&mut self, text: &str) -> Result<(), Failure> {
        if self.status == Status::Idle {
            return Err(Failure::NoTransaction("SAVEPOINT"));
        }
        let tokens: Vec<_> = Lexer::new(text).collect();
        let name = tokens.last().map(|token| token.value()).unwrap_or_default();
        let is = |word: &str| tokens.first().is_some_and(|token| token.is_word(word));
        let tag = if is("savepoint") {
            let settings = self.settings.mark();
            let bytes = name.len();
            let savepoint = self.control.budget.keep(Savepoint { name, is_dirty: false, settings }, bytes)?;
            self.prepared.savepoints.0.push(savepoint);
            "SAVEPOINT"
        } else {
            let at = self.prepared.savepoints.find(&name)?;
            if is("release") {
                self.prepared.savepoints.0.truncate(at);
                "RELEASE"
            } else {
                if self.prepared.savepoints.0[at].is_dirty {
                    return Err(Failure::NotSupported("ROLLBACK TO a SAVEPOINT after something was written"));
                }
                // An error may have ended the engine's transaction.
                self.run_plain("SELECT 1")?;
                let settings = self.prepared.savepoints.0[at].settings;
                self.prepared.savepoints.0.truncate(at + 1);
                self.undo_settings(settings);
                self.status = Status::InTransaction;
                "ROLLBACK"
            }
        };
        backend::command_complete(self.output.buffer(), tag);
        Ok(())
    }
}
