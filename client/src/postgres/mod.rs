//! PostgreSQL's protocol v3 towards a server that speaks the Colonnade format: `spec/PROTOCOL.md` and
//! <https://www.postgresql.org/docs/current/protocol.html>.

mod cancel;
mod connection;
mod copy_out;
mod delivery;
mod incoming;
mod link;
mod message;
mod request;
mod socket;

pub use connection::{PostgresConnection, connect};
