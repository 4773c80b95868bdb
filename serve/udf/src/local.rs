//! Functions in the server's own process: nothing is between them and the server.

use std::fmt;
use std::io;

/// Starts workers in this process.
pub trait LocalSource: Send + Sync {
    /// A worker over a ring: its address and its bytes. The memory outlives the worker.
    ///
    /// # Errors
    /// If it cannot be started. The text is for the user of a function.
    fn start(&self, address: usize, size: usize) -> io::Result<Box<dyn LocalWorker>>;
}

/// A worker in this process. One thread at a time uses it.
pub trait LocalWorker: fmt::Debug + Send + Sync {
    /// Does what the request in the ring asks, and writes the answer there.
    fn handle(&self);
}
