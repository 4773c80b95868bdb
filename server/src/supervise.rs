//! `colonnade serve` is two processes, so that it survives a crash of the engine: a supervisor, which listens, and a worker, which
//! does everything else.
//!
//! The supervisor accepts connections and passes their sockets to the worker. No byte of a connection passes through it. It keeps
//! a duplicate of each socket. When the worker dies, it tells the clients why their connections end, and starts another worker.
//! Engine, sessions, users and encryption are in the worker ([`worker`]).

mod board;
mod credentials;
mod death;
mod handoff;
mod listening;
pub(crate) mod memory;
mod parcel;
mod process;
pub(crate) mod sandbox;
mod supervisor;
pub(crate) mod worker;

pub(crate) use board::{Board, Slot};
pub use credentials::{CredentialFiles, Credentials};
pub(crate) use death::{ENGINE_FAILED, STATEMENT_STUCK};
pub(crate) use handoff::{Channel, ChannelMessage, Received};
pub use process::Program;
pub(crate) use process::Setup;
pub use supervisor::{Supervision, Supervisor};
