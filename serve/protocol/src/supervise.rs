//! `colonnade serve` is two processes, so that the server continues after a crash of the engine. The supervisor
//! listens. The worker does everything else.
//!
//! The supervisor accepts connections and passes their sockets to the worker. No byte of a connection passes through
//! it. It keeps a duplicate of each socket. When the worker dies, it tells the clients why their connections end, and
//! starts another worker. Engine, sessions, users and encryption are in the worker ([`worker`]).

mod channel;
mod context;
mod death;
mod helper;
mod listening;
mod process;
mod restart;
pub(crate) mod sandbox;
mod supervisor;
pub(crate) mod worker;

pub(crate) use channel::{Channel, ChannelMessage, Received};
pub use context::SupervisorOptions;
pub(crate) use death::{ENGINE_FAILED_STATUS, STATEMENT_STUCK_STATUS};
pub use helper::{HelperProgram, HelperStarter};
pub use process::Program;
pub(crate) use process::Setup;
pub use supervisor::Supervisor;
