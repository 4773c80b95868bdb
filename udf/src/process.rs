//! One worker process and its ring, as the server sees them.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use crate::layout::{AnswerHead, RequestHead};
use crate::pool::{Place, PoolState};
use crate::ring::Ring;
use crate::template::{EndStatus, ForkRequest, Forked, Template};

/// How often a waiting thread looks whether the worker lives and the time is over.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct Process {
    /// The number by which the template knows it.
    id: u64,
    pub pid: Pid,
    descriptor: OwnedFd,
    pub ring: Ring,
    template: Arc<Template>,
    /// Whether a thread waits for an answer.
    is_busy: AtomicBool,
    /// Whether this process was killed by the server.
    is_killed: AtomicBool,
    /// A place of the session and one of the pool, free again when this is dropped.
    _places: [Place; 2],
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    Cancelled,
    Late,
    Died,
}

impl Process {
    /// Has the template fork a worker. If the template has died meanwhile, which is noticed only now, another one does it.
    pub fn start(pool: &Arc<PoolState>, places: [Place; 2]) -> Result<Self, crate::CallError> {
        let template = pool.template()?;
        let places = match Self::fork(pool, &template, places) {
            Err((_, places)) if template.is_dead() => places,
            started => return started.map_err(|(error, _)| error),
        };
        Self::fork(pool, &pool.template()?, places).map_err(|(error, _)| error)
    }

    fn fork(
        pool: &Arc<PoolState>,
        template: &Arc<Template>,
        places: [Place; 2],
    ) -> Result<Self, (crate::CallError, [Place; 2])> {
        match Self::forked(pool, template) {
            Ok((id, ring, forked)) => Ok(Self {
                id,
                pid: forked.process,
                descriptor: forked.descriptor,
                ring,
                template: Arc::clone(template),
                is_busy: AtomicBool::new(false),
                is_killed: AtomicBool::new(false),
                _places: places,
            }),
            Err(error) => Err((error, places)),
        }
    }

    fn forked(pool: &PoolState, template: &Template) -> Result<(u64, Ring, Forked), crate::CallError> {
        let ring = Ring::new(usize::try_from(pool.limits.memory).unwrap_or(usize::MAX / 4))?;
        let rules = pool.rules(template)?;
        let id = pool.next_id();
        let request = ForkRequest {
            id,
            ring: ring.as_fd(),
            ring_limit: ring.limit(),
            memory: pool.limits.memory,
            sandbox: rules.as_ref().map(|rules| (rules.as_fd(), &pool.filter)),
        };
        let forked = template.fork(&request)?;
        Ok((id, ring, forked))
    }

    /// Sends a request and waits for its answer: until `deadline`, and until `is_cancelled`.
    pub fn exchange(
        &self,
        head: &RequestHead,
        deadline: Option<Instant>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<AnswerHead, NoAnswer> {
        self.is_busy.store(true, Ordering::SeqCst);
        let answer = self.wait(self.ring.send(head), deadline, is_cancelled);
        self.is_busy.store(false, Ordering::SeqCst);
        answer.map(|()| self.ring.answer_head())
    }

    fn wait(&self, number: u32, deadline: Option<Instant>, is_cancelled: &dyn Fn() -> bool) -> Result<(), NoAnswer> {
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
                if self.has_ended() {
                    let is_late = !is_cancelled();
                    return Err(if is_late { NoAnswer::Died } else { NoAnswer::Cancelled });
                }
            }
        }
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut descriptors = [PollFd::new(&self.descriptor, PollFlags::IN)];
        poll(&mut descriptors, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// How the process has ended. `None` if the template has ended too, and all its workers with it.
    pub fn end_status(&self) -> Option<EndStatus> {
        self.template.status(self.id).ok()
    }

    /// Kills the process, and wakes the thread that waits for its answer.
    pub fn kill(&self) {
        if !self.is_killed.swap(true, Ordering::SeqCst) {
            self.template.end(self.id);
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
