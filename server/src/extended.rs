//! The extended query protocol: Parse, Bind, Describe, Execute, Close (PostgreSQL protocol, "Extended Query").
//!
//! Drivers use it for statements they run again and again. Parameters, and portals that give their rows in parts, are
//! refused for now; each Execute is a statement of its own, not a part of one implicit transaction up to Sync.

use std::collections::HashMap;

use crate::engine::Rows;
use crate::error::Failure;
use crate::message::backend;
use crate::message::frontend::{Message, Target};
use crate::query::{self, Statement};
use crate::rows::{self, Formats};
use crate::session::Session;

/// A message of the extended protocol, without what it borrows.
pub enum Step {
    Parse { name: String, query: String, parameters: usize },
    Bind { portal: String, statement: String, values: usize, results: Vec<i16> },
    Describe(Target, String),
    Close(Target, String),
    Execute { portal: String, rows: u32 },
}

impl Step {
    /// The message, if it is one of these.
    pub fn from_message(message: &Message<'_>) -> Option<Self> {
        Some(match message {
            Message::Parse { name, query, types } => {
                Self::Parse { name: (*name).to_owned(), query: (*query).to_owned(), parameters: types.len() }
            }
            Message::Bind { portal, statement, values, results, .. } => Self::Bind {
                portal: (*portal).to_owned(),
                statement: (*statement).to_owned(),
                values: values.len(),
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
    /// Statements, by name: their text.
    statements: HashMap<String, String>,
    /// Portals, by name: their statement's text, and the formats of their columns.
    portals: HashMap<String, (String, Formats)>,
}

/// So many statements, and portals, may a client have prepared at a time.
const MOST: usize = 4096;

impl Prepared {
    /// A simple query ends what has no name.
    pub fn forget_unnamed(&mut self) {
        self.statements.remove("");
        self.portals.remove("");
    }

    /// Forgets a statement, or all of them and all portals; says whether there was such a one.
    pub fn deallocate(&mut self, name: Option<&str>) -> bool {
        match name {
            Some(name) => self.statements.remove(name).is_some(),
            None => {
                *self = Self::default();
                true
            }
        }
    }

    fn parse(&mut self, name: String, query: String, parameters: usize) -> Result<(), Failure> {
        if parameters > 0 {
            return Err(Failure::NotSupported("a query with parameters"));
        }
        if query::split(&query).len() > 1 {
            return Err(Failure::SeveralStatements);
        }
        if !name.is_empty() && self.statements.contains_key(&name) {
            return Err(Failure::StatementExists(name));
        }
        if self.statements.len() >= MOST {
            return Err(Failure::TooManyPrepared(MOST));
        }
        self.statements.insert(name, query);
        Ok(())
    }

    fn bind(&mut self, portal: String, statement: &str, values: usize, results: Vec<i16>) -> Result<(), Failure> {
        if values > 0 {
            return Err(Failure::NotSupported("a query with parameters"));
        }
        let text = self.statements.get(statement).ok_or_else(|| Failure::NoStatement(statement.to_owned()))?.clone();
        if !portal.is_empty() && self.portals.contains_key(&portal) {
            return Err(Failure::PortalExists(portal));
        }
        if self.portals.len() >= MOST {
            return Err(Failure::TooManyPrepared(MOST));
        }
        self.portals.insert(portal, (text, Formats::new(results)));
        Ok(())
    }

    fn target(&self, target: Target, name: &str) -> Result<(String, Formats), Failure> {
        match target {
            Target::Statement => {
                let text = self.statements.get(name).ok_or_else(|| Failure::NoStatement(name.to_owned()))?;
                Ok((text.clone(), Formats::default()))
            }
            Target::Portal => self.portals.get(name).cloned().ok_or_else(|| Failure::NoPortal(name.to_owned())),
        }
    }
}

impl Session {
    /// Answers one message.
    pub fn step(&mut self, step: Step) -> Result<(), Failure> {
        match step {
            Step::Parse { name, query, parameters } => {
                self.prepared.parse(name, query, parameters)?;
                backend::parse_complete(self.output.buffer());
            }
            Step::Bind { portal, statement, values, results } => {
                self.prepared.bind(portal, &statement, values, results)?;
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
            Step::Execute { rows, .. } if rows > 0 => {
                return Err(Failure::NotSupported("a limit on the rows of a portal"));
            }
            Step::Execute { portal, .. } => {
                let (text, formats) = self.prepared.target(Target::Portal, &portal)?;
                match query::split(&text).first() {
                    Some(statement) => self.statement(statement, Some(&formats))?,
                    None => backend::empty_query(self.output.buffer()),
                }
            }
        }
        Ok(())
    }

    /// Says which columns a statement will give, without running it.
    fn describe(&mut self, target: Target, name: &str) -> Result<(), Failure> {
        let (text, formats) = self.prepared.target(target, name)?;
        let rows = match query::split(&text).first() {
            Some(statement) => self.columns(statement)?,
            None => None,
        };
        if target == Target::Statement {
            backend::no_parameters(self.output.buffer());
        }
        match rows {
            Some(rows) => rows::describe(self.output.buffer(), &rows::columns(rows.as_ref())?, &formats)?,
            None => backend::no_data(self.output.buffer()),
        }
        Ok(())
    }

    fn columns(&mut self, statement: &Statement<'_>) -> Result<Option<Box<dyn Rows>>, Failure> {
        use crate::query::StatementKind::{Alone, Other};
        // Transaction statements and COPY, which are the server's own, give no rows.
        if !matches!(query::kind(statement.text), Alone | Other) {
            return Ok(None);
        }
        self.check_transaction(query::kind(statement.text))?;
        let _running = self.start()?;
        Ok(self.engine.describe(statement.text)?)
    }
}
