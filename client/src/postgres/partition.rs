//! Parts of one result over several connections, which see one state through an exported snapshot.
//! <https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-SNAPSHOT-SYNCHRONIZATION>
//!
//! All siblings are in a read-only transaction until they are closed. It holds the snapshot, the settings of the
//! original connection, and locks on the tables, so that nobody rewrites a table between the start of one part and
//! that of another.

mod blocks;
mod estimate;
mod keys;
mod repeatable;
mod settings;
mod shared;

use std::sync::Arc;

use colonnade_sql::split::trimmed;
use colonnade_sql::{Dialect, quote, tokens};

use super::session::PostgresConnection;
use super::target::Target;
use crate::partition::key::{self, unsupported};
use crate::partition::{PartSize, PartitionSplit, Partitioning, SharedState, StateExport, siblings, text};
use crate::{Connection, ContinueCheck, Error, ErrorKind, QueryOptions};

/// What siblings need from this connection, in rows of a name and a value: first whether it has temporary tables, then
/// its settings, its user and its role, which depends on the user. Settings of a transaction and the encoding of text
/// are not copied. Settings that a user may change are copied also if they come from the login or from the role: a
/// reader elsewhere may log in in another way.
const STATE: &str = "\
    SELECT name, value FROM ( \
      SELECT 1, NULL, EXISTS (SELECT FROM pg_catalog.pg_class \
                              WHERE relnamespace = pg_catalog.pg_my_temp_schema())::pg_catalog.text \
      UNION ALL SELECT 2, name, setting FROM pg_catalog.pg_settings \
        WHERE (source = 'session' OR context = 'user' AND source IN ('client', 'user', 'database', 'database user', 'global')) \
        AND name NOT IN ('client_encoding', 'application_name') AND name !~ '^transaction_' \
      UNION ALL SELECT place, name, pg_catalog.current_setting(name) \
        FROM (VALUES (3, 'session_authorization'), (4, 'role')) AS identity (place, name) \
    ) AS state (place, name, value) ORDER BY place";

/// Settings that make all parts see the rows of an unordered query in the same order: no synchronized scans and no
/// parallel workers. The parts take the place of the workers.
const STEADY: &str = "SELECT pg_catalog.set_config('synchronize_seqscans', 'off', true), \
                      pg_catalog.set_config('max_parallel_workers_per_gather', '0', true)";

/// Settings under which text of values is independent of the session.
const READABLE: [(&str, &str); 3] = [("datestyle", "ISO"), ("intervalstyle", "iso_8601"), ("extra_float_digits", "3")];

impl Partitioning for PostgresConnection {
    fn siblings(
        &self,
        count: usize,
        setup: &[String],
        consistent: bool,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<Arc<dyn Connection>>, Error> {
        let source = self.sibling_source(self.settings(keep)?, setup.to_vec(), consistent);
        let (first, snapshot) = source.first(keep)?;
        let mut siblings: Vec<Arc<dyn Connection>> = vec![Arc::new(first)];
        let others = siblings::open(count.saturating_sub(1), keep, move |keep| source.open(snapshot.as_deref(), keep));
        siblings.extend(others?.into_iter().map(|sibling| sibling as Arc<dyn Connection>));
        self.session.siblings.add(&siblings);
        Ok(siblings)
    }

    fn has_shared_states(&self) -> bool {
        true
    }

    fn share(&self, keep: ContinueCheck<'_>) -> Result<Option<StateExport>, Error> {
        self.share_state(keep).map(Some)
    }

    fn export(&self, keep: ContinueCheck<'_>) -> Result<Option<SharedState>, Error> {
        self.export_state(keep).map(Some)
    }

    fn enter(
        &self,
        state: &SharedState,
        query: &str,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<(), Error> {
        self.enter_state(state, query, options, keep)
    }

    fn estimate(&self, query: &str, keep: ContinueCheck<'_>) -> Result<Option<PartSize>, Error> {
        self.estimated(query, keep)
    }

    fn join(
        &self,
        state: &SharedState,
        query: &str,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Arc<dyn Connection>, Error> {
        self.join_state(state, query, options, keep)
    }

    fn parts(&self, query: &str, split: &PartitionSplit, keep: ContinueCheck<'_>) -> Result<Vec<String>, Error> {
        let query = trimmed(query, Dialect::POSTGRES);
        text::check(tokens(query, Dialect::POSTGRES))?;
        // This also locks the tables, as the parts will.
        let described = self.ask(&format!("SELECT * FROM (\n{query}\n) AS {} LIMIT 0", text::ALIAS), keep)?;
        if split.repeatable {
            self.check_again(query, keep)?;
        }
        let Some(key) = &split.key else {
            let is_whole = split.count == 1 && split.range.is_none();
            if is_whole {
                return Ok(vec![query.to_owned()]);
            }
            let parts = self.blocks(query, split, keep)?;
            self.check_local(split.repeatable, keep)?;
            return Ok(parts);
        };
        let key = keys::find(&described.columns, key)?;
        if split.consistent {
            self.check_local(split.repeatable, keep)?;
            self.check_repeatable(query, key.origin == (0, 0), keep)?;
        }
        let key = self.key(key, keep)?;
        let cuts = self.aside(&READABLE, keep, |keep| match &split.range {
            Some(range) => self.even_cuts(&key, range, split.count, keep),
            None => self.balanced_cuts(query, &key, split.count, keep),
        })?;
        if cuts.is_empty() {
            return Ok(vec![query.to_owned()]);
        }
        Ok(text::parts(query, &key.expression, &cuts))
    }
}

/// The common data of siblings.
struct SiblingSource {
    target: Target,
    setup: Vec<String>,
    /// The settings of the original connection.
    settings: Vec<(String, String)>,
    consistent: bool,
}

impl SiblingSource {
    /// The first sibling, and the snapshot that it exports if all siblings must see one state.
    fn first(&self, keep: ContinueCheck<'_>) -> Result<(PostgresConnection, Option<String>), Error> {
        let first = self.open(None, keep)?;
        if !self.consistent {
            return Ok((first, None));
        }
        let snapshot = shared::exported(&first, keep)?;
        Ok((first, snapshot))
    }

    fn open(&self, snapshot: Option<&str>, keep: ContinueCheck<'_>) -> Result<PostgresConnection, Error> {
        let sibling = self.begin(keep)?;
        if let Some(snapshot) = snapshot {
            import(&sibling, snapshot, keep).map_err(apart)?;
        }
        self.apply_settings(&sibling, keep)?;
        Ok(sibling)
    }

    /// A connection in a transaction that has not read anything yet.
    fn begin(&self, keep: ContinueCheck<'_>) -> Result<PostgresConnection, Error> {
        let sibling = super::connect(self.target.clone(), keep).map_err(crowded)?;
        for statement in &self.setup {
            sibling.execute(statement.into(), keep)?;
        }
        begin(&sibling, self.consistent, keep).map_err(crowded)?;
        Ok(sibling)
    }

    /// Gives a sibling the settings of the original connection, and those of parts.
    fn apply_settings(&self, sibling: &PostgresConnection, keep: ContinueCheck<'_>) -> Result<(), Error> {
        apply_settings(sibling, &self.settings, keep)
    }
}

/// Begins the transaction of a part.
fn begin(sibling: &PostgresConnection, consistent: bool, keep: ContinueCheck<'_>) -> Result<(), Error> {
    let level = if consistent { "REPEATABLE READ" } else { "READ COMMITTED" };
    sibling.execute((&format!("BEGIN ISOLATION LEVEL {level} READ ONLY")).into(), keep).map(drop)
}

/// Gives a sibling the settings of the original connection, and those of parts.
fn apply_settings(
    sibling: &PostgresConnection,
    settings: &[(String, String)],
    keep: ContinueCheck<'_>,
) -> Result<(), Error> {
    if !settings.is_empty() {
        sibling.execute((&set(settings)).into(), keep)?;
    }
    sibling.execute(STEADY.into(), keep).map(drop)
}

/// Lets a connection see the state of a snapshot.
fn import(sibling: &PostgresConnection, snapshot: &str, keep: ContinueCheck<'_>) -> Result<(), Error> {
    let import = format!("SET TRANSACTION SNAPSHOT {}", quote::string(snapshot, Dialect::POSTGRES));
    sibling.execute((&import).into(), keep).map(drop)
}

impl PostgresConnection {
    /// The settings that siblings need.
    ///
    /// # Errors
    /// Siblings cannot see all that this connection sees.
    fn settings(&self, keep: ContinueCheck<'_>) -> Result<Vec<(String, String)>, Error> {
        if self.session.look(|connection| connection.is_idle()) == Some(false) {
            return Err(key::in_transaction());
        }
        let state = self.ask(STATE, keep)?;
        if state.text(0, 1) != Some("false") {
            return Err(unsupported("the connection has temporary tables, which other connections cannot see")
                .with_hint("make ordinary tables of them, or read without partition_num"));
        }
        let settings = (1..state.rows.len()).filter_map(|row| Some((state.text(row, 0)?, state.text(row, 1)?)));
        Ok(settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn sibling_source(&self, settings: Vec<(String, String)>, setup: Vec<String>, consistent: bool) -> SiblingSource {
        SiblingSource { target: self.session.peer.route.target.clone(), setup, settings, consistent }
    }

    /// Asks the database under other settings. The settings end with the question. The transaction's snapshot and its
    /// locks remain.
    fn aside<T>(
        &self,
        settings: &[(&str, &str)],
        keep: ContinueCheck<'_>,
        work: impl FnOnce(ContinueCheck<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.execute("SAVEPOINT colonnade".into(), keep)?;
        self.execute((&set(settings)).into(), keep)?;
        let done = work(keep)?;
        self.execute("ROLLBACK TO SAVEPOINT colonnade".into(), keep)?;
        Ok(done)
    }
}

/// The statement for settings until the end of the transaction.
fn set<T: AsRef<str>>(settings: &[(T, T)]) -> String {
    let text = |text: &T| quote::string(text.as_ref(), Dialect::POSTGRES);
    let calls =
        settings.iter().map(|(name, value)| format!("pg_catalog.set_config({}, {}, true)", text(name), text(value)));
    format!("SELECT {}", calls.collect::<Vec<_>>().join(", "))
}

/// The error of a server that cannot show one state to several connections.
fn apart(error: Error) -> Error {
    if error.kind() != ErrorKind::Database {
        return error;
    }
    let message = format!("the server cannot show one state to several connections: {}", error.message());
    unsupported(&message)
        .with_hint(
            "pass consistent=False to let each part see the state at its own start, or read without partition_num",
        )
        .with_cause(error)
}

/// The error of a server without a free connection. 08P01 is a pooler's, after its time to wait for one: the parts hold
/// those that it has.
fn crowded(error: Error) -> Error {
    match error.sqlstate() {
        Some("53300" | "08P01") => error.with_hint("ask for fewer parts: each needs a connection"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_or_a_pooler_without_a_free_connection_takes_fewer_parts() {
        for (sqlstate, expected) in [("53300", true), ("08P01", true), ("28000", false)] {
            let error = crowded(Error::new(ErrorKind::Connect, "query_wait_timeout").with_sqlstate(sqlstate));
            assert_eq!(error.hint().is_some_and(|hint| hint.contains("fewer parts")), expected, "{sqlstate}");
        }
    }
}
