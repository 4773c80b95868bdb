//! Why a session's statement is stopped, or the session ends.

/// Why a statement is stopped. Of several reasons, the last one in this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopReason {
    Canceled,
    /// Its time limit.
    TimedOut,
    /// The client closed its connection. A shutdown of the socket by the server looks the same; then one of the next
    /// reasons is set.
    Gone,
    /// The time limit between statements.
    Idle,
    /// The same, within a transaction.
    IdleInTransaction,
    /// Another session of the user has ended it.
    Terminated,
    Shutdown,
    EngineFailed,
}

impl StopReason {
    /// Whether it ends the session, not only its statement.
    pub fn ends_session(self) -> bool {
        self > Self::TimedOut
    }
}
