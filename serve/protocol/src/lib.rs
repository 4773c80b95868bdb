//! PostgreSQL's protocol in front of an engine that produces Arrow batches.
//!
//! A client connects as to PostgreSQL. `COPY (query) TO STDOUT (FORMAT colonnade)` sends large results as columnar
//! chunks. All other results are in PostgreSQL's own formats. The layers, from the bytes up:
//!
//! - [`message`]: the protocol's messages, bytes only;
//! - [`charset`]: the client's encoding, from and to which messages convert their texts;
//! - [`value`]: one Arrow value in PostgreSQL's text and binary forms, and its type's number;
//! - [`parameter`]: one value from a client, in the form for the engine;
//! - [`copy`]: COPY's statement and formats;
//! - `rows`: results as messages, results that are set aside, and spooled results by ticket;
//! - `session`: one client's statements: simple and extended protocol, transactions, cursors, settings, COPY;
//! - `connection`: sockets, from accepting to the end; start-up messages; cancellation and time limits;
//! - [`advisory`]: locks that sessions take by numbers;
//! - [`notifications`]: texts that sessions send each other (LISTEN, NOTIFY);
//! - [`caller`]: a session, for the functions of SQL that its statements call;
//! - [`functions`]: functions in Python, which clients create;
//! - [`auth`], [`tls`], [`limits`], `observe`: authentication, encryption, quotas, the log and metrics;
//! - `memory`, `credentials`, `board`: what both processes use: the limit on memory, the files of users and
//!   certificates, and the state of each connection;
//! - `supervise`: [`Supervisor`], the process that listens, and [`Worker`], the process that holds the engine.
//!
//! An [`Engine`] runs the queries. This crate has none. `docs/explanation/server.md` describes the threads and the way
//! of a statement.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod advisory;
pub mod auth;
pub mod caller;
pub mod charset;
pub mod copy;
pub mod engine;
pub mod error;
pub mod functions;
pub mod limits;
pub mod message;
pub mod notifications;
pub mod parameter;
pub mod tls;
pub mod value;

mod board;
mod connection;
mod credentials;
mod memory;
mod memory_file;
mod observe;
mod rows;
mod serve;
mod session;
mod sqlstate;
mod supervise;

pub use connection::listen::{AddressError, ListenAddress};
pub use credentials::{CredentialFiles, Credentials};
pub use engine::{
    BatchSize, CatalogVersion, ColumnCheck, Columns, Description, Engine, EngineAnswer, EngineError, EngineSession,
    FunctionPlace, InsertedRows, Interrupt, Origins, Parameter, Role, Rows, SessionUser, TargetColumn, ValueForm,
};
pub use memory::{OwnMemory, limit_memory};
pub use message::backend::TransactionStatus;
pub use observe::Log;
pub use serve::{ServeError, ServeOptions, Server};
pub use sqlstate::SqlState;
pub use supervise::sandbox::{Confinement, confine};
pub use supervise::worker::{End, Worker};
pub use supervise::{HelperProgram, HelperStarter, Program, Supervisor, SupervisorOptions};
