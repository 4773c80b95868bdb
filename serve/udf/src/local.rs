//! Functions in the server's own process: nothing is between them and the server.

use std::fmt;
use std::io;

/// Starts interpreters in this process.
pub trait LocalSource: Send + Sync {
    /// An interpreter over a ring: the ring's address and its bytes. The memory outlives the interpreter.
    ///
    /// # Errors
    /// If it cannot be started. The text is for the user of a function.
    fn start(&self, address: usize, size: usize) -> io::Result<Box<dyn LocalInterpreter>>;
}

/// An interpreter in this process, which answers as a function process does. One thread at a time uses it.
pub trait LocalInterpreter: fmt::Debug + Send + Sync {
    /// Does what the request in the ring asks, and writes the answer there.
    fn handle(&self);
}
