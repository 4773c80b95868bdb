//! SQL's cursors: DECLARE, FETCH, MOVE and CLOSE. They are portals, so the protocol's messages can name them too.

use std::ops::Range;
use std::sync::Arc;

use colonnade_sql::statement::CursorStatement;
use colonnade_sql::{Statement, StatementKind};

use crate::engine::{EngineAnswer, EngineError, Parameter};
use crate::error::Failure;
use crate::message::backend;
use crate::rows::{Cursor, Formats, Receiver};
use crate::session::execute::DESCRIBED_BATCH;
use crate::session::prepared::Prepared;
use crate::session::prepared::portal::{Portal, PortalLifetime, State};
use crate::session::prepared::statement::PreparedStatement;
use crate::session::query;
use crate::session::state::Session;

impl Prepared {
    fn close_cursors(&mut self, name: Option<&str>) -> Result<(), Failure> {
        match name {
            None => self.retain_portals(|portal| portal.life == PortalLifetime::Protocol),
            Some(name) => drop(self.take_portal(name).map_err(|_| Failure::NoCursor(name.to_owned()))?),
        }
        Ok(())
    }
}

impl Session {
    /// Runs a statement about cursors of a simple query.
    pub fn cursors(&mut self, statement: &Statement<'_>) -> Result<(), Failure> {
        match query::cursor_request(&statement.kind)? {
            Some(CursorStatement::Declare { name, is_held, is_scroll, query, .. }) => {
                let before = statement.text[..query.start].chars().count();
                let declared = self.declare(name, (*is_held, *is_scroll), statement.text, query, &[]);
                declared.map_err(|failure| failure.with_offset(Some(before)))
            }
            _ => self.use_cursor(&statement.kind, &Formats::default(), true),
        }
    }

    /// Runs a statement about cursors that was prepared by the protocol.
    pub fn prepared_cursors(&mut self, portal: &Portal) -> Result<(), Failure> {
        let describes = self.prepared.described_portal.take().is_some();
        let statement = &portal.statement;
        match query::cursor_request(&statement.kind)? {
            Some(CursorStatement::Declare { name, is_held, is_scroll, query, .. }) => {
                self.declare(name, (*is_held, *is_scroll), &statement.text, query, &portal.values)
            }
            _ => self.use_cursor(&statement.kind, &portal.formats, describes),
        }
    }

    fn declare(
        &mut self,
        name: &str,
        (is_held, is_scroll): (bool, bool),
        text: &str,
        query: &Range<usize>,
        values: &[Parameter],
    ) -> Result<(), Failure> {
        let is_outside = !self.transaction.is_any();
        if is_outside && !is_held {
            return Err(Failure::NoTransaction("DECLARE CURSOR"));
        }
        self.prepared.check_cursor(name)?;
        let _running = self.start()?;
        let statement = Statement::of(&text[query.clone()], self.engine.dialect());
        let EngineAnswer::Rows(rows) = self.query_answer(&statement, values, DESCRIBED_BATCH)? else {
            return Err(EngineError::no_rows().into());
        };
        let mut cursor = Cursor::new(rows, &Formats::default())?;
        if is_scroll {
            cursor.make_scrollable(&self.control)?;
        }
        let life = match (is_held, is_outside) {
            (false, _) => PortalLifetime::Declared,
            (true, false) => PortalLifetime::Holdable,
            (true, true) => PortalLifetime::Held,
        };
        let budget = &self.control.budget;
        let statement = Arc::new(budget.keep(PreparedStatement::of_cursor(text), text.len())?);
        let entry = self.prepared.list(name, &statement, is_held, is_scroll);
        let portal = budget.keep(Portal::declared(statement, cursor, life, entry), name.len())?;
        self.prepared.put_portal(name, portal);
        backend::command_complete(self.output.buffer(), "DECLARE CURSOR");
        Ok(())
    }

    fn use_cursor(&mut self, kind: &StatementKind, formats: &Formats, describe: bool) -> Result<(), Failure> {
        let (name, direction, is_move) = match query::cursor_request(kind)? {
            Some(CursorStatement::Fetch { name, direction, is_move }) => (name, *direction, *is_move),
            Some(CursorStatement::Close(name)) => {
                self.prepared.close_cursors(name.as_deref())?;
                self.complete(kind);
                return Ok(());
            }
            _ => return Err(Failure::NotSupported("DECLARE within another statement")),
        };
        let _running = self.start()?;
        // The portal is removed while it runs, because the other portals are set aside first.
        let mut portal = self.prepared.take_portal(name).map_err(|_| Failure::NoCursor(name.clone()))?;
        let style = self.settings.text_style();
        let rows = match portal.cursor() {
            None => Err(Failure::PortalDone(name.clone())),
            Some(cursor) if is_move => cursor.fetch(&self.control, direction, None),
            Some(cursor) => cursor.check(formats).and_then(|()| {
                if describe {
                    cursor.describe(self.output.buffer(), formats)?;
                }
                let receiver = Receiver { output: &mut self.output, formats, style };
                cursor.fetch(&self.control, direction, Some(receiver))
            }),
        };
        if rows.is_err() {
            portal.state = State::Failed;
        }
        self.prepared.put_portal(name, portal);
        backend::command_complete(
            self.output.buffer(),
            &query::tag(kind, Some(rows.map_err(|failure| failure.with_offset(None))?), None),
        );
        Ok(())
    }
}
