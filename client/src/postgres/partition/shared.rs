//! A snapshot that connections of other processes can import.

use std::sync::Arc;

use super::{PostgresConnection, import};
use crate::partition::{SharedState, StateExport};
use crate::{Connection, Error, ErrorKind, Keep, QueryOptions};

/// The run of the server. Names of snapshots are numbers that another server, or the same one after a restart, may give again.
const SERVER: &str = "SELECT (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()) * 1000000)::pg_catalog.int8::pg_catalog.text";

impl PostgresConnection {
    pub(super) fn share_state(&self, keep: Keep<'_>) -> Result<StateExport, Error> {
        let settings = self.settings(keep)?;
        let place = self.place(settings.clone(), Vec::new(), true);
        let (first, snapshot) = place.first(keep)?;
        let server = first.run_of_server(keep)?;
        let snapshot = snapshot.ok_or_else(|| Error::new(ErrorKind::Protocol, "a snapshot without a name"))?;
        let connection: Arc<dyn Connection> = Arc::new(first);
        self.session.siblings.add(std::slice::from_ref(&connection));
        Ok(StateExport { connection, state: SharedState { server, snapshot, settings } })
    }

    pub(super) fn join_state(
        &self,
        state: &SharedState,
        query: &str,
        options: &QueryOptions,
        keep: Keep<'_>,
    ) -> Result<Arc<dyn Connection>, Error> {
        let place = self.place(state.settings.clone(), Vec::new(), true);
        let joined = place.begin(keep)?;
        import(&joined, &state.snapshot, keep).map_err(|error| match error.kind() {
            ErrorKind::Database => gone().with_cause(error),
            _ => error,
        })?;
        place.settle(&joined, keep)?;
        if joined.run_of_server(keep)? != state.server {
            return Err(gone());
        }
        // COPY has the query within its own text, so the server must have parsed the query alone before.
        match joined.describe(query, &[], options, keep)? {
            Some(described) if described.schema.is_some() => {}
            _ => return Err(Error::no_rows()),
        }
        let joined: Arc<dyn Connection> = Arc::new(joined);
        self.session.siblings.add(std::slice::from_ref(&joined));
        Ok(joined)
    }

    fn run_of_server(&self, keep: Keep<'_>) -> Result<String, Error> {
        let answer = self.ask(SERVER, keep)?;
        let missing = || Error::new(ErrorKind::Protocol, "a server without a start");
        answer.text(0, 0).map(str::to_owned).ok_or_else(missing)
    }
}

/// The error of a state that no connection holds any more.
fn gone() -> Error {
    Error::new(ErrorKind::Unavailable, "there is no such partition any more: the state of the database that it is of is gone")
        .with_sqlstate("42704")
        .with_hint(
            "the statement that made it must not be released or executed again before, and its connection must stay open; it is read at the \
             same server and database",
        )
}
