//! Runs portals.

use std::sync::Arc;

use colonnade_sql::statement::{Argument, SetConfig};
use colonnade_sql::{Dialect, Statement, StatementKind, placeholder};

use crate::copy::{CopyOut, CopyRequest};
use crate::engine::Columns;
use crate::error::Failure;
use crate::message::backend;
use crate::rows::{Cursor, SentRows};
use crate::session::execute::{BATCH, DESCRIBED_BATCH, Outcome};
use crate::session::prepared::portal::{Portal, State};
use crate::session::prepared::statement::PreparedStatement;
use crate::session::query;
use crate::session::spool;
use crate::session::state::Session;
use crate::value::oid::TypeInfo;
use crate::value::types::Type;

impl Session {
    /// Runs or continues a portal until it has sent `limit` rows.
    pub fn run_portal(&mut self, name: &str, limit: Option<u64>) -> Result<(), Failure> {
        // The portal is removed while it runs, because the other portals are set aside first.
        let mut portal = self.prepared.take_portal(name)?;
        let result = self.advance(name, &mut portal, limit);
        if result.is_err() {
            portal.state = State::Failed;
        }
        self.prepared.put_portal(name, portal);
        result
    }

    fn advance(&mut self, name: &str, portal: &mut Portal, limit: Option<u64>) -> Result<(), Failure> {
        let statement = Arc::clone(&portal.statement);
        if statement.text.is_empty() {
            backend::empty_query(self.output.buffer());
            return Ok(());
        }
        self.check_transaction(&statement.kind)?;
        let is_new = matches!(portal.state, State::New);
        if is_new {
            self.begin_pipeline(&statement)?;
        }
        let is_engines = query::runs_on_engine(&statement.kind, self.engine.source());
        if is_new && !is_engines {
            portal.state = State::Done;
            if matches!(statement.kind, StatementKind::Cursor(_)) {
                self.control.count_statement(&statement.text);
                return self.prepared_cursors(portal);
            }
            if let Some(copy) = part_of(&statement)? {
                self.control.count_statement(&statement.text);
                return copy.part().map_or(Ok(()), |part| self.copy_part(part, &copy, &portal.values));
            }
            if let StatementKind::SetConfig(config) = &statement.kind {
                let value = Argument::Literal(spool::text(&config.value, &portal.values)?.to_owned());
                let kind = StatementKind::SetConfig(SetConfig { value, ..config.clone() });
                return self.statement(&Statement { kind, ..statement.statement() }, true);
            }
            return self.statement(&statement.statement(), true);
        }
        let describes = self.prepared.described_portal.take().is_some();
        let size = if describes { DESCRIBED_BATCH } else { BATCH };
        let _running = self.start()?;
        if is_new {
            self.control.count_statement(&statement.text);
        }
        match &mut portal.state {
            State::Done if is_engines && statement.columns.gives_rows() => {
                backend::command_complete(self.output.buffer(), &query::tag(&statement.kind, Some(0), None));
                return Ok(());
            }
            State::Done | State::Failed => return Err(Failure::PortalDone(name.to_owned())),
            State::New => {
                match self.run_client_statement(&statement.statement(), &portal.values, &portal.formats, size)? {
                    Outcome::Rows(cursor) => {
                        check(&statement, &cursor, self.engine.dialect())?;
                        if describes {
                            cursor.describe(self.output.buffer(), &portal.formats)?;
                        }
                        portal.state = State::Open(cursor);
                    }
                    Outcome::Done(changed) => {
                        portal.state = State::Done;
                        if describes {
                            backend::no_data(self.output.buffer());
                        }
                        self.finish(&query::tag(&statement.kind, None, changed));
                        return Ok(());
                    }
                }
            }
            State::Open(_) => {}
        }
        let State::Open(cursor) = &mut portal.state else { return Ok(()) };
        let style = self.settings.text_style();
        match cursor.send(&mut self.output, &self.control, &portal.formats, style, limit)? {
            SentRows::Some(_) => backend::portal_suspended(self.output.buffer()),
            SentRows::All(rows) => {
                portal.state = State::Done;
                self.finish(&query::tag(&statement.kind, Some(rows), None));
            }
        }
        Ok(())
    }
}

/// The COPY of a part of a spooled result, which is the only COPY with parameters.
fn part_of(statement: &PreparedStatement) -> Result<Option<Box<CopyOut>>, Failure> {
    let StatementKind::Copy(Ok(copy)) = &statement.kind else { return Ok(None) };
    Ok(match CopyRequest::new(copy, &statement.text)? {
        CopyRequest::ToStdout(copy) if copy.part().is_some() => Some(copy),
        _ => None,
    })
}

/// Refuses columns that differ from the description which the client has. The client would misread them: with `SELECT
/// *`, columns of one type may have changed places.
fn check(statement: &PreparedStatement, cursor: &Cursor, dialect: Dialect) -> Result<(), Failure> {
    let Columns::Known(columns) = &statement.columns else { return Ok(()) };
    // An engine may name a column by its expression, which has other casts of parameters when it runs.
    let is_expression = |name: &str| !statement.types.is_empty() && placeholder::count(name, dialect) > 0;
    let is_same = |((described, type_), (found, info)): (&(String, Type), (&str, TypeInfo))| {
        type_.info().oid == info.oid && (described == found || is_expression(described) && is_expression(found))
    };
    let found = cursor.columns();
    let is_same = columns.len() == found.len() && columns.iter().zip(found).all(is_same);
    if is_same { Ok(()) } else { Err(Failure::ResultChanged) }
}
