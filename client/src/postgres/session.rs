//! The session of a connection, and the server at its other end.

use std::sync::{Arc, OnceLock};

use super::cancel;
use super::delivery::Delivery;
use super::route::Route;
use super::server_connection::{ServerConnection, ServerProperties};
use crate::shared_connection::{Peer, SharedConnection};
use crate::system::Socket;
use crate::{Error, Pool};

/// A connection to a server that sends the Colonnade format, or to PostgreSQL without the extension.
pub struct PostgresConnection {
    pub(super) session: Arc<SharedConnection<Postgres>>,
    pub(super) pool: Pool,
}

/// The server of the connection.
pub(crate) struct Postgres {
    /// The route of a cancel request.
    pub(super) route: Arc<Route>,
    pub(super) server: ServerProperties,
    /// The server's software and version, without what is not known yet.
    pub(super) software: String,
    /// How the server delivers results, and its software and version.
    pub(super) found: OnceLock<(Delivery, String)>,
}

impl Peer for Postgres {
    type ServerConnection = ServerConnection;

    fn cancel(&self) -> Result<(), Error> {
        cancel::request(&self.route, self.server.key)
    }

    fn socket(connection: &ServerConnection) -> &Socket {
        connection.incoming.socket()
    }

    fn received(connection: &ServerConnection) -> u64 {
        connection.incoming.received()
    }

    fn rows_from(connection: &ServerConnection) -> &'static str {
        connection.server.rows_from
    }
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        self.session.retire();
    }
}
