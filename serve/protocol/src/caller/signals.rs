//! A session stops the statement of another one, or ends it, by its number.
//! <https://www.postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADMIN-SIGNAL>

use std::time::{Duration, Instant};

use super::Caller;
use crate::connection::registry::Stop;
use crate::connection::stop_reason::StopReason;

/// How long a waiting session takes at most to notice that it is stopped.
const TICK: Duration = Duration::from_millis(20);

/// What a session does to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Stops its statement.
    Cancel,
    /// Ends it.
    Terminate,
}

/// Why a session sends no signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalRefusal {
    /// The session is another user's.
    #[error("permission denied: session {0} is of another user, and a user may stop only its own sessions")]
    OtherUser(i32),
    /// A negative time to wait.
    #[error("value out of range: \"timeout\" must not be negative")]
    NegativeTimeout,
    /// The statement is stopped: by its own signal, or while it waited.
    #[error("the statement was stopped by a signal")]
    Stopped,
}

impl Caller {
    /// Sends a signal to a session. After `Terminate`, waits for its end, for `milliseconds` at most; 0 is no wait.
    /// Returns whether it was sent, and the session has ended if it was awaited. If not, the client gets a warning.
    ///
    /// # Errors
    /// The session is another user's, or this statement is stopped.
    pub fn signal(&self, signal: Signal, process: i32, milliseconds: i64) -> Result<bool, SignalRefusal> {
        let timeout = u64::try_from(milliseconds).map_err(|_| SignalRefusal::NegativeTimeout)?;
        let reason = match signal {
            Signal::Cancel => StopReason::Canceled,
            Signal::Terminate => StopReason::Terminated,
        };
        if process == self.process {
            self.control.stop_from_within(reason);
            return Err(SignalRefusal::Stopped);
        }
        let target = match self.registry.stop(process, &self.control.user, reason) {
            Stop::Sent(target) => target,
            Stop::OtherUser => return Err(SignalRefusal::OtherUser(process)),
            Stop::NoSession => {
                self.warn(format!("PID {process} is not a PostgreSQL backend process"));
                return Ok(false);
            }
            Stop::NoThread => {
                self.warn(format!("could not send signal to process {process}: no thread can be started"));
                return Ok(false);
            }
        };
        if signal == Signal::Cancel || timeout == 0 {
            return Ok(true);
        }
        let deadline = Instant::now().checked_add(Duration::from_millis(timeout));
        while self.registry.has(process, &target) {
            if self.control.check().is_err() {
                return Err(SignalRefusal::Stopped);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.warn(format!("backend with PID {process} did not terminate within {timeout} milliseconds"));
                return Ok(false);
            }
            self.registry.wait_for_an_end(TICK);
        }
        Ok(true)
    }
}
