//! On which CPU a function process runs.
//!
//! Waking a process on another CPU costs ten times a wake on the same one, so a function process of short calls follows
//! the thread that calls it. One of long calls runs on any CPU, concurrently with that thread.
//!
//! The kernel may wake the calling thread on a CPU that is idle, because the function process still runs where it was,
//! and then the process would have to follow at each call. A thread that has moved is therefore kept on its CPU for
//! some calls. Binding it at each call would cost as much.
//!
//! Threads inherit the CPU to which the thread that starts them is bound. Such threads are freed with the function
//! process: when its calls become long, or one takes longer than `process.rs` waits without a look.

use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::process::Process;

/// A process that is free begins to follow if its calls are shorter than this, which includes a wake on another CPU.
const FOLLOW_BELOW: Duration = Duration::from_micros(100);
/// A process that follows becomes free if its calls are longer than this.
const FREE_ABOVE: Duration = Duration::from_micros(50);
/// The weight of the last call in the moving average: one in this number.
const AVERAGED_CALLS: u32 = 4;

/// For how many calls a thread is kept on its CPU: some milliseconds, after which it may move if the CPU has become
/// busy.
const KEPT_CALLS: u32 = 1024;

#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// The moving average of a call's time. `None` before the first call, whose time is not typical.
    average: Option<Duration>,
    has_called: bool,
    /// The CPU to which the process is bound.
    followed: Option<usize>,
    kept: Option<KeptThread>,
}

/// A thread that is kept on its CPU, until this is dropped.
#[derive(Debug)]
struct KeptThread {
    thread: Pid,
    /// The CPUs on which it may run otherwise.
    processors: CpuSet,
    calls: u32,
}

impl KeptThread {
    fn on(processor: usize) -> Option<Self> {
        let (thread, processors) = (gettid(), sched_getaffinity(None).ok()?);
        let mut only = CpuSet::new();
        only.set(processor);
        sched_setaffinity(Some(thread), &only).ok()?;
        Some(Self { thread, processors, calls: KEPT_CALLS })
    }
}

impl Drop for KeptThread {
    fn drop(&mut self) {
        // It fails if the thread has ended.
        let _ = sched_setaffinity(Some(self.thread), &self.processors);
    }
}

impl Pace {
    /// Moves the process to the CPU of this thread, or frees it.
    pub fn before_call(&mut self, process: &Process) {
        let Some(average) = self.average else { return };
        if self.followed.is_some() && average > FREE_ABOVE {
            self.kept = None;
            self.followed = None;
            process.free();
        } else if self.followed.is_some() || average < FOLLOW_BELOW {
            self.follow(process);
        }
    }

    fn follow(&mut self, process: &Process) {
        if let Some(kept) = &mut self.kept {
            kept.calls -= 1;
            if kept.calls > 0 && kept.thread == gettid() {
                return;
            }
            self.kept = None;
        }
        let here = sched_getcpu();
        if self.followed != Some(here) {
            let has_moved = self.followed.is_some();
            self.followed = process.bind(here).then_some(here);
            if has_moved && self.followed.is_some() {
                self.kept = KeptThread::on(here);
            }
        }
    }

    /// The function process is no longer that of this thread.
    pub fn end_calls(&mut self) {
        self.kept = None;
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
