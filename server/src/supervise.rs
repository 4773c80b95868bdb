//! `colonnade serve` is two processes, so that the engine may die: a supervisor, which listens, and a worker, which does
//! everything else.
//!
//! The supervisor accepts connections and hands their sockets to the worker. No byte of a conversation passes through it. It
//! keeps a duplicate of each socket; when the worker dies it can tell those clients why their connection ends, and starts
//! another worker. Engine, sessions, users and encryption are in the worker ([`worker`]).

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
pub(crate) use handoff::{Channel, Message, Received};
pub use process::Program;
pub(crate) use process::Setup;
pub use supervisor::{Supervision, Supervisor};
