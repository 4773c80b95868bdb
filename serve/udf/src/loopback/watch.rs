//! Stops queries of functions whose call has to end. The thread that runs such a query cannot look itself.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use super::LoopbackConnection;
use crate::process::{LOOK_INTERVAL, Process};
use crate::stop::EndCondition;

/// A query that runs.
struct Watched {
    connection: Arc<dyn LoopbackConnection>,
    end: EndCondition,
    process: Arc<Process>,
}

#[derive(Default)]
struct Watch {
    running: Mutex<Running>,
    begun: Condvar,
}

#[derive(Default)]
struct Running {
    queries: HashMap<u64, Watched>,
    last: u64,
    /// Whether the thread runs that looks.
    has_thread: bool,
    /// Whether it waits for a query.
    is_idle: bool,
}

static WATCH: LazyLock<Watch> = LazyLock::new(Watch::default);

/// A query is watched until this is dropped.
pub(super) struct WatchedQuery(u64);

/// Watches a query.
pub(super) fn begin(connection: Arc<dyn LoopbackConnection>, end: EndCondition, process: Arc<Process>) -> WatchedQuery {
    let mut running = WATCH.lock();
    running.last += 1;
    let number = running.last;
    running.queries.insert(number, Watched { connection, end, process });
    if !running.has_thread {
        // Without a thread, the query ends by itself; the next one tries again.
        running.has_thread = thread::Builder::new().name("loopback-watch".to_owned()).spawn(look).is_ok();
    }
    let is_idle = std::mem::take(&mut running.is_idle);
    drop(running);
    if is_idle {
        WATCH.begun.notify_one();
    }
    WatchedQuery(number)
}

impl Drop for WatchedQuery {
    fn drop(&mut self) {
        // The lock is held while a query is interrupted. So after this, no interrupt reaches what its connection runs
        // next.
        let ended = WATCH.lock().queries.remove(&self.0);
        drop(ended);
    }
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Interrupts queries again and again until they end: an interrupt just before a query starts is lost.
fn look() {
    let mut running = WATCH.lock();
    let mut last = 0;
    loop {
        // While queries come, the thread is not woken for each: they take less time than that.
        if running.queries.is_empty() && running.last == last {
            running.is_idle = true;
            running =
                WATCH.begun.wait_while(running, |running| running.is_idle).unwrap_or_else(PoisonError::into_inner);
        }
        last = running.last;
        // Longer than most queries take, so that most are never looked at.
        running = WATCH.begun.wait_timeout(running, LOOK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        let now = Instant::now();
        running.queries.values().filter(|query| query.has_to_end(now)).for_each(|query| query.connection.interrupt());
    }
}

impl Watched {
    fn has_to_end(&self, now: Instant) -> bool {
        self.end.is_cancelled() || self.end.deadline.is_some_and(|deadline| now >= deadline) || self.process.has_ended()
    }
}
