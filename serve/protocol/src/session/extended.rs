//! The extended query protocol: Parse, Bind, Describe, Execute, Close (PostgreSQL protocol, "Extended Query").

use std::sync::Arc;

use colonnade_sql::Statement;

use crate::engine::{Columns, Origins};
use crate::error::Failure;
use crate::limits::{Budget, Charged};
use crate::message::backend;
use crate::message::frontend::StatementOrPortal;
use crate::rows::{self, Formats};
use crate::session::prepared::portal::Portal;
use crate::session::prepared::statement::PreparedStatement;
use crate::session::query;
use crate::session::request::ExtendedMessage;
use crate::session::state::Session;

impl Session {
    pub fn answer_extended(&mut self, step: &ExtendedMessage) -> Result<(), Failure> {
        let budget = Arc::clone(&self.control.budget);
        let _message = budget.charge(step.bytes())?;
        match step {
            ExtendedMessage::Parse { name, query, types } => self.parse(name, query, types)?,
            ExtendedMessage::Bind { portal, statement, formats, values, results } => {
                let prepared = self.prepared.statements.find(statement)?;
                self.check_transaction(&prepared.kind)?;
                let mut charge = budget.charge(prepared.max_bytes(formats, values))?;
                let encoding = self.settings.client_encoding();
                let values = prepared.bind(statement, formats, values, encoding, &mut charge)?;
                let held = values.iter().map(|value| size_of_val(value) + value.value.bytes()).sum::<usize>();
                let bytes = portal.len() + held + size_of_val(&results[..]);
                let entry = self.prepared.list(portal, &prepared, false, false);
                let made = Portal::new(prepared, values, Formats::new(results.clone()), entry);
                let made = charge.keep(made, bytes)?;
                self.prepared.add_portal(portal.clone(), made)?;
                backend::bind_complete(self.output.buffer());
            }
            ExtendedMessage::Describe(target, name) => self.describe(*target, name)?,
            ExtendedMessage::Close(target, name) => {
                self.prepared.close(*target, name);
                backend::close_complete(self.output.buffer());
            }
            ExtendedMessage::Execute { portal, rows } => {
                self.run_portal(portal, (*rows > 0).then_some((*rows).into()))?
            }
        }
        Ok(())
    }

    fn parse(&mut self, name: &str, query: &str, types: &[u32]) -> Result<(), Failure> {
        self.prepared.statements.check_name(name)?;
        let statements = query::statements(query, self.engine.as_ref())?;
        let statement = match &statements[..] {
            [] => &Statement::of("", self.engine.dialect()),
            [first, ..] => first,
        };
        self.check_transaction(&statement.kind)?;
        if statements.len() > 1 {
            return Err(Failure::SeveralStatements);
        }
        self.control.note_statement(query);
        let _running = self.start()?;
        let before = query[..statement.start].chars().count();
        let statement = PreparedStatement::new(self.engine()?, statement, types)
            .map_err(|failure| failure.with_offset(Some(before)))?;
        let statement = keep_statement(&self.control.budget, name, statement)?;
        self.prepared.statements.put(name, statement);
        backend::parse_complete(self.output.buffer());
        Ok(())
    }

    /// Sends the description of a statement or portal, which does not run.
    fn describe(&mut self, target: StatementOrPortal, name: &str) -> Result<(), Failure> {
        let (statement, formats) = match target {
            StatementOrPortal::Statement => {
                let mut statement = self.prepared.statements.find(name)?;
                if statement.needs_description() {
                    self.control.note_statement(&statement.text);
                    let _running = self.start()?;
                    let mut known = PreparedStatement::clone(&statement);
                    known.describe_by_source(self.engine()?)?;
                    statement = keep_statement(&self.control.budget, name, known)?;
                    self.prepared.statements.put(name, Arc::clone(&statement));
                }
                backend::parameter_description(self.output.buffer(), statement.parameter_oids());
                (statement, Formats::default())
            }
            // The name may be that of a cursor in the source.
            StatementOrPortal::Portal if self.may_be_source_cursor(name) => return self.describe_source_cursor(name),
            StatementOrPortal::Portal => {
                let portal = self.prepared.portal(name)?;
                (Arc::clone(&portal.statement), portal.formats.clone())
            }
        };
        let cursor = self
            .prepared
            .portal(name)
            .ok()
            .filter(|_| target == StatementOrPortal::Portal)
            .and_then(|portal| portal.cursor());
        match (&statement.columns, cursor) {
            (Columns::Deferred, Some(cursor)) => cursor.describe(self.output.buffer(), &formats)?,
            (Columns::Deferred, None) if target == StatementOrPortal::Portal => {
                self.prepared.described_portal = Some(name.to_owned())
            }
            (Columns::None, _) => backend::no_data(self.output.buffer()),
            (Columns::Known(columns), _) => {
                self.refresh_origins(&statement)?;
                rows::describe(self.output.buffer(), columns, &statement.origins().columns, &formats)?;
            }
            (Columns::Deferred, None) => return Err(Failure::DeferredColumns),
        }
        Ok(())
    }
}

impl Session {
    /// Finds the origins of a statement's columns again, unless the catalog is the one in which they were found.
    fn refresh_origins(&mut self, statement: &PreparedStatement) -> Result<(), Failure> {
        let Origins { columns, catalog } = statement.origins();
        if columns.is_empty() || catalog.is_some() && catalog == self.engine.catalog_version() {
            return Ok(());
        }
        self.control.note_statement(&statement.text);
        let _running = self.start()?;
        Ok(statement.refresh_origins(self.engine()?)?)
    }
}

fn keep_statement(
    budget: &Arc<Budget>,
    name: &str,
    statement: PreparedStatement,
) -> Result<Arc<Charged<PreparedStatement>>, Failure> {
    let bytes = name.len() + statement.bytes();
    Ok(Arc::new(budget.keep(statement, bytes)?))
}
