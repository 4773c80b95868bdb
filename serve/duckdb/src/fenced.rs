//! The fence in front of DuckDB's library: a statement reaches a [`LibraryConnection`] only through a
//! [`FencedConnection`].

use std::sync::Arc;

use arrow_array::RecordBatch;
use colonnade_server::value::types::Type;
use colonnade_server::{BatchSize, ColumnCheck, EngineAnswer, EngineError, Parameter};
use colonnade_sql::statement::ExplainInputs;

use crate::fence::{CheckedStatement, Fence, Rights, check_size};
use crate::{LibraryConnection, StatementTypes, Translated};

/// The fence for one user.
#[derive(Clone, Debug)]
pub struct UserFence {
    /// The lists.
    pub fence: Arc<Fence>,
    /// The user's rights.
    pub rights: Rights,
}

/// A statement that the fence has let through. Only a [`FencedConnection`] makes one.
pub struct AllowedStatement<'a> {
    statement: &'a Translated,
    checked: CheckedStatement,
}

impl<'a> AllowedStatement<'a> {
    /// The statement.
    pub fn statement(&self) -> &'a Translated {
        self.statement
    }

    /// What the fence has found.
    pub fn checked(&self) -> &CheckedStatement {
        &self.checked
    }
}

/// A connection of DuckDB's library behind the fence.
pub(crate) struct FencedConnection<C> {
    library: C,
    user: UserFence,
}

impl<C: LibraryConnection> FencedConnection<C> {
    pub fn new(library: C, user: UserFence) -> Self {
        Self { library, user }
    }

    /// The connection, for what takes no statement.
    pub fn library(&mut self) -> &mut C {
        &mut self.library
    }

    /// The connection, for what changes nothing.
    pub fn as_library(&self) -> &C {
        &self.library
    }

    /// Checks the size of a statement before it is rewritten.
    pub fn check_size(&self, statement: &str) -> Result<(), EngineError> {
        Ok(check_size(statement, self.user.fence.max_bytes)?)
    }

    fn allowed<'a>(&self, statement: &'a Translated, rights: Rights) -> Result<AllowedStatement<'a>, EngineError> {
        match self.user.fence.check(&statement.text, rights) {
            Ok(checked) => Ok(AllowedStatement { statement, checked }),
            Err(refusal) => {
                let position = refusal.position().map(|position| statement.position(position));
                Err(EngineError { position, ..refusal.into() })
            }
        }
    }

    /// A statement that runs next. If it is refused, the calls of its table functions end.
    fn running<'a>(&mut self, statement: &'a Translated) -> Result<AllowedStatement<'a>, EngineError> {
        let allowed = self.allowed(statement, self.user.rights);
        if let (Err(_), Some(tables)) = (&allowed, self.library.tables()) {
            tables.abandon_calls();
        }
        allowed
    }

    /// [`LibraryConnection::execute`].
    pub fn execute(
        &mut self,
        statement: &Translated,
        values: &[&Parameter],
        size: BatchSize,
        must_give_rows: bool,
    ) -> Result<EngineAnswer, EngineError> {
        let allowed = self.running(statement)?;
        self.library.execute(&allowed, values, size, must_give_rows)
    }

    /// [`LibraryConnection::read`].
    pub fn read(&mut self, statement: &Translated, size: BatchSize) -> Result<EngineAnswer, EngineError> {
        let allowed = self.allowed(statement, Rights { writes: false, ..self.user.rights })?;
        self.library.read(&allowed, size)
    }

    /// [`LibraryConnection::query_checked`].
    pub fn query_checked(
        &mut self,
        statement: &Translated,
        size: BatchSize,
        check: ColumnCheck,
    ) -> Result<EngineAnswer, EngineError> {
        let allowed = self.running(statement)?;
        self.library.query_checked(&allowed, size, check)
    }

    /// [`LibraryConnection::describe`].
    pub fn describe(&mut self, statement: &Translated, values: &[&Parameter]) -> Result<StatementTypes, EngineError> {
        let allowed = self.allowed(statement, self.user.rights)?;
        self.library.describe(&allowed, values)
    }

    /// [`LibraryConnection::open_literals`]. A statement that is refused has none: it is refused again when it runs.
    pub fn open_literals(&mut self, statement: &Translated) -> Result<Vec<(usize, Type)>, EngineError> {
        match self.allowed(statement, self.user.rights) {
            Ok(allowed) => self.library.open_literals(&allowed),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// [`LibraryConnection::insert`].
    pub fn insert(
        &mut self,
        statement: &Translated,
        name: &str,
        batches: Vec<RecordBatch>,
    ) -> Result<u64, EngineError> {
        let allowed = self.allowed(statement, self.user.rights)?;
        self.library.insert(&allowed, name, batches)
    }

    /// [`LibraryConnection::inputs`].
    pub fn inputs(
        &mut self,
        inputs: &ExplainInputs,
        query: &Translated,
        values: &[&Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        let allowed = self.running(query)?;
        self.library.inputs(inputs, &allowed, values, size)
    }
}
