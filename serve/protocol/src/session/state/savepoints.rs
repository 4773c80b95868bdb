//! The savepoints of a transaction.

use crate::error::Failure;
use crate::limits::Charged;
use crate::notifications::NotificationMark;

/// The savepoints of a transaction, the oldest first.
#[derive(Debug, Default)]
pub struct Savepoints(Vec<Charged<Savepoint>>);

#[derive(Debug)]
pub(crate) struct Savepoint {
    pub name: String,
    /// Whether a later statement may have written.
    pub may_have_written: bool,
    /// The mark of the settings at the savepoint ([`Settings::mark`](crate::session::settings::Settings::mark)).
    pub settings: usize,
    pub notifications: NotificationMark,
}

impl Savepoints {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn may_write(&mut self) {
        self.0.iter_mut().for_each(|savepoint| savepoint.may_have_written = true);
    }

    pub fn push(&mut self, savepoint: Charged<Savepoint>) {
        self.0.push(savepoint);
    }

    /// The position of the last savepoint with this name, and the savepoint.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(&self, name: &str) -> Result<(usize, &Savepoint), Failure> {
        let found = self.0.iter().enumerate().rfind(|(_, savepoint)| savepoint.name == name);
        found.map(|(at, savepoint)| (at, &**savepoint)).ok_or_else(|| Failure::NoSavepoint(name.to_owned()))
    }

    /// Keeps the first `count`.
    pub fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }
}
