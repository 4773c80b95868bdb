//! A portal: a statement with values for its parameters. It may be suspended after some of its rows.

use std::sync::Arc;

use crate::engine::Parameter;
use crate::limits::Charged;
use crate::rows::{Cursor, Formats};
use crate::session::prepared::cursors::CursorEntry;
use crate::session::prepared::statement::PreparedStatement;

pub struct Portal {
    pub statement: Arc<Charged<PreparedStatement>>,
    pub formats: Formats,
    pub values: Vec<Parameter>,
    pub state: State,
    pub life: PortalLifetime,
    _entry: CursorEntry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortalLifetime {
    /// Bind has created it. It ends with the transaction.
    Protocol,
    /// DECLARE has created it. It ends with the transaction.
    Declared,
    /// DECLARE … WITH HOLD has created it. It stays if the transaction commits.
    Holdable,
    /// DECLARE … WITH HOLD has created it, and the transaction has committed.
    Held,
}

pub enum State {
    New,
    Open(Cursor),
    Done,
    /// An error has ended it. Some of its rows are lost, so it gives no others.
    Failed,
}

impl Portal {
    pub fn new(
        statement: Arc<Charged<PreparedStatement>>,
        values: Vec<Parameter>,
        formats: Formats,
        entry: CursorEntry,
    ) -> Self {
        Self { statement, formats, values, state: State::New, life: PortalLifetime::Protocol, _entry: entry }
    }

    /// A cursor that has begun to run.
    pub fn declared(
        statement: Arc<Charged<PreparedStatement>>,
        cursor: Cursor,
        life: PortalLifetime,
        entry: CursorEntry,
    ) -> Self {
        let (formats, values) = (Formats::default(), Vec::new());
        Self { statement, formats, values, state: State::Open(cursor), life, _entry: entry }
    }

    /// The unfinished result.
    pub fn cursor(&mut self) -> Option<&mut Cursor> {
        match &mut self.state {
            State::Open(cursor) => Some(cursor),
            State::New | State::Done | State::Failed => None,
        }
    }
}
