//! The signal that the engine's process must end.

use std::sync::OnceLock;

/// Why the process of an engine must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The engine has reported a fatal error.
    EngineFailed,
    /// A statement does not stop.
    Stuck,
}

/// Ends the process. The first cause counts, from whichever session.
#[derive(Default)]
pub struct Alarm {
    act: OnceLock<Box<dyn Fn() + Send + Sync>>,
    cause: OnceLock<Cause>,
}

impl Alarm {
    pub fn set(&self, act: impl Fn() + Send + Sync + 'static) {
        // It is set once, when the process starts.
        let _ = self.act.set(Box::new(act));
    }

    pub fn ring(&self, cause: Cause) {
        if self.cause.set(cause).is_ok()
            && let Some(act) = self.act.get()
        {
            act();
        }
    }

    /// The cause, once the alarm was raised.
    pub fn cause(&self) -> Option<Cause> {
        self.cause.get().copied()
    }
}
