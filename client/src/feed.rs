//! A receiving thread, and the bounded queue between it and the decoding thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{ContinueCheck, Error, ErrorKind};

/// The time after which a wait calls `keep`.
pub(crate) const POLL: Duration = Duration::from_millis(100);
/// The messages that are received in advance.
pub(crate) const QUEUE_DEPTH: usize = 2;

/// Why there is no item.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoItem {
    /// The caller interrupted.
    Interrupted,
    /// The other end is gone.
    Gone,
}

/// Starts a thread.
///
/// # Errors
/// The system cannot start another thread.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map_err(|cause| Error::new(ErrorKind::Connect, "no thread could be started").with_cause(cause))
}

/// The next item. It calls `keep` first, because a queue that is never empty would never wait.
pub(crate) fn receive<T>(queue: &Receiver<T>, keep: ContinueCheck<'_>) -> Result<T, NoItem> {
    while keep() {
        match queue.recv_timeout(POLL) {
            Ok(item) => return Ok(item),
            Err(RecvTimeoutError::Disconnected) => return Err(NoItem::Gone),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Err(NoItem::Interrupted)
}

/// Skips items until `last` accepts the one that ends the queue.
///
/// # Errors
/// It takes too long, or the other end is gone.
pub(crate) fn drain<T>(
    queue: &Receiver<T>,
    limit: Duration,
    mut last: impl FnMut(T) -> bool,
) -> Result<(), RecvTimeoutError> {
    let deadline = Instant::now() + limit;
    loop {
        if last(queue.recv_timeout(deadline.saturating_duration_since(Instant::now()))?) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_queue_that_is_never_empty_can_be_left() {
        let (sender, queue) = sync_channel(2);
        assert_eq!(sender.send(1), Ok(()));
        assert_eq!(sender.send(2), Ok(()));
        assert_eq!(receive(&queue, &mut || true), Ok(1));
        assert_eq!(receive(&queue, &mut || false), Err(NoItem::Interrupted));
    }
}
