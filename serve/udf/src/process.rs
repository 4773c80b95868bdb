//! One function process and its ring, as the server sees them.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::CallError;
use crate::cpu_time;
use crate::layout::{AnswerHead, RequestHead};
use crate::local::LocalInterpreter;
use crate::ring::Ring;
use crate::source::{ProcessSource, SourceKind};
use crate::template::{EndStatus, ForkRequest, Template};

/// How often a waiting thread looks whether the process lives and the time is over.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A process that runs functions, or the server's own process, with a ring.
#[derive(Debug)]
pub(crate) struct Process {
    runner: Runner,
    pub ring: Ring,
    /// How often it has changed between a call and none: odd during a call. [`KILLED`] after the server has killed it.
    /// One number has both, so a process is never killed for what it does without a call when the next one has begun.
    calls: AtomicU64,
}

/// What [`Process::calls`] is after the process was killed.
const KILLED: u64 = 0;

fn is_call(calls: u64) -> bool {
    calls % 2 == 1
}

#[derive(Debug)]
enum Runner {
    Forked(ForkedProcess),
    /// The server itself, which cannot be killed.
    Local(Box<dyn LocalInterpreter>),
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
    /// Has the template fork a process. If the template has died meanwhile, which is noticed only now, another one does
    /// it.
    fn start(source: &ProcessSource, ring: &Ring) -> Result<Self, CallError> {
        let template = source.template()?;
        match Self::fork(source, Arc::clone(&template), ring) {
            Err(_) if template.is_dead() => Self::fork(source, source.template()?, ring),
            started => started,
        }
    }

    fn fork(source: &ProcessSource, template: Arc<Template>, ring: &Ring) -> Result<Self, CallError> {
        let rules = source.rules(&template)?;
        let id = source.next_id();
        let request = ForkRequest {
            id,
            ring: ring.as_fd(),
            ring_limit: ring.limit(),
            memory: source.limits.memory,
            sandbox: rules.as_ref().map(|rules| (rules.as_fd(), &source.filter)),
        };
        let forked = template.fork(&request)?;
        let (pid, descriptor, processors) = (forked.process, forked.descriptor, source.processors);
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
    /// Starts a function process, whose first call has begun.
    pub fn start(source: &ProcessSource) -> Result<Self, CallError> {
        let ring = Ring::new(usize::try_from(source.limits.memory).unwrap_or(usize::MAX / 4))?;
        let runner = match &source.kind {
            SourceKind::Templates(_) => Runner::Forked(ForkedProcess::start(source, &ring)?),
            SourceKind::Local(local) => {
                // Nobody else could make it larger during a call.
                if !ring.grow(ring.limit()) {
                    return Err(CallError::Start("there is no memory for the values of functions".to_owned()));
                }
                let whole = ring.slice(0, ring.limit()).map_or(0, |slice| slice.as_mut_ptr() as usize);
                Runner::Local(local.start(whole, ring.limit())?)
            }
        };
        Ok(Self { runner, ring, calls: AtomicU64::new(1) })
    }

    /// Begins a call, for which the process stays. Gives `false` if it was killed before.
    pub fn begin_call(&self) -> bool {
        let begun = |calls| (calls != KILLED).then_some(if is_call(calls) { calls } else { calls + 1 });
        self.calls.fetch_update(Ordering::SeqCst, Ordering::SeqCst, begun).is_ok()
    }

    /// Ends a call, if one has begun.
    pub fn end_call(&self) {
        // It fails if the process was killed.
        let _ =
            self.calls.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |calls| is_call(calls).then_some(calls + 1));
    }

    /// Sends a request and waits for its answer: until `deadline`, and until `is_cancelled`.
    pub fn exchange(
        &self,
        head: &RequestHead,
        deadline: Option<Instant>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<AnswerHead, NoAnswer> {
        let answer = match &self.runner {
            Runner::Forked(forked) => {
                let number = self.ring.send(head);
                self.wait(forked, number, deadline, is_cancelled)
            }
            Runner::Local(caller) if !is_cancelled() => {
                let number = self.ring.write_request(head);
                caller.handle();
                match deadline {
                    _ if !self.ring.has_answer(number) => Err(NoAnswer::Died),
                    _ if is_cancelled() => Err(NoAnswer::Cancelled),
                    Some(deadline) if Instant::now() >= deadline => Err(NoAnswer::Late),
                    _ => Ok(()),
                }
            }
            Runner::Local(_) => Err(NoAnswer::Cancelled),
        };
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
        // The process may answer each request at once with another wish.
        if deadline.is_some_and(|deadline| begun >= deadline) {
            return Err(NoAnswer::Late);
        }
        loop {
            // The flag first: a process that is killed afterwards cannot answer, and `cancel` wakes this thread after
            // setting the flag.
            if is_cancelled() {
                return Err(NoAnswer::Cancelled);
            }
            if self.ring.wait(number, LOOK_INTERVAL) {
                return Ok(());
            }
            // The process may wake this thread as often as it likes.
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

    /// How the process has ended. `None` if the template has ended too, and all its function processes with it.
    pub fn end_status(&self) -> Option<EndStatus> {
        match &self.runner {
            Runner::Forked(forked) => forked.template.status(forked.id).ok(),
            Runner::Local(_) => None,
        }
    }

    /// Kills the process, and wakes the thread that waits for its answer.
    pub fn kill(&self) {
        if self.calls.swap(KILLED, Ordering::SeqCst) != KILLED {
            self.end();
        }
        self.ring.wake_waiting();
    }

    fn end(&self) {
        if let Runner::Forked(forked) = &self.runner {
            forked.template.end(forked.id);
        }
    }

    /// Kills the process if it has computed without a call for more than `allowance` since `last`, which is what this
    /// function has found before.
    pub fn kill_if_computing(&self, last: &mut Option<IdleTime>, allowance: Duration) {
        let calls = self.calls.load(Ordering::SeqCst);
        let found = if is_call(calls) { None } else { self.cpu_time() };
        let Some(cpu) = found else { return *last = None };
        match last {
            Some(last) if last.calls == calls => {
                if cpu.saturating_sub(last.cpu) > allowance
                    && self.calls.compare_exchange(calls, KILLED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
                {
                    self.end();
                }
            }
            _ => *last = Some(IdleTime { calls, cpu }),
        }
    }

    /// The CPU time of all threads of the process. `None` if it is the server's own, or has ended.
    fn cpu_time(&self) -> Option<Duration> {
        match &self.runner {
            Runner::Forked(forked) => cpu_time::of(forked.pid),
            Runner::Local(_) => None,
        }
    }

    /// Whether the server has killed this process.
    pub fn is_killed(&self) -> bool {
        self.calls.load(Ordering::SeqCst) == KILLED
    }

    /// Whether a call has begun and not ended.
    pub fn is_busy(&self) -> bool {
        is_call(self.calls.load(Ordering::SeqCst))
    }
}

/// The CPU time that a process had between two calls.
#[derive(Debug)]
pub(crate) struct IdleTime {
    calls: u64,
    cpu: Duration,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
