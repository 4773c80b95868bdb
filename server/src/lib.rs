//! PostgreSQL's protocol in front of an engine that produces Arrow batches.
//!
//! A client connects as it would to PostgreSQL; `COPY (query) TO STDOUT (FORMAT colonnade)` carries large results as
//! columnar chunks, everything else is PostgreSQL's own text. The layers, from the bytes up:
//!
//! - [`message`]: the protocol's messages, bytes only;
//! - [`value`], [`oid`]: one Arrow value as PostgreSQL prints or sends it;
//! - [`parameter`], [`types`]: one value that a client sends, as the engine takes it;
//! - [`query`], [`copy`]: what a query string asks for, and the formats a result leaves in;
//! - `session`: one connection's conversation, a thread each;
//! - [`auth`], [`tls`], [`limits`], [`budget`]: who may come in, unseen by others, and how much of what it may take;
//! - [`Server`]: sockets, sessions, cancellation;
//! - [`Supervisor`], [`Worker`]: the process that listens, and the one that holds the engine and may die.
//!
//! What runs the queries is an [`Engine`]; this crate knows none.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod auth;
pub mod budget;
pub mod copy;
pub mod duckdb;
pub mod engine;
pub mod error;
pub mod fence;
mod lex;
pub mod limits;
mod link;
pub mod message;
pub mod oid;
pub mod parameter;
pub mod query;
pub mod tls;
pub mod types;
pub mod value;

mod alarm;
mod cancel;
mod catalog;
mod certain;
mod configure;
mod connection;
mod copy_in;
mod create;
mod declared;
mod extended;
mod input;
mod listen;
mod listing;
mod literal;
mod memory;
mod newcomer;
mod numbered;
mod observe;
mod place;
mod portal;
mod prepared;
mod quote;
mod registry;
mod rows;
mod sandbox;
mod savepoint;
mod sender;
mod serve;
mod session;
mod settings;
mod socket;
mod source;
mod spool;
mod startup;
mod supervise;
mod thread_clock;
mod transaction;
mod watch;
mod worker;

pub use catalog::at_home;
pub use engine::{
    Answer, BatchSize, ColumnCheck, Columns, Description, Dialect, Engine, EngineError, Interrupt, Parameter, Role,
    Rows, Session, Who,
};
pub use error::SqlState;
pub use listen::{Address, AddressError};
pub use memory::limit_memory;
pub use message::backend::Status;
pub use observe::Log;
pub use sandbox::{Confinement, confine};
pub use serve::{Options, ServeError, Server};
pub use supervise::{CredentialFiles, Credentials, Program, Supervision, Supervisor};
pub use worker::{End, Worker};
