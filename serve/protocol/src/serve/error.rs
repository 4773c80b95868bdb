//! Why a server cannot start.

use std::io;
use std::path::PathBuf;

use crate::auth::UsersError;
use crate::connection::listen::AddressError;
use crate::tls::TlsError;

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address cannot be listened on.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There is no address to listen on.
    #[error("no address to listen on; give an address with a port or a unix socket")]
    NoAddress,
    /// The users file cannot be used.
    #[error(transparent)]
    Users(#[from] UsersError),
    /// TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The metrics may be served on this machine only.
    #[error(
        "will not show metrics on {0}: they are neither encrypted nor protected by a password; use a loopback address"
    )]
    RemoteMetrics(std::net::SocketAddr),
    /// The log cannot be opened.
    #[error("cannot write the log to {0}: {1}")]
    Log(PathBuf, io::Error),
    /// The engine's process ended at once.
    #[error("the engine did not start: {0}")]
    Worker(std::process::ExitStatus),
    /// The operating system provides no more processes, threads or descriptors.
    #[error("cannot start the server: {0}")]
    Io(#[from] io::Error),
}
