//! A statement that another thread has interrupted, and waits for its end.

use std::net::Shutdown;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::Control;
use crate::connection::thread_clock::ThreadClock;

/// How long an engine may take to notice an interrupt before it is sent again. An interrupt just before the engine
/// starts a statement is lost.
const FIRST_INTERRUPT_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_INTERRUPT_PAUSE: Duration = Duration::from_secs(1);
/// How long, after that, a client keeps its connection if the session does not wait for it. On a busy machine an
/// interrupt may need more than the time above, and then the client gets the error.
const END_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the session's thread may compute after the client's time is over. Then the engine's process ends with all
/// its sessions. It is CPU time: with two hundred other clients on two cores, a statement that ends after 4 s of
/// computing took longer than a minute.
const STUCK_CPU_TIME: Duration = Duration::from_secs(20);
/// The same limit in wall time. Other threads of the engine may compute for the statement, or it may wait.
const STUCK_WALL_TIME: Duration = Duration::from_secs(300);

/// An interrupted statement.
pub struct InterruptedStatement<'a> {
    pub(super) control: &'a Control,
    pub(super) statement: u64,
}

impl InterruptedStatement<'_> {
    /// Waits until it has ended, and repeats the interrupt. After `read_timeout`, if given, the client's socket is
    /// closed if the session waits for the client. If the statement still does not end, the engine's process ends.
    pub fn wait(self, read_timeout: Option<Duration>) {
        let mut pause = FIRST_INTERRUPT_PAUSE;
        let begun = Instant::now();
        let mut overdue: Option<Overdue> = None;
        let mut state = self.control.state();
        loop {
            state = self.control.idle.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
            if !state.is_busy || state.started != self.statement {
                return;
            }
            if read_timeout.is_some_and(|read_timeout| begun.elapsed() >= read_timeout) {
                let overdue = overdue.get_or_insert_with(|| Overdue::now(state.clock));
                if self.control.socket.waits_for_client() || overdue.at.elapsed() >= END_TIMEOUT {
                    self.control.socket.shutdown(Shutdown::Both);
                }
                if overdue.is_stuck() {
                    self.control.end_process();
                }
            }
            state.interrupt.interrupt();
            pause = (pause * 2).min(LONGEST_INTERRUPT_PAUSE);
        }
    }
}

/// When the client's time was over, and the CPU time of its session's thread at that time.
struct Overdue {
    at: Instant,
    clock: Option<ThreadClock>,
    computed: Option<Duration>,
}

impl Overdue {
    fn now(clock: Option<ThreadClock>) -> Self {
        Self { at: Instant::now(), clock, computed: clock.and_then(ThreadClock::elapsed) }
    }

    fn is_stuck(&self) -> bool {
        let computed = self.clock.and_then(ThreadClock::elapsed).zip(self.computed);
        let computing = computed.map_or(Duration::ZERO, |(now, before)| now.saturating_sub(before));
        computing >= STUCK_CPU_TIME || self.at.elapsed() >= STUCK_WALL_TIME
    }
}
