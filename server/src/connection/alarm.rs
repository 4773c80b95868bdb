//! When the process of an engine must end, and who is told.

use std::sync::OnceLock;

/// Why the process of an engine must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The engine says that it cannot go on.
    EngineFailed,
    /// A statement does not stop.
    Stuck,
}

/// Tells the process that it must end: once, whichever session finds out.
#[derive(Default)]
pub struct Alarm {
    act: OnceLock<Box<dyn Fn() + Send + Sync>>,
    cause: OnceLock<Cause>,
}

impl Alarm {
    /// What to do then.
    pub fn set(&self, act: impl Fn() + Send + Sync + 'static) {
        // There is one process, and it says so once.
        let _ = self.act.set(Box::new(act));
    }

    pub fn ring(&self, cause: Cause) {
        if self.cause.set(cause).is_ok()
            && let Some(act) = self.act.get()
        {
            act();
        }
    }

    /// Why it has rung, if it has.
    pub fn cause(&self) -> Option<Cause> {
        self.cause.get().copied()
    }
}
