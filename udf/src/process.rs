//! One worker process and its ring, as the server sees them.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::CallError;
use crate::layout::{AnswerHead, RequestHead};
use crate::local::LocalWorker;
use crate::pool::{PoolState, Source};
use crate::ring::Ring;
use crate::template::{EndStatus, ForkRequest, Template};

/// How often a waiting thread looks whether the worker lives and the time is over.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A process that runs functions, or the server's own process, with a ring.
#[derive(Debug)]
pub(crate) struct Process {
    runner: Runner,
    pub ring: Ring,
    /// Whether a thread waits for an answer.
    is_busy: AtomicBool,
    /// Whether this process was killed by the server.
    is_killed: AtomicBool,
}

#[derive(Debug)]
enum Runner {
    Forked(ForkedProcess),
    /// The server itself, which cannot be killed.
    Local(Box<dyn LocalWorker>),
}

/// A process that the template has forked.
#[derive(Debug)]
struct ForkedProcess {
    /// The number by which the template knows it.
    id: u64,
    pid: Pid,
    descriptor: OwnedFd,
    template: Arc<Template>,
    /// Whether its first thread is bound to one CPU, which threads that it starts inherit.
    is_bound: AtomicBool,
    /// The CPUs on which it may run.
    processors: CpuSet,
}

impl ForkedProcess {
    /// Has the template fork a process. If the template has died meanwhile, which is noticed only now, another one does it.
    fn start(pool: &Arc<PoolState>, ring: &Ring) -> Result<Self, CallError> {
        let template = pool.template()?;
        match Self::fork(pool, Arc::clone(&template), ring) {
            Err(_) if template.is_dead() => Self::fork(pool, pool.template()?, ring),
            started => started,
        }
    }

    fn fork(pool: &PoolState, template: Arc<Template>, ring: &Ring) -> Result<Self, CallError> {
        let rules = pool.rules(&template)?;
        let id = pool.next_id();
        let request = ForkRequest {
            id,
            ring: ring.as_fd(),
            ring_limit: ring.limit(),
            memory: pool.limits.memory,
            sandbox: rules.as_ref().map(|rules| (rules.as_fd(), &pool.filter)),
        };
        let forked = template.fork(&request)?;
        let (pid, descriptor, processors) = (forked.process, forked.descriptor, pool.processors);
        Ok(Self { id, pid, descriptor, template, is_bound: AtomicBool::new(false), processors })
    }

    /// Binds the process's first thread to a CPU. Gives whether it is.
    fn bind(&self, processor: usize) -> bool {
        let mut only = CpuSet::new();
        if processor >= CpuSet::MAX_CPU {
            return false;
        }
        only.set(processor);
        self.is_bound.store(true, Ordering::SeqCst);
        sched_setaffinity(Some(self.pid), &only).is_ok()
    }

    /// Lets the process run on all CPUs, with the threads that it has started meanwhile.
    fn free(&self) {
        if self.is_bound.swap(false, Ordering::SeqCst) {
            // It fails if the process has ended. Then the call fails too.
            let _ = sched_setaffinity(Some(self.pid), &self.processors);
            self.template.free_threads(self.id);
        }
    }

    /// Whether the process has ended.
    fn has_ended(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut descriptors = [PollFd::new(&self.descriptor, PollFlags::IN)];
        poll(&mut descriptors, Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    Cancelled,
    Late,
    Died,
}

impl Process {
    /// Starts a worker.
    pub fn start(pool: &Arc<PoolState>) -> Result<Self, crate::CallError> {
        let ring = Ring::new(usize::try_from(pool.limits.memory).unwrap_or(usize::MAX / 4))?;
        let runner = match &pool.source {
            Source::Templates(_) => Runner::Forked(ForkedProcess::start(pool, &ring)?),
            Source::Local(source) => {
                // Nobody else could make it larger during a call.
                if !ring.grow(ring.limit()) {
                    return Err(CallError::Start("there is no memory for the values of functions".to_owned()));
                }
                let whole = ring.slice(0, ring.limit()).map_or(0, |slice| slice.as_mut_ptr() as usize);
                Runner::Local(source.start(whole, ring.limit())?)
            }
        };
        Ok(Self { runner, ring, is_busy: AtomicBool::new(false), is_killed: AtomicBool::new(false) })
    }

    /// Sends a request and waits for its answer: until `deadline`, and until `is_cancelled`.
    pub fn exchange(
        &self,
        head: &RequestHead,
        deadline: Option<Instant>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<AnswerHead, NoAnswer> {
        self.is_busy.store(true, Ordering::SeqCst);
        let answer = match &self.runner {
            Runner::Forked(forked) => {
                let number = self.ring.send(head);
                self.wait(forked, number, deadline, is_cancelled)
            }
            Runner::Local(worker) if !is_cancelled() => {
                let number = self.ring.write_request(head);
                worker.handle();
                match deadline {
                    _ if !self.ring.has_answer(number) => Err(NoAnswer::Died),
                    _ if is_cancelled() => Err(NoAnswer::Cancelled),
                    Some(deadline) if Instant::now() >= deadline => Err(NoAnswer::Late),
                    _ => Ok(()),
                }
            }
            Runner::Local(_) => Err(NoAnswer::Cancelled),
        };
        self.is_busy.store(false, Ordering::SeqCst);
        answer.map(|()| self.ring.answer_head())
    }

    fn wait(
        &self,
        forked: &ForkedProcess,
        number: u32,
        deadline: Option<Instant>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), NoAnswer> {
        let begun = Instant::now();
        let mut next_look = begun + LOOK_INTERVAL;
        // A worker may answer each request at once with another wish.
        if deadline.is_some_and(|deadline| begun >= deadline) {
            return Err(NoAnswer::Late);
        }
        loop {
            // The flag first: a worker that is killed afterwards cannot answer, and `cancel` wakes this thread after setting the flag.
            if is_cancelled() {
                return Err(NoAnswer::Cancelled);
            }
            if self.ring.wait(number, LOOK_INTERVAL) {
                return Ok(());
            }
            // The worker may wake this thread as often as it likes.
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Err(NoAnswer::Late);
            }
            if now >= next_look {
                next_look = now + LOOK_INTERVAL;
                // So long a call may have started threads.
                forked.free();
                if forked.has_ended() {
                    let is_late = !is_cancelled();
                    return Err(if is_late { NoAnswer::Died } else { NoAnswer::Cancelled });
                }
            }
        }
    }

    /// Binds a forked process's first thread to a CPU. Gives whether it is.
    pub fn bind(&self, processor: usize) -> bool {
        match &self.runner {
            Runner::Forked(forked) => forked.bind(processor),
            Runner::Local(_) => false,
        }
    }

    /// Lets the process run on all CPUs, with the threads that it has started meanwhile.
    pub fn free(&self) {
        if let Runner::Forked(forked) = &self.runner {
            forked.free();
        }
    }

    /// The process's id; `None` if it is the server's own.
    pub fn id(&self) -> Option<i32> {
        match &self.runner {
            Runner::Forked(forked) => Some(forked.pid.as_raw_nonzero().get()),
            Runner::Local(_) => None,
        }
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        match &self.runner {
            Runner::Forked(forked) => forked.has_ended(),
            Runner::Local(_) => self.is_killed(),
        }
    }

    /// How the process has ended. `None` if the template has ended too, and all its workers with it.
    pub fn end_status(&self) -> Option<EndStatus> {
        match &self.runner {
            Runner::Forked(forked) => forked.template.status(forked.id).ok(),
            Runner::Local(_) => None,
        }
    }

    /// Kills the process, and wakes the thread that waits for its answer.
    pub fn kill(&self) {
        if !self.is_killed.swap(true, Ordering::SeqCst)
            && let Runner::Forked(forked) = &self.runner
        {
            forked.template.end(forked.id);
        }
        self.ring.wake_waiting();
    }

    /// Whether the server has killed this process.
    pub fn is_killed(&self) -> bool {
        self.is_killed.load(Ordering::SeqCst)
    }

    /// Whether a thread waits for an answer.
    pub fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::SeqCst)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
