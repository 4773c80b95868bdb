//! All worker processes of a server.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::CallError;
use crate::sandbox::{self, SeccompFilter};
use crate::session::SessionWorkers;
use crate::template::{Template, TemplateSource};

/// The limits of workers.
#[derive(Clone, Debug)]
pub struct WorkerLimits {
    /// The most bytes of a worker's own memory, and of its ring (`--udf-memory`).
    pub memory: u64,
    /// The most workers at a time (`--udf-max-workers`).
    pub workers: usize,
    /// The most workers of a session at a time (`--udf-workers`); `None`: as many as there are.
    pub session_workers: Option<usize>,
    /// The longest time of one call (`--udf-timeout`).
    pub call: Option<Duration>,
    /// What workers may read besides the interpreter and its libraries (`--udf-read`).
    pub readable: Vec<PathBuf>,
    /// What a worker may do (`--udf-isolation`).
    pub isolation: Isolation,
}

/// What a worker may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// It reads its libraries, and reaches nothing else: Landlock and seccomp.
    Sandbox,
    /// It is a process with limits on memory and time.
    Process,
}

/// All worker processes of a server, and the template that forks them. Dropping it does not end the workers of sessions.
#[derive(Clone)]
pub struct WorkerPool(Arc<PoolState>);

pub(crate) struct PoolState {
    pub limits: WorkerLimits,
    source: Box<dyn TemplateSource>,
    template: Mutex<Option<Arc<Template>>>,
    pub filter: SeccompFilter,
    /// The CPUs of this process, to which workers return.
    pub processors: CpuSet,
    used: Arc<AtomicUsize>,
    last_id: AtomicU64,
}

impl WorkerPool {
    /// A pool that gets its templates from `source`. The first one is started at the first call.
    ///
    /// # Errors
    /// With `Isolation::Sandbox` if the kernel has no Landlock.
    pub fn new(source: Box<dyn TemplateSource>, limits: WorkerLimits) -> io::Result<Self> {
        if limits.isolation == Isolation::Sandbox && sandbox::ruleset(&[])?.is_none() {
            let text = "this kernel has no Landlock, which --udf-isolation=sandbox needs; --udf-isolation=process runs functions \
                        in processes without a sandbox, if you trust all who may create functions";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Ok(Self(Arc::new(PoolState {
            limits,
            source,
            template: Mutex::new(None),
            filter: sandbox::seccomp_filter(),
            processors: sched_getaffinity(None)?,
            used: Arc::default(),
            last_id: AtomicU64::new(0),
        })))
    }

    /// Starts the template, if none runs, so that the first call does not wait for it.
    ///
    /// # Errors
    /// If it does not start.
    pub fn warm_up(&self) -> Result<(), CallError> {
        self.0.template().map(drop)
    }

    /// The workers of a new session.
    pub fn session(&self) -> SessionWorkers {
        SessionWorkers::new(Arc::clone(&self.0))
    }

    /// The number of worker processes.
    pub fn workers(&self) -> usize {
        self.0.used.load(Ordering::SeqCst)
    }
}

/// The right to one worker process.
#[derive(Debug)]
pub(crate) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl PoolState {
    /// Takes a place for a worker of a session, of which `used` have one.
    pub fn place(&self, used: &Arc<AtomicUsize>) -> Result<[Place; 2], CallError> {
        let take = |used: &Arc<AtomicUsize>, most: usize| {
            let more = |used| (used < most).then_some(used + 1);
            let taken = used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
            taken.map(|_| Place(Arc::clone(used))).map_err(|_| most)
        };
        let own = take(used, self.limits.session_workers.unwrap_or(usize::MAX));
        let own = own.map_err(CallError::TooManySessionWorkers)?;
        Ok([own, take(&self.used, self.limits.workers).map_err(CallError::TooManyWorkers)?])
    }

    /// The template. If it has died, another one is started.
    pub fn template(&self) -> Result<Arc<Template>, CallError> {
        let mut template = self.template.lock().unwrap_or_else(PoisonError::into_inner);
        match &*template {
            Some(running) if !running.is_dead() => Ok(Arc::clone(running)),
            _ => {
                let started = Arc::new(Template::begin(self.source.start()?)?);
                *template = Some(Arc::clone(&started));
                Ok(started)
            }
        }
    }

    /// The rules for files of a new worker. Each worker has its own, because it adds its own files in /proc.
    pub fn rules(&self, template: &Template) -> Result<Option<OwnedFd>, CallError> {
        if self.limits.isolation == Isolation::Process {
            return Ok(None);
        }
        let readable: Vec<_> = template.readable.iter().chain(&self.limits.readable).cloned().collect();
        let rules = sandbox::ruleset(&readable)?;
        rules.map(Some).ok_or_else(|| CallError::Start("the kernel has no Landlock".to_owned()))
    }

    pub fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}
