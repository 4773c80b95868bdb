//! Cursors that are declared in SQL: DECLARE, FETCH, MOVE and CLOSE. They are portals, so the protocol's messages reach them by their
//! names, too; and they go forward only.

use std::sync::Arc;

use colonnade_sql::statement::{Cursor as Request, Direction};
use colonnade_sql::{Statement, StatementKind};

use crate::engine::{Answer, EngineError, Parameter};
use crate::error::Failure;
use crate::message::backend;
use crate::rows::{Cursor, Formats, Sent};
use crate::session::extended::Prepared;
use crate::session::portal::{Life, Portal};
use crate::session::prepared::PreparedStatement;
use crate::session::{BATCH, Session, query};

/// What a statement asks of cursors; `None` if it is about something else.
///
/// # Errors
/// If it is wrong, or asks for a way back.
pub fn request(kind: &StatementKind) -> Result<Option<&Request>, Failure> {
    let StatementKind::Cursor(request) = kind else { return Ok(None) };
    match request.as_ref().map_err(Clone::clone)? {
        Request::Declare { is_scroll: true, .. } => Err(Failure::NotSupported("a SCROLL cursor")),
        Request::Declare { is_binary: true, .. } => Err(Failure::NotSupported("a BINARY cursor")),
        Request::Fetch { direction: Direction::Other, .. } => Err(Failure::Backward),
        request => Ok(Some(request)),
    }
}

impl Prepared {
    /// Ends a declared cursor, or all of them.
    fn close_cursors(&mut self, name: Option<&str>) -> Result<(), Failure> {
        match name {
            None => self.retain_portals(|portal| portal.life == Life::Protocol),
            Some(name) => drop(self.take_portal(name).map_err(|_| Failure::NoCursor(name.to_owned()))?),
        }
        Ok(())
    }
}

impl Session {
    /// Runs a statement about cursors of a simple query.
    pub fn cursors(&mut self, statement: &Statement<'_>) -> Result<(), Failure> {
        match request(&statement.kind)? {
            Some(Request::Declare { name, is_held, query, .. }) => {
                let before = statement.text[..query.start].chars().count();
                let declared = self.declare(name, *is_held, &statement.text[query.clone()], &[]);
                declared.map_err(|failure| failure.placed(Some(before)))
            }
            _ => self.use_cursor(&statement.kind, &Formats::default(), true),
        }
    }

    /// The same for a statement that was prepared by the protocol. The text of a DECLARE is its query.
    pub fn prepared_cursors(&mut self, portal: &Portal) -> Result<(), Failure> {
        let is_waiting = self.prepared.waiting.take().is_some();
        let statement = &portal.statement;
        match request(&statement.kind)? {
            Some(Request::Declare { name, is_held, .. }) => {
                self.declare(name, *is_held, &statement.text, &portal.values)
            }
            _ => self.use_cursor(&statement.kind, &portal.formats, is_waiting),
        }
    }

    fn declare(&mut self, name: &str, is_held: bool, query: &str, values: &[Parameter]) -> Result<(), Failure> {
        let is_outside = !self.is_in_transaction() && !self.prepared.is_pipeline;
        if is_outside && !is_held {
            return Err(Failure::NoTransaction("DECLARE CURSOR"));
        }
        self.prepared.check_cursor(name)?;
        let _running = self.start()?;
        let statement = Statement::of(query, self.engine.dialect());
        let Answer::Rows(rows) = self.query_answer(&statement, values, BATCH)? else {
            return Err(EngineError::no_rows().into());
        };
        let cursor = Cursor::new(rows, &Formats::default())?;
        let life = match (is_held, is_outside) {
            (false, _) => Life::Declared,
            (true, false) => Life::Holdable,
            (true, true) => Life::Held,
        };
        let budget = &self.control.budget;
        let statement = Arc::new(budget.keep(PreparedStatement::running(query), query.len())?);
        let portal = budget.keep(Portal::declared(statement, cursor, life), name.len())?;
        self.prepared.put_portal(name, portal);
        backend::command_complete(self.output.buffer(), "DECLARE CURSOR");
        Ok(())
    }

    fn use_cursor(&mut self, kind: &StatementKind, formats: &Formats, describe: bool) -> Result<(), Failure> {
        let (name, count, is_move) = match request(kind)? {
            Some(Request::Fetch { name, direction: Direction::Forward(count), is_move }) => (name, *count, *is_move),
            Some(Request::Close(name)) => {
                self.prepared.close_cursors(name.as_deref())?;
                self.complete(kind);
                return Ok(());
            }
            _ => return Err(Failure::NotSupported("DECLARE in this place")),
        };
        let _running = self.start()?;
        // It is out of the way while it runs, since it may be the very one that must not be set aside.
        let mut portal = self.prepared.take_portal(name).map_err(|_| Failure::NoCursor(name.clone()))?;
        let rows = match portal.cursor() {
            None => Err(Failure::PortalDone(name.clone())),
            Some(cursor) if is_move => cursor.pass_over(&self.control, count),
            Some(cursor) => cursor.check(formats).and_then(|()| {
                if describe {
                    cursor.describe(self.output.buffer(), formats);
                }
                let (Sent::All(rows) | Sent::Some(rows)) =
                    cursor.send(&mut self.output, &self.control, formats, count)?;
                Ok(rows)
            }),
        };
        self.prepared.put_portal(name, portal);
        backend::command_complete(
            self.output.buffer(),
            &query::tag(kind, Some(rows.map_err(|failure| failure.placed(None))?), None),
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use colonnade_sql::Dialect;

    use super::*;

    #[test]
    fn refuses_ways_back_and_nonsense() {
        for (statement, code) in [
            ("declare c scroll cursor for select 1", "0A000"),
            ("declare c binary cursor for select 1", "0A000"),
            ("declare c cursor for insert into t values (1)", "42601"),
            ("declare c cursor", "42601"),
            ("fetch -1 from c", "55000"),
            ("fetch 0 from c", "55000"),
            ("fetch prior from c", "55000"),
            ("move backward all in c", "55000"),
            ("fetch 1 from", "42601"),
            ("fetch 1.5 from c", "42601"),
            ("close", "42601"),
            ("close a b", "42601"),
        ] {
            let kind = Statement::of(statement, Dialect::DuckDb).kind;
            assert_eq!(request(&kind).unwrap_err().code().as_str(), code, "{statement}");
        }
        assert!(request(&Statement::of("fetch 2 from c", Dialect::DuckDb).kind).unwrap().is_some());
    }
}
