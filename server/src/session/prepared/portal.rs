//! A portal: a statement with values for its parameters, which may stop in the middle of its rows.

use std::sync::Arc;

use crate::engine::Parameter;
use crate::limits::budget::Kept;
use crate::rows::{Cursor, Formats};
use crate::session::prepared::statement::PreparedStatement;

pub struct Portal {
    pub statement: Arc<Kept<PreparedStatement>>,
    pub formats: Formats,
    pub values: Vec<Parameter>,
    pub state: State,
    pub life: Life,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Made by Bind: to the end of its transaction.
    Protocol,
    /// Made by DECLARE: likewise.
    Declared,
    /// Made by DECLARE … WITH HOLD: longer, if its transaction commits.
    Holdable,
    /// Its transaction has committed.
    Held,
}

pub enum State {
    New,
    Open(Cursor),
    Done,
}

impl Portal {
    pub fn new(statement: Arc<Kept<PreparedStatement>>, values: Vec<Parameter>, formats: Formats) -> Self {
        Self { statement, formats, values, state: State::New, life: Life::Protocol }
    }

    /// A cursor that has begun to run.
    pub fn declared(statement: Arc<Kept<PreparedStatement>>, cursor: Cursor, life: Life) -> Self {
        Self { statement, formats: Formats::default(), values: Vec::new(), state: State::Open(cursor), life }
    }

    /// The unfinished result.
    pub fn cursor(&mut self) -> Option<&mut Cursor> {
        match &mut self.state {
            State::Open(cursor) => Some(cursor),
            State::New | State::Done => None,
        }
    }
}
