//! The cursors and portals of a session, as `pg_cursors` lists them. A portal is in the list as long as it lives, also
//! while it runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::limits::Charged;
use crate::session::prepared::statement::PreparedStatement;

/// The portals of a session, by their age.
#[derive(Default)]
pub struct Cursors(Mutex<BTreeMap<u64, ListedCursor>>);

/// A portal for `pg_cursors`.
#[derive(Clone)]
pub struct ListedCursor {
    pub name: String,
    pub statement: Arc<Charged<PreparedStatement>>,
    pub is_held: bool,
    pub is_scrollable: bool,
    pub since: Timestamp,
}

/// A portal's place in the list.
pub struct CursorEntry {
    cursors: Arc<Cursors>,
    number: u64,
}

impl Cursors {
    fn listed_now(&self) -> MutexGuard<'_, BTreeMap<u64, ListedCursor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists a portal until the entry is dropped.
    pub fn add(self: &Arc<Self>, cursor: ListedCursor) -> CursorEntry {
        let mut listed = self.listed_now();
        let number = listed.last_key_value().map_or(0, |(last, _)| last + 1);
        listed.insert(number, cursor);
        CursorEntry { cursors: Arc::clone(self), number }
    }

    /// All portals.
    pub fn listed(&self) -> Vec<ListedCursor> {
        self.listed_now().values().cloned().collect()
    }
}

impl Drop for CursorEntry {
    fn drop(&mut self) {
        self.cursors.listed_now().remove(&self.number);
    }
}
