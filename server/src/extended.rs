//! The extended query protocol: Parse, Bind, Describe, Execute, Close (PostgreSQL protocol, "Extended Query").

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::cancel::Control;
use crate::engine::Columns;
use crate::error::Failure;
use crate::message::backend;
use crate::message::frontend::{Message, Target};
use crate::portal::Portal;
use crate::prepared::PreparedStatement;
use crate::rows::{self, Formats};
use crate::savepoint::Savepoints;
use crate::session::Session;

/// A message of the extended protocol, without what it borrows.
pub enum Step {
    Parse { name: String, query: String, types: Vec<u32> },
    Bind { portal: String, statement: String, formats: Vec<i16>, values: Vec<Option<Vec<u8>>>, results: Vec<i16> },
    Describe(Target, String),
    Close(Target, String),
    Execute { portal: String, rows: u32 },
}

impl Step {
    /// The message, if it is one of these.
    pub fn from_message(message: &Message<'_>) -> Option<Self> {
        Some(match message {
            Message::Parse { name, query, types } => {
                Self::Parse { name: (*name).to_owned(), query: (*query).to_owned(), types: types.clone() }
            }
            Message::Bind { portal, statement, formats, values, results } => Self::Bind {
                portal: (*portal).to_owned(),
                statement: (*statement).to_owned(),
                formats: formats.clone(),
                values: values.iter().map(|value| value.map(<[u8]>::to_vec)).collect(),
                results: results.clone(),
            },
            Message::Describe(target, name) => Self::Describe(*target, (*name).to_owned()),
            Message::Close(target, name) => Self::Close(*target, (*name).to_owned()),
            Message::Execute { portal, rows } => Self::Execute { portal: (*portal).to_owned(), rows: *rows },
            _ => return None,
        })
    }
}

/// What a client has prepared. The one without a name is replaced by the next without a name.
#[derive(Default)]
pub struct Prepared {
    statements: HashMap<String, Arc<PreparedStatement>>,
    portals: HashMap<String, Portal>,
    /// Whether statements since the last Sync run in a transaction that the session began for them.
    pub is_pipeline: bool,
    pub savepoints: Savepoints,
}

/// So many statements, and portals, may a client have prepared at a time.
const MOST: usize = 4096;

impl Prepared {
    /// A simple query ends what has no name.
    pub fn forget_unnamed(&mut self) {
        self.statements.remove("");
        self.portals.remove("");
    }

    /// The end of a transaction ends all portals, and savepoints.
    pub fn forget_portals(&mut self) {
        self.savepoints.clear();
        self.portals.clear();
    }

    /// Forgets a statement, or all of them; says whether there was such a one.
    pub fn deallocate(&mut self, name: Option<&str>) -> bool {
        match name {
            Some(name) => self.statements.remove(name).is_some(),
            None => {
                self.statements.clear();
                true
            }
        }
    }

    /// Frees the engine from portals that are in the middle of their rows.
    pub fn set_portals_aside(&mut self, control: &Control) -> Result<(), Failure> {
        self.portals.values_mut().filter_map(Portal::cursor).try_for_each(|cursor| cursor.set_aside(control))
    }

    pub fn take_portal(&mut self, name: &str) -> Result<Portal, Failure> {
        self.portals.remove(name).ok_or_else(|| Failure::NoPortal(name.to_owned()))
    }

    pub fn put_portal(&mut self, name: &str, portal: Portal) {
        self.portals.insert(name.to_owned(), portal);
    }

    /// Checks that a statement of this name may be made.
    fn check_name(&self, name: &str) -> Result<(), Failure> {
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(Failure::StatementExists(name.to_owned()));
        }
        if self.statements.len() >= MOST { Err(Failure::TooManyPrepared(MOST)) } else { Ok(()) }
    }

    fn statement(&self, name: &str) -> Result<&Arc<PreparedStatement>, Failure> {
        self.statements.get(name).ok_or_else(|| Failure::NoStatement(name.to_owned()))
    }

    fn add_portal(&mut self, name: String, portal: Portal) -> Result<(), Failure> {
        let count = self.portals.len();
        match self.portals.entry(name) {
            Entry::Occupied(entry) if !entry.key().is_empty() => Err(Failure::PortalExists(entry.key().clone())),
            Entry::Occupied(mut entry) => {
                entry.insert(portal);
                Ok(())
            }
            Entry::Vacant(_) if count >= MOST => Err(Failure::TooManyPrepared(MOST)),
            Entry::Vacant(entry) => {
                entry.insert(portal);
                Ok(())
            }
        }
    }
}

impl Session {
    /// Answers one message.
    pub fn step(&mut self, step: Step) -> Result<(), Failure> {
        match step {
            Step::Parse { name, query, types } => self.parse(name, &query, &types)?,
            Step::Bind { portal, statement, formats, values, results } => {
                let prepared = Arc::clone(self.prepared.statement(&statement)?);
                self.check_transaction(prepared.kind)?;
                let bound = prepared.bind(&statement, &formats, &values)?;
                self.prepared.add_portal(portal, Portal::new(prepared, bound, Formats::new(results)))?;
                backend::bind_complete(self.output.buffer());
            }
            Step::Describe(target, name) => self.describe(target, &name)?,
            Step::Close(target, name) => {
                match target {
                    Target::Statement => drop(self.prepared.statements.remove(&name)),
                    Target::Portal => drop(self.prepared.portals.remove(&name)),
                }
                backend::close_complete(self.output.buffer());
            }
            Step::Execute { portal, rows } => self.run_portal(&portal, (rows > 0).then_some(rows.into()))?,
        }
        Ok(())
    }

    fn parse(&mut self, name: String, query: &str, types: &[u32]) -> Result<(), Failure> {
        self.prepared.check_name(&name)?;
        self.check_transaction(crate::query::kind(query))?;
        let _running = self.start()?;
        let statement = PreparedStatement::new(self.engine()?, query, types)?;
        self.prepared.statements.insert(name, Arc::new(statement));
        backend::parse_complete(self.output.buffer());
        Ok(())
    }

    /// Says which parameters a statement takes, and which columns it will give. It does not run.
    fn describe(&mut self, target: Target, name: &str) -> Result<(), Failure> {
        let (statement, formats) = match target {
            Target::Statement => {
                let statement = Arc::clone(self.prepared.statement(name)?);
                backend::parameter_description(self.output.buffer(), statement.parameter_oids());
                (statement, Formats::default())
            }
            Target::Portal => {
                let portal = self.prepared.portals.get(name).ok_or_else(|| Failure::NoPortal(name.to_owned()))?;
                (Arc::clone(&portal.statement), portal.formats.clone())
            }
        };
        match &statement.columns {
            Columns::None => backend::no_data(self.output.buffer()),
            Columns::Known(columns) => rows::describe(self.output.buffer(), columns, &formats)?,
            Columns::Late => return Err(Failure::LateColumns),
        }
        Ok(())
    }
}
