//! PostgreSQL's protocol v3, with a server that sends the Colonnade format (`spec/PROTOCOL.md`) or with any other
//! server:
//! <https://www.postgresql.org/docs/current/protocol.html>.

mod ask;
mod authentication;
mod binary;
mod cancel;
mod connection;
mod copy_out;
mod delivery;
mod extended;
mod first;
mod incoming;
mod message;
mod parameters;
mod partition;
mod reports;
mod request;
mod route;
mod scram;
mod server_connection;
mod servers;
mod session;
mod simple;
mod spool;
mod state;
mod target;
mod type_names;
mod write;

pub(crate) use reports::changed;

pub use connection::connect;
pub use session::PostgresConnection;
pub use target::{Address, Binding, Conninfo, SslMode, Target, TargetSessionAttrs};
