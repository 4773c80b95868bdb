//! On which CPU a worker runs.
//!
//! Waking a process on another CPU costs ten times a wake on the same one, so a worker of short calls follows the thread that calls it. A
//! worker of long calls runs where it likes, beside that thread.
//!
//! Threads inherit the CPU to which the thread that starts them is bound. Such threads are freed with the worker: when its calls become
//! long, or one takes longer than `process.rs` waits without a look.

use std::time::Duration;

use rustix::thread::sched_getcpu;

use crate::process::Process;

/// A worker that is free begins to follow if its calls are shorter than this, which includes a wake on another CPU.
const FOLLOW_BELOW: Duration = Duration::from_micros(100);
/// A worker that follows becomes free if its calls are longer than this.
const FREE_ABOVE: Duration = Duration::from_micros(50);
/// The weight of the last call in the moving average: one in this number.
const AVERAGED_CALLS: u32 = 4;

#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// The moving average of a call's time. `None` before the first call, whose time is not typical.
    average: Option<Duration>,
    has_called: bool,
    /// The CPU to which the process is bound.
    followed: Option<usize>,
}

impl Pace {
    /// Moves the process to the CPU of this thread, or frees it.
    pub fn before_call(&mut self, process: &Process) {
        let Some(average) = self.average else { return };
        if self.followed.is_some() && average > FREE_ABOVE {
            self.followed = None;
            process.free();
        } else if self.followed.is_some() || average < FOLLOW_BELOW {
            let here = sched_getcpu();
            if self.followed != Some(here) {
                self.followed = process.bind(here).then_some(here);
            }
        }
    }

    pub fn after_call(&mut self, time: Duration) {
        self.average = match self.average {
            None if self.has_called => Some(time),
            None => None,
            Some(average) => Some((average * (AVERAGED_CALLS - 1) + time) / AVERAGED_CALLS),
        };
        self.has_called = true;
    }
}
