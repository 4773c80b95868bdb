//! A snapshot that connections of other processes can import.

use std::sync::Arc;

use super::{PostgresConnection, apart, apply_settings, begin, crowded, import, settings};
use crate::partition::{SharedState, StateExport};
use crate::{Connection, ContinueCheck, Error, ErrorKind, QueryOptions};

/// The run of the server. Names of snapshots are numbers that another server, or the same one after a restart, may give
/// again.
const SERVER: &str = "SELECT (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()) * 1000000)::pg_catalog.int8::pg_catalog.text";

/// The session that holds a state waits for its readers, so that it is idle for long. pg_dump sets the same.
const PATIENT: &str = "SELECT pg_catalog.set_config(name, '0', true) FROM pg_catalog.pg_settings \
                       WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')";

/// Exports the snapshot of a connection's transaction.
pub(super) fn exported(first: &PostgresConnection, keep: ContinueCheck<'_>) -> Result<Option<String>, Error> {
    let exported = first.ask("SELECT pg_catalog.pg_export_snapshot()", keep).map_err(apart)?;
    Ok(exported.text(0, 0).map(str::to_owned))
}

impl PostgresConnection {
    pub(super) fn share_state(&self, keep: ContinueCheck<'_>) -> Result<StateExport, Error> {
        let settings = self.settings(keep)?;
        let holder = self.sibling_source(settings.clone(), Vec::new(), true).open(None, keep)?;
        let state = holder.held(settings, keep)?;
        let connection: Arc<dyn Connection> = Arc::new(holder);
        self.session.siblings.add(std::slice::from_ref(&connection));
        Ok(StateExport { connection, state })
    }

    pub(super) fn export_state(&self, keep: ContinueCheck<'_>) -> Result<SharedState, Error> {
        let settings = self.settings(keep)?;
        begin(self, true, keep)?;
        apply_settings(self, &[], keep)?;
        self.held(settings, keep)
    }

    /// The state of the transaction that has begun on this connection.
    fn held(&self, settings: Vec<(String, String)>, keep: ContinueCheck<'_>) -> Result<SharedState, Error> {
        let snapshot = exported(self, keep)?;
        self.ask(PATIENT, keep)?;
        let server = self.run_of_server(keep)?;
        let snapshot = snapshot.ok_or_else(|| Error::new(ErrorKind::Protocol, "a snapshot without a name"))?;
        let settings = settings.into_iter().filter(|(name, _)| settings::is_carried(name)).collect();
        Ok(SharedState { server, snapshot, settings })
    }

    pub(super) fn join_state(
        &self,
        state: &SharedState,
        query: &str,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Arc<dyn Connection>, Error> {
        let joined = super::super::connect(self.session.peer.route.target.clone(), keep).map_err(crowded)?;
        joined.enter_state(state, query, options, keep)?;
        let joined: Arc<dyn Connection> = Arc::new(joined);
        self.session.siblings.add(std::slice::from_ref(&joined));
        Ok(joined)
    }

    pub(super) fn enter_state(
        &self,
        state: &SharedState,
        query: &str,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<(), Error> {
        settings::check(&state.settings)?;
        begin(self, true, keep)?;
        import(self, &state.snapshot, keep).map_err(|error| match error.kind() {
            ErrorKind::Database => gone().with_cause(error),
            _ => error,
        })?;
        apply_settings(self, &state.settings, keep)?;
        if self.run_of_server(keep)? != state.server {
            return Err(gone());
        }
        // COPY has the query within its own text, so the server must have parsed the query alone before.
        match self.describe(query, &[], options, keep)? {
            Some(described) if described.schema.is_some() => Ok(()),
            _ => Err(Error::no_rows()),
        }
    }

    fn run_of_server(&self, keep: ContinueCheck<'_>) -> Result<String, Error> {
        let answer = self.ask(SERVER, keep)?;
        let missing = || Error::new(ErrorKind::Protocol, "a server without a start");
        answer.text(0, 0).map(str::to_owned).ok_or_else(missing)
    }
}

/// The error of a state that no connection holds any more.
fn gone() -> Error {
    Error::new(ErrorKind::Unavailable, "there is no such part any more: the state of the database that it is of is gone")
        .with_sqlstate("42704")
        .with_hint(
            "the plan or the statement that made it must stay open until the part is being read, and it is read at the same server and \
             database",
        )
}
