//! The request that the engine's process ends.

use std::sync::OnceLock;

/// Why the process of an engine must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// The engine has reported a fatal error.
    EngineFailed,
    /// A statement does not stop.
    Stuck,
}

/// Ends the process on request of any session. The first cause counts.
#[derive(Default)]
pub struct ProcessExit {
    action: OnceLock<Box<dyn Fn() + Send + Sync>>,
    cause: OnceLock<ExitCause>,
}

impl ProcessExit {
    pub fn set_action(&self, action: impl Fn() + Send + Sync + 'static) {
        // It is set once, when the process starts.
        let _ = self.action.set(Box::new(action));
    }

    pub fn request(&self, cause: ExitCause) {
        if self.cause.set(cause).is_ok()
            && let Some(action) = self.action.get()
        {
            action();
        }
    }

    /// The cause of the first request.
    pub fn cause(&self) -> Option<ExitCause> {
        self.cause.get().copied()
    }
}
