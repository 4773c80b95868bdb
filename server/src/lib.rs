//! PostgreSQL's protocol in front of an engine that produces Arrow batches.
//!
//! A client connects as it would to PostgreSQL; `COPY (query) TO STDOUT (FORMAT colonnade)` carries large results as
//! columnar chunks, everything else is PostgreSQL's own text. The layers, from the bytes up:
//!
//! - [`message`]: the protocol's messages, bytes only;
//! - [`value`]: one Arrow value as PostgreSQL prints or sends it, and its type's number;
//! - [`parameter`]: one value that a client sends, as the engine takes it;
//! - [`copy`], `rows`: the formats that a result is sent in;
//! - `session`: the statements of one client;
//! - `connection`: sockets, from accepting to the end, and cancellation;
//! - [`auth`], [`tls`], [`limits`]: authentication, encryption, quotas;
//! - `supervise`: [`Supervisor`], the process that listens, and [`Worker`], the process that holds the engine.
//!
//! What runs the queries is an [`Engine`]; this crate knows none.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod auth;
pub mod copy;
pub mod engine;
pub mod error;
pub mod limits;
pub mod message;
pub mod parameter;
pub mod tls;
pub mod value;

mod connection;
mod observe;
mod rows;
mod serve;
mod session;
mod sqlstate;
mod supervise;

pub use connection::listen::{AddressError, ListenAddress};
pub use engine::{
    BatchSize, ColumnCheck, Columns, Description, Engine, EngineAnswer, EngineError, EngineSession, Interrupt,
    Parameter, Role, Rows, Who,
};
pub use message::backend::TransactionStatus;
pub use observe::Log;
pub use serve::{ServeError, ServeOptions, Server};
pub use sqlstate::SqlState;
pub use supervise::memory::limit_memory;
pub use supervise::sandbox::{Confinement, confine};
pub use supervise::worker::{End, Worker};
pub use supervise::{CredentialFiles, Credentials, Program, Supervisor, SupervisorOptions};
