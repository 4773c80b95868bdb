//! The client's prepared statements and portals, by name.

pub(crate) mod portal;
pub(crate) mod statement;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use portal::{Portal, PortalLifetime};
use statement::PreparedStatement;

use crate::connection::cancel::Control;
use crate::error::Failure;
use crate::limits::Charged;
use crate::message::frontend::StatementOrPortal;

/// A client's prepared statements and portals. A new unnamed one replaces the former unnamed one.
#[derive(Default)]
pub struct Prepared {
    statements: HashMap<String, Arc<Charged<PreparedStatement>>>,
    portals: HashMap<String, Charged<Portal>>,
    /// A portal whose description was requested, but is deferred until it runs.
    pub described_portal: Option<String>,
}

/// The maximum number of a client's prepared statements, and of its portals.
const MAX_PREPARED: usize = 4096;

impl Prepared {
    /// Removes the unnamed statement and portal, as a simple query does.
    pub fn forget_unnamed(&mut self) {
        self.statements.remove("");
        self.portals.remove("");
    }

    /// Removes the portals that end with the transaction. Held cursors of earlier transactions stay. If the transaction
    /// `commits`, its cursors WITH HOLD stay too.
    pub fn forget_portals(&mut self, commits: bool) {
        self.portals.retain(|_, portal| {
            if commits && portal.life == PortalLifetime::Holdable {
                portal.life = PortalLifetime::Held;
            }
            portal.life == PortalLifetime::Held
        });
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

    /// Removes a statement, or all of them. Gives whether it existed.
    pub fn deallocate(&mut self, name: Option<&str>) -> bool {
        match name {
            Some(name) => self.statements.remove(name).is_some(),
            None => {
                self.statements.clear();
                true
            }
        }
    }

    /// Sets the remaining rows of all unfinished results aside, so that the engine can run a statement.
    pub fn set_portals_aside(&mut self, control: &Control) -> Result<(), Failure> {
        let portals = self.portals.values_mut();
        portals.filter_map(|portal| portal.cursor()).try_for_each(|cursor| cursor.set_aside(control))
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

    /// Checks that a statement with this name can be prepared.
    pub fn check_name(&self, name: &str) -> Result<(), Failure> {
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(Failure::StatementExists(name.to_owned()));
        }
        if self.statements.len() >= MAX_PREPARED { Err(Failure::TooManyPrepared(MAX_PREPARED)) } else { Ok(()) }
    }

    pub fn put_statement(&mut self, name: &str, statement: Arc<Charged<PreparedStatement>>) {
        self.statements.insert(name.to_owned(), statement);
    }

    pub fn close(&mut self, target: StatementOrPortal, name: &str) {
        match target {
            StatementOrPortal::Statement => drop(self.statements.remove(name)),
            StatementOrPortal::Portal => drop(self.portals.remove(name)),
        }
    }

    pub fn portal(&mut self, name: &str) -> Result<&mut Charged<Portal>, Failure> {
        self.portals.get_mut(name).ok_or_else(|| Failure::NoPortal(name.to_owned()))
    }

    pub fn statement(&self, name: &str) -> Result<&Arc<Charged<PreparedStatement>>, Failure> {
        self.statements.get(name).ok_or_else(|| Failure::NoStatement(name.to_owned()))
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
