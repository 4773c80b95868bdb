//! How a server delivers results, and the first statement of a connection that does not know it yet.
//!
//! PostgreSQL need not announce the extension (PROTOCOL §1). The question for it travels with the first statement, so
//! that it takes no round trip of its own: with the statement's description, or, if an earlier connection to this
//! server has found the extension, as the call that loads it with the COPY. If that is wrong, the COPY fails and
//! nothing has run. A connection whose first statement is of another kind asks before, because an error within a
//! transaction of the user would abort it. So do the source's connections of a gateway.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::binary;
use super::copy_out::{CopyAnswer, CopyOut};
use super::delivery::Delivery;
use super::request::{CopiedQuery, Request};
use super::session::{Postgres, PostgresConnection};
use super::state::checked_begin;
use crate::rows::RowStream;
use crate::shared_connection::Started;
use crate::{Answer, ContinueCheck, Error};

/// The servers that are remembered.
const SERVERS: usize = 64;

/// The servers of this process that had the extension last time, and the statements that load it. The last one is the
/// latest. A wrong entry costs a round trip.
static EXTENDED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

impl PostgresConnection {
    /// Whether the server is `colonnade serve`, which always announces itself.
    pub(super) fn is_served(&self) -> bool {
        matches!(self.known_delivery(), Some(Delivery::Served(_)))
    }

    /// How the server delivers results, if that is known.
    pub(super) fn known_delivery(&self) -> Option<&Delivery> {
        self.session.peer.found.get().map(|(delivery, _)| delivery)
    }

    /// How the server delivers results. Asks the server if necessary.
    ///
    /// # Errors
    /// The server has the extension but it cannot be loaded, or as for [`Connection::query`](crate::Connection::query).
    pub(super) fn delivery(&self, keep: ContinueCheck<'_>) -> Result<&Delivery, Error> {
        if let Some(delivery) = self.known_delivery() {
            return Ok(delivery);
        }
        let mut found = None;
        let reader = self.session.begin(keep, |connection, tick, _: &mut dyn FnMut(())| {
            let delivery = Delivery::find(connection, tick)?;
            Ok(Started::Ended(delivery.map(|delivery| {
                connection.server.delivery = Some(delivery.clone());
                found = Some(delivery);
                None
            })))
        })?;
        reader.finish(keep)?;
        self.note(found.unwrap_or_default());
        Ok(self.known_delivery().unwrap_or(&Delivery::Stock))
    }

    /// Remembers how the server delivers results.
    pub(super) fn note(&self, delivery: Delivery) {
        let Postgres { found, server, route, .. } = &self.session.peer;
        remember(&route.target.shareable, &delivery);
        let software = delivery.software(&server.version);
        // If two threads have asked, their answers are equal.
        let _ = found.set((delivery, software));
    }

    /// Runs a statement, if how the server delivers results can be found out with it. `None` means that it has not run.
    ///
    /// # Errors
    /// As for [`Connection::query`](crate::Connection::query).
    pub(super) fn first(&self, request: &Request<'_>, keep: ContinueCheck<'_>) -> Result<Option<Answer>, Error> {
        // The names of types are asked for before a COPY.
        let is_copied = !request.options.type_names && request.is_copied();
        if !is_copied || self.session.look(|connection| connection.server.sends_utf8()) != Some(true) {
            return Ok(None);
        }
        match remembered(&self.session.peer.route.target.shareable) {
            Some(load) => self.first_copied(request, load, keep),
            None => self.first_described(request, keep),
        }
    }

    /// Loads the extension and sends the COPY.
    fn first_copied(
        &self,
        request: &Request<'_>,
        load: String,
        keep: ContinueCheck<'_>,
    ) -> Result<Option<Answer>, Error> {
        let query = CopiedQuery::new(request.statement, self.literals(request.statement)?)?;
        let expected = Delivery::Extension { format: 0, load: Some(load.clone()) };
        let (copying, asked, limits) = self.copying(&query.copy(request.options)?, Some(&expected), request.options)?;
        let mut loaded = None;
        let reader = self.session.begin(keep, |connection, tick, tell| {
            checked_begin(connection, |connection| copying.begin_first(connection, tick, load, &mut loaded, tell))
        })?;
        let Some(delivery) = loaded else {
            forget(&self.session.peer.route.target.shareable);
            // An error is the connection's.
            return reader.finish(keep).map(|_| None);
        };
        self.note(delivery);
        let stream = CopyOut::open(reader, asked, limits, CopyAnswer::Stream { types: &[] }, keep);
        stream.map(|stream| Some(Answer::Rows(Box::new(stream)))).map_err(|error| query.error(error))
    }

    /// Describes the statement, and runs it if there is no extension.
    fn first_described(&self, request: &Request<'_>, keep: ContinueCheck<'_>) -> Result<Option<Answer>, Error> {
        let reading = self.reading(request)?;
        let (mut load, mut is_answered) = (None, false);
        let reader = self.session.begin(keep, |connection, tick, tell| {
            let begun = checked_begin(connection, |connection| reading.begin_first(connection, tick, &mut load, tell));
            is_answered = connection.server.delivery.is_some();
            begun
        })?;
        if let Some(load) = load {
            reader.finish(keep)?;
            return self.first_copied(request, load, keep);
        }
        if is_answered {
            self.note(Delivery::Stock);
        }
        RowStream::<_, binary::Decoder>::answer(reader, request.options, keep).map(Some)
    }
}

fn extended() -> MutexGuard<'static, Vec<(String, String)>> {
    // Every change leaves a valid list.
    EXTENDED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remembered(server: &str) -> Option<String> {
    extended().iter().find(|(known, _)| known == server).map(|(_, load)| load.clone())
}

fn forget(server: &str) {
    extended().retain(|(known, _)| known != server);
}

fn remember(server: &str, delivery: &Delivery) {
    forget(server);
    if let Delivery::Extension { load: Some(load), .. } = delivery {
        let mut servers = extended();
        if servers.len() >= SERVERS {
            servers.remove(0);
        }
        servers.push((server.to_owned(), load.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_answer_of_a_server_is_remembered() {
        let extension = |load: &str| Delivery::Extension { format: 1, load: Some(load.to_owned()) };
        remember("host=first", &extension("SELECT a.colonnade_version()"));
        remember("host=first", &extension("SELECT b.colonnade_version()"));
        assert_eq!(remembered("host=first").as_deref(), Some("SELECT b.colonnade_version()"));
        remember("host=first", &Delivery::Stock);
        assert_eq!(remembered("host=first"), None);
    }
}
