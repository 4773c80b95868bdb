//! Parts of one result over several connections, which see one state of InnoDB's tables.
//!
//! All siblings are in a read-only transaction until they are closed. With `consistent`, all took their snapshots
//! while another connection blocked commits ([`snapshot`]). They get the settings of the original connection
//! ([`settings`]) and its clock, so that NOW() is the same in all parts.

mod keys;
mod names;
mod primary;
mod settings;
mod snapshot;
mod steady;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use colonnade_sql::split::trimmed;
use colonnade_sql::tokens;

use super::connection::{self, MysqlConnection};
use super::packet::status;
use super::uri::Target;
use crate::partition::key::{self, unsupported};
use crate::partition::{PartitionSplit, Partitioning, siblings, text};
use crate::{Connection, ContinueCheck, Error};

/// The hint if parts cannot see one state.
const CONSISTENT: &str =
    "pass consistent=False to let each part see the state at its own start, or read without partition_num";
/// Errors of a server, or an account, at its limit of connections:
/// ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED.
const CROWDED: [&str; 3] = ["error number 1040", "error number 1203", "error number 1226"];
/// Their SQLSTATE, which some of these errors lack.
const TOO_MANY_CONNECTIONS: &str = "53300";
/// A derived table cannot have two columns with the same name.
const DUPLICATE_COLUMN: &str = "42S21";

impl Partitioning for MysqlConnection {
    fn siblings(
        &self,
        count: usize,
        setup: &[String],
        consistent: bool,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<Arc<dyn Connection>>, Error> {
        if self.status.load(Ordering::Acquire) & status::IN_TRANSACTION != 0 {
            return Err(key::in_transaction());
        }
        let (state, target, setup) = (self.state(keep)?, self.session.peer.target.clone(), setup.to_vec());
        let opened = siblings::open(count, keep, move |keep| {
            let sibling = another(&target, keep)?;
            for statement in &setup {
                sibling.execute(statement.into(), keep)?;
            }
            state.give(&sibling, consistent, keep)?;
            Ok(sibling)
        })?;
        if consistent {
            snapshot::begin_together(&opened, &another(&self.session.peer.target, keep)?, keep)?;
        } else {
            snapshot::begin_each(&opened, keep)?;
        }
        let siblings: Vec<_> = opened.into_iter().map(|sibling| sibling as Arc<dyn Connection>).collect();
        self.session.siblings.add(&siblings);
        Ok(siblings)
    }

    fn parts(&self, query: &str, split: &PartitionSplit, keep: ContinueCheck<'_>) -> Result<Vec<String>, Error> {
        let dialect = self.dialect();
        steady::check_alone(query, dialect)?;
        let query = trimmed(query, dialect);
        text::check(tokens(query, dialect))?;
        let Some(key) = &split.key else { return self.primary_parts(query, split, keep) };
        if split.consistent {
            self.check_repeatable(query, keep)?;
        }
        // This also locks the tables, so that nobody alters them.
        let described = self.ask(&format!("SELECT * FROM (\n{query}\n) AS {} LIMIT 0", text::ALIAS), keep);
        let described = described.map_err(|error| match error.sqlstate() {
            Some(DUPLICATE_COLUMN) => {
                text::refused(&format!("its columns need different names: {}", error.message())).with_cause(error)
            }
            _ => error,
        })?;
        let key = keys::PartitionKey::find(&described.columns, key)?;
        let cuts = match &split.range {
            Some(range) => self.even_cuts(&key, range, split.count, keep)?,
            None => self.balanced_cuts(query, &key, split.count, keep)?,
        };
        Ok(if cuts.is_empty() { vec![query.to_owned()] } else { text::parts(query, &key.expression, &cuts) })
    }

    fn covers(&self, query: &str, keep: ContinueCheck<'_>) -> Result<(), Error> {
        self.check_covered(query, keep)
    }
}

/// One further connection of the same user to the same server.
fn another(target: &Target, keep: ContinueCheck<'_>) -> Result<MysqlConnection, Error> {
    connection::open(target.clone(), keep).map_err(|error| {
        if error.detail().is_some_and(|detail| CROWDED.contains(&detail)) {
            return error
                .with_sqlstate(TOO_MANY_CONNECTIONS)
                .with_hint("ask for fewer parts: each needs a connection, and so does the lock for a moment");
        }
        error
    })
}
