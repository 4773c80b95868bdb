//! The extended query protocol: Parse, Bind, Describe, Execute, Close (PostgreSQL protocol, "Extended Query").

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use colonnade_sql::Statement;

use crate::connection::cancel::Control;
use crate::engine::Columns;
use crate::error::Failure;
use crate::limits::budget::{Budget, Kept};
use crate::message::backend;
use crate::message::frontend::{Message, Target};
use crate::rows::{self, Formats};
use crate::session::Session;
use crate::session::portal::{Life, Portal};
use crate::session::prepared::PreparedStatement;
use crate::session::query;
use crate::session::savepoint::Savepoints;

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

    /// What it holds, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Self::Parse { name, query, types } => name.len() + query.len() + size_of_val(&types[..]),
            Self::Bind { portal, statement, formats, values, results } => {
                let values = values.iter().map(|value| size_of_val(value) + value.as_ref().map_or(0, Vec::len));
                let codes = size_of_val(&formats[..]) + size_of_val(&results[..]);
                portal.len() + statement.len() + codes + values.sum::<usize>()
            }
            Self::Describe(_, name) | Self::Close(_, name) | Self::Execute { portal: name, .. } => name.len(),
        }
    }

    /// The query string that an error's place is in.
    pub fn query(&self) -> Option<&str> {
        match self {
            Self::Parse { query, .. } => Some(query),
            _ => None,
        }
    }
}

/// What a client has prepared. The one without a name is replaced by the next without a name.
#[derive(Default)]
pub struct Prepared {
    statements: HashMap<String, Arc<Kept<PreparedStatement>>>,
    portals: HashMap<String, Kept<Portal>>,
    /// Whether statements since the last Sync run in a transaction that the session began for them.
    pub is_pipeline: bool,
    pub savepoints: Savepoints,
    /// A portal whose columns the client wants to know, and that says them when it runs.
    pub waiting: Option<String>,
}

/// So many statements, and portals, may a client have prepared at a time.
const MOST: usize = 4096;

impl Prepared {
    /// A simple query ends what has no name.
    pub fn forget_unnamed(&mut self) {
        self.statements.remove("");
        self.portals.remove("");
    }

    /// The end of a transaction ends savepoints and all portals but those that are to be held: the ones of before, and of
    /// this one if it `commits`.
    pub fn forget_portals(&mut self, commits: bool) {
        self.savepoints.clear();
        self.portals.retain(|_, portal| {
            if commits && portal.life == Life::Holdable {
                portal.life = Life::Held;
            }
            portal.life == Life::Held
        });
    }

    pub fn retain_portals(&mut self, keep: impl Fn(&Portal) -> bool) {
        self.portals.retain(|_, portal| keep(portal));
    }

    /// Checks that a cursor of this name may be declared.
    pub fn check_cursor(&self, name: &str) -> Result<(), Failure> {
        if self.portals.contains_key(name) {
            return Err(Failure::PortalExists(name.to_owned()));
        }
        if self.portals.len() >= MOST { Err(Failure::TooManyPrepared(MOST)) } else { Ok(()) }
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
        let portals = self.portals.values_mut();
        portals.filter_map(|portal| portal.cursor()).try_for_each(|cursor| cursor.set_aside(control))
    }

    pub fn take_portal(&mut self, name: &str) -> Result<Kept<Portal>, Failure> {
        self.portals.remove(name).ok_or_else(|| Failure::NoPortal(name.to_owned()))
    }

    pub fn put_portal(&mut self, name: &str, portal: Kept<Portal>) {
        self.portals.insert(name.to_owned(), portal);
    }

    pub fn has_portal(&self, name: &str) -> bool {
        self.portals.contains_key(name)
    }

    /// Checks that a statement of this name may be made.
    fn check_name(&self, name: &str) -> Result<(), Failure> {
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(Failure::StatementExists(name.to_owned()));
        }
        if self.statements.len() >= MOST { Err(Failure::TooManyPrepared(MOST)) } else { Ok(()) }
    }

    fn statement(&self, name: &str) -> Result<&Arc<Kept<PreparedStatement>>, Failure> {
        self.statements.get(name).ok_or_else(|| Failure::NoStatement(name.to_owned()))
    }

    fn add_portal(&mut self, name: String, portal: Kept<Portal>) -> Result<(), Failure> {
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
    pub fn step(&mut self, step: &Step) -> Result<(), Failure> {
        let budget = Arc::clone(&self.control.budget);
        let _message = budget.charge(step.bytes())?;
        match step {
            Step::Parse { name, query, types } => self.parse(name.clone(), query, types)?,
            Step::Bind { portal, statement, formats, values, results } => {
                let prepared = Arc::clone(self.prepared.statement(statement)?);
                self.check_transaction(&prepared.kind)?;
                let mut charge = budget.charge(prepared.most_bytes(formats, values))?;
                let values = prepared.bind(statement, formats, values, &mut charge)?;
                let held = values.iter().map(|value| size_of_val(value) + value.value.bytes()).sum::<usize>();
                let bytes = portal.len() + held + size_of_val(&results[..]);
                let made = charge.keep(Portal::new(prepared, values, Formats::new(results.clone())), bytes)?;
                self.prepared.add_portal(portal.clone(), made)?;
                backend::bind_complete(self.output.buffer());
            }
            Step::Describe(target, name) => self.describe(*target, name)?,
            Step::Close(target, name) => {
                match target {
                    Target::Statement => drop(self.prepared.statements.remove(name)),
                    Target::Portal => drop(self.prepared.portals.remove(name)),
                }
                backend::close_complete(self.output.buffer());
            }
            Step::Execute { portal, rows } => self.run_portal(portal, (*rows > 0).then_some((*rows).into()))?,
        }
        Ok(())
    }

    fn parse(&mut self, name: String, query: &str, types: &[u32]) -> Result<(), Failure> {
        self.prepared.check_name(&name)?;
        let statements = query::statements(query, self.engine.as_ref())?;
        let statement = match &statements[..] {
            [] => &Statement::of("", self.engine.dialect()),
            [first, ..] => first,
        };
        self.check_transaction(&statement.kind)?;
        if statements.len() > 1 {
            return Err(Failure::SeveralStatements);
        }
        self.control.concerns(query);
        let _running = self.start()?;
        let before = query[..statement.start].chars().count();
        let statement =
            PreparedStatement::new(self.engine()?, statement, types).map_err(|failure| failure.placed(Some(before)))?;
        let statement = kept(&self.control.budget, &name, statement)?;
        self.prepared.statements.insert(name, statement);
        backend::parse_complete(self.output.buffer());
        Ok(())
    }

    /// Says which parameters a statement takes, and which columns it will give. It does not run.
    fn describe(&mut self, target: Target, name: &str) -> Result<(), Failure> {
        let (statement, formats) = match target {
            Target::Statement => {
                let mut statement = Arc::clone(self.prepared.statement(name)?);
                if statement.is_open() {
                    self.control.concerns(&statement.text);
                    let _running = self.start()?;
                    let mut known = PreparedStatement::clone(&statement);
                    known.look(self.engine()?)?;
                    statement = kept(&self.control.budget, name, known)?;
                    self.prepared.statements.insert(name.to_owned(), Arc::clone(&statement));
                }
                backend::parameter_description(self.output.buffer(), statement.parameter_oids());
                (statement, Formats::default())
            }
            // One of the source's own cursors.
            Target::Portal if self.is_elsewhere(name) => return self.describe_elsewhere(name),
            Target::Portal => {
                let portal = self.prepared.portals.get(name).ok_or_else(|| Failure::NoPortal(name.to_owned()))?;
                (Arc::clone(&portal.statement), portal.formats.clone())
            }
        };
        let cursor =
            self.prepared.portals.get_mut(name).filter(|_| target == Target::Portal).and_then(|portal| portal.cursor());
        match (&statement.columns, cursor) {
            (Columns::Late, Some(cursor)) => cursor.describe(self.output.buffer(), &formats),
            (Columns::Late, None) if target == Target::Portal => self.prepared.waiting = Some(name.to_owned()),
            (Columns::None, _) => backend::no_data(self.output.buffer()),
            (Columns::Known(columns), _) => rows::describe(self.output.buffer(), columns, &formats)?,
            (Columns::Late, None) => return Err(Failure::LateColumns),
        }
        Ok(())
    }
}

fn kept(
    budget: &Arc<Budget>,
    name: &str,
    statement: PreparedStatement,
) -> Result<Arc<Kept<PreparedStatement>>, Failure> {
    let bytes = name.len() + statement.bytes();
    Ok(Arc::new(budget.keep(statement, bytes)?))
}
