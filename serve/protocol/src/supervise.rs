//! `colonnade serve` is two processes, so that the server continues after a crash of the engine. The supervisor listens. The worker does
//! everything else.
//!
//! The supervisor accepts connections and passes their sockets to the worker. No byte of a connection passes through it. It keeps
//! a duplicate of each socket. When the worker dies, it tells the clients why their connections end, and starts another worker.
//! Engine, sessions, users and encryption are in the worker ([`worker`]).

mod board;
mod channel;
mod credentials;
mod death;
mod helper;
mod listening;
pub(crate) mod memory;
mod memory_file;
mod process;
mod restart;
pub(crate) mod sandbox;
mod supervisor;
pub(crate) mod worker;

pub(crate) use board::{Board, Slot};
pub(crate) use channel::{Channel, ChannelMessage, Received};
pub use credentials::{CredentialFiles, Credentials};
pub(crate) use death::{ENGINE_FAILED_STATUS, STATEMENT_STUCK_STATUS};
pub use helper::{HelperProgram, HelperStarter};
pub use process::Program;
pub(crate) use process::Setup;
pub use supervisor::{Supervisor, SupervisorOptions};
