//! The statements that a session has prepared, by name. The functions behind PostgreSQL's views read them on any thread.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::error::Failure;
use crate::limits::Charged;
use crate::session::prepared::statement::PreparedStatement;

/// The maximum number of a client's prepared statements, and of its portals.
pub const MAX_PREPARED: usize = 4096;

/// The statements that a session has prepared.
#[derive(Default)]
pub struct Statements(Mutex<Named>);

#[derive(Default)]
struct Named {
    /// Those of Parse.
    by_protocol: HashMap<String, (Arc<Charged<PreparedStatement>>, Timestamp)>,
    /// The texts of PREPARE. The engine has the statements.
    by_sql: HashMap<String, (Charged<String>, Timestamp)>,
}

/// A statement for `pg_prepared_statements`.
pub struct ListedStatement {
    pub name: String,
    pub text: String,
    pub since: Timestamp,
    /// PostgreSQL's numbers of the parameters' types; `None` for a statement of PREPARE, which the engine knows.
    pub parameters: Option<Vec<u32>>,
}

impl Statements {
    fn named(&self) -> MutexGuard<'_, Named> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that Parse can prepare a statement with this name.
    pub fn check_name(&self, name: &str) -> Result<(), Failure> {
        let named = self.named();
        if !name.is_empty() && named.by_protocol.contains_key(name) {
            return Err(Failure::StatementExists(name.to_owned()));
        }
        if named.by_protocol.len() >= MAX_PREPARED { Err(Failure::TooManyPrepared(MAX_PREPARED)) } else { Ok(()) }
    }

    pub fn find(&self, name: &str) -> Result<Arc<Charged<PreparedStatement>>, Failure> {
        let named = self.named();
        let found = named.by_protocol.get(name).map(|(statement, _)| Arc::clone(statement));
        found.ok_or_else(|| Failure::NoStatement(name.to_owned()))
    }

    /// Keeps a statement of Parse, or its description. A new unnamed one replaces the former unnamed one.
    pub fn put(&self, name: &str, statement: Arc<Charged<PreparedStatement>>) {
        self.named().by_protocol.insert(name.to_owned(), (statement, Timestamp::now()));
    }

    /// Notes a statement of PREPARE. The engine's names of these differ by more than case.
    pub fn note_prepare(&self, name: &str, text: Charged<String>) {
        self.named().by_sql.insert(name.to_lowercase(), (text, Timestamp::now()));
    }

    /// Removes a statement of Parse. Gives whether it existed.
    pub fn remove(&self, name: &str) -> bool {
        self.named().by_protocol.remove(name).is_some()
    }

    /// Removes the note of a statement of PREPARE.
    pub fn forget_prepare(&self, name: &str) {
        self.named().by_sql.remove(&name.to_lowercase());
    }

    /// Removes all statements of both kinds.
    pub fn clear(&self) {
        *self.named() = Named::default();
    }

    /// All of them but the unnamed one.
    pub fn listed(&self) -> Vec<ListedStatement> {
        let named = self.named();
        let of_protocol = named.by_protocol.iter().filter(|(name, _)| !name.is_empty());
        let of_protocol = of_protocol.map(|(name, (statement, since))| ListedStatement {
            name: name.clone(),
            text: statement.text.clone(),
            since: *since,
            parameters: Some(statement.parameter_oids().collect()),
        });
        let of_sql = named.by_sql.iter().map(|(name, (text, since))| ListedStatement {
            name: name.clone(),
            text: String::clone(text),
            since: *since,
            parameters: None,
        });
        of_protocol.chain(of_sql).collect()
    }
}
