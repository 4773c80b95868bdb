//! PostgreSQL's protocol v3 towards a server that speaks the Colonnade format, `spec/PROTOCOL.md`, or towards any other:
//! <https://www.postgresql.org/docs/current/protocol.html>.

mod authentication;
mod binary;
mod cancel;
mod connection;
mod copy_out;
mod delivery;
mod extended;
mod incoming;
mod link;
mod message;
mod reader;
mod request;
mod scram;

pub use connection::{PostgresConnection, connect};
