//! The client's prepared statements and portals, by name.

pub(crate) mod cursors;
pub(crate) mod lists;
pub(crate) mod portal;
pub(crate) mod statement;
pub(crate) mod statements;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use cursors::{CursorEntry, Cursors, ListedCursor};
use jiff::Timestamp;
use lists::SessionLists;
use portal::{Portal, PortalLifetime, State};
use statement::PreparedStatement;
use statements::{MAX_PREPARED, Statements};

use crate::connection::cancel::Control;
use crate::error::Failure;
use crate::limits::Charged;
use crate::message::frontend::StatementOrPortal;
use crate::session::settings::modes::ShownModes;

/// A client's prepared statements and portals. A new unnamed one replaces the former unnamed one.
pub struct Prepared {
    pub statements: Arc<Statements>,
    /// The modes of transactions, as functions of SQL see them.
    pub modes: Arc<ShownModes>,
    cursors: Arc<Cursors>,
    portals: HashMap<String, Charged<Portal>>,
    /// A portal whose description was requested, but is deferred until it runs.
    pub described_portal: Option<String>,
}

impl Prepared {
    pub fn new(lists: SessionLists) -> Self {
        let SessionLists { statements, cursors, modes } = lists;
        Self { statements, cursors, modes, portals: HashMap::new(), described_portal: None }
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.statements.clear();
        self.portals.clear();
        self.described_portal = None;
    }

    /// Removes the unnamed statement and portal, as a simple query does.
    pub fn forget_unnamed(&mut self) {
        self.statements.remove("");
        self.portals.remove("");
    }

    /// Removes the portals that end with the transaction. Held cursors of earlier transactions stay. If the transaction
    /// `commits`, its cursors WITH HOLD stay too.
    pub fn forget_portals(&mut self, commits: bool) {
        self.portals.retain(|_, portal| match portal.life {
            PortalLifetime::Held => true,
            PortalLifetime::Holdable => commits,
            PortalLifetime::Protocol | PortalLifetime::Declared => false,
        });
    }

    /// Notes that the transaction of the cursors WITH HOLD has committed.
    pub fn hold_cursors(&mut self) {
        for portal in self.portals.values_mut().filter(|portal| portal.life == PortalLifetime::Holdable) {
            portal.life = PortalLifetime::Held;
        }
    }

    pub fn retain_portals(&mut self, keep: impl Fn(&Portal) -> bool) {
        self.portals.retain(|_, portal| keep(portal));
    }

    /// Checks that a cursor with this name can be declared.
    pub fn check_cursor(&self, name: &str) -> Result<(), Failure> {
        if self.portals.contains_key(name) {
            return Err(Failure::PortalExists(name.to_owned()));
        }
        if self.portals.len() >= MAX_PREPARED { Err(Failure::TooManyPrepared(MAX_PREPARED)) } else { Ok(()) }
    }

    /// Sets the remaining rows of all unfinished results aside, so that the engine can run a statement.
    ///
    /// # Errors
    /// If that fails for one of them. Its rows are lost, so it has failed.
    pub fn set_portals_aside(&mut self, control: &Control) -> Result<(), Failure> {
        self.portals.values_mut().try_for_each(|portal| {
            let set_aside = portal.cursor().map_or(Ok(()), |cursor| cursor.set_aside(control));
            set_aside.inspect_err(|_| portal.state = State::Failed)
        })
    }

    /// Lists a portal until the entry is dropped.
    pub fn list(
        &self,
        name: &str,
        statement: &Arc<Charged<PreparedStatement>>,
        is_held: bool,
        is_scrollable: bool,
    ) -> CursorEntry {
        let (statement, since) = (Arc::clone(statement), Timestamp::now());
        self.cursors.add(ListedCursor { name: name.to_owned(), statement, is_held, is_scrollable, since })
    }

    pub fn take_portal(&mut self, name: &str) -> Result<Charged<Portal>, Failure> {
        self.portals.remove(name).ok_or_else(|| Failure::NoPortal(name.to_owned()))
    }

    pub fn put_portal(&mut self, name: &str, portal: Charged<Portal>) {
        self.portals.insert(name.to_owned(), portal);
    }

    pub fn has_portal(&self, name: &str) -> bool {
        self.portals.contains_key(name)
    }

    pub fn close(&mut self, target: StatementOrPortal, name: &str) {
        match target {
            StatementOrPortal::Statement => {
                self.statements.remove(name);
            }
            StatementOrPortal::Portal => drop(self.portals.remove(name)),
        }
    }

    pub fn portal(&mut self, name: &str) -> Result<&mut Charged<Portal>, Failure> {
        self.portals.get_mut(name).ok_or_else(|| Failure::NoPortal(name.to_owned()))
    }

    pub fn add_portal(&mut self, name: String, portal: Charged<Portal>) -> Result<(), Failure> {
        let count = self.portals.len();
        match self.portals.entry(name) {
            Entry::Occupied(entry) if !entry.key().is_empty() => Err(Failure::PortalExists(entry.key().clone())),
            Entry::Occupied(mut entry) => {
                entry.insert(portal);
                Ok(())
            }
            Entry::Vacant(_) if count >= MAX_PREPARED => Err(Failure::TooManyPrepared(MAX_PREPARED)),
            Entry::Vacant(entry) => {
                entry.insert(portal);
                Ok(())
            }
        }
    }
}
