//! All worker processes of a server.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::CallError;
use crate::idle_cpu::IdleWatch;
use crate::local::LocalSource;
use crate::memory::{MemoryBudget, MemoryExceeded};
use crate::places::Places;
use crate::sandbox::{self, PrivatePath, SeccompFilter};
use crate::session::SessionWorkers;
use crate::template::{Template, TemplateSource};

/// The limits of workers.
#[derive(Clone, Debug)]
pub struct WorkerLimits {
    /// The most bytes of a worker's own memory, and of its ring (`--udf-memory`).
    pub memory: u64,
    /// The most bytes of the rows and results of all sessions' functions in this process. `memory` is that of one session's.
    pub server_memory: u64,
    /// The most workers at a time (`--udf-max-workers`).
    pub workers: usize,
    /// The most workers of a session at a time (`--udf-workers`); `None`: as many as there are.
    pub session_workers: Option<usize>,
    /// The longest time of one call (`--udf-timeout`).
    pub call: Option<Duration>,
    /// What workers may read besides the interpreter and its libraries (`--udf-read`).
    pub readable: Vec<PathBuf>,
    /// What of the server a worker in the sandbox must not read. No template is used whose workers could.
    pub private: Vec<PrivatePath>,
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
    pub source: Source,
    template: Mutex<Option<Arc<Template>>>,
    pub filter: SeccompFilter,
    /// The CPUs of this process, to which workers return.
    pub processors: CpuSet,
    pub places: Arc<Places>,
    pub idle_watch: IdleWatch,
    /// The memory of all sessions' functions in this process.
    pub budget: Arc<MemoryBudget>,
    last_id: AtomicU64,
}

/// Who runs functions.
pub(crate) enum Source {
    Templates(Box<dyn TemplateSource>),
    /// This process.
    Local(Box<dyn LocalSource>),
}

impl WorkerPool {
    /// A pool that runs functions in this process. Of the limits, `memory` is that of the values of calls, and a call that takes longer than
    /// `call` fails when it returns.
    ///
    /// # Errors
    /// The system's.
    pub fn local(source: Box<dyn LocalSource>, limits: WorkerLimits) -> io::Result<Self> {
        Self::with_source(Source::Local(source), limits)
    }

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
        Self::with_source(Source::Templates(source), limits)
    }

    fn with_source(source: Source, limits: WorkerLimits) -> io::Result<Self> {
        Ok(Self(Arc::new(PoolState {
            places: Places::new(limits.workers),
            idle_watch: IdleWatch::default(),
            budget: MemoryBudget::new(bytes(limits.server_memory), MemoryExceeded::Server),
            limits,
            source,
            template: Mutex::new(None),
            filter: sandbox::seccomp_filter(),
            processors: sched_getaffinity(None)?,
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

    /// The bytes that functions use in this process.
    pub fn used_memory(&self) -> usize {
        self.0.budget.used()
    }

    /// The number of worker processes.
    pub fn workers(&self) -> usize {
        self.0.places.taken()
    }
}

/// A limit in bytes.
fn bytes(limit: u64) -> Option<usize> {
    usize::try_from(limit).ok()
}

impl PoolState {
    /// The memory of one session's functions in this process.
    pub fn session_budget(&self) -> Arc<MemoryBudget> {
        self.budget.part(bytes(self.limits.memory), MemoryExceeded::Session)
    }

    /// The template. If it has died, another one is started.
    pub fn template(&self) -> Result<Arc<Template>, CallError> {
        let mut template = self.template.lock().unwrap_or_else(PoisonError::into_inner);
        match &*template {
            Some(running) if !running.is_dead() => Ok(Arc::clone(running)),
            _ => {
                let Source::Templates(source) = &self.source else {
                    return Err(CallError::Start("functions run in this process".to_owned()));
                };
                let failed = |error: io::Error| {
                    let hint = match error.kind() {
                        io::ErrorKind::PermissionDenied => {
                            "; the user must be able to run it, and to enter the directories around it"
                        }
                        _ => "",
                    };
                    CallError::Start(format!("{}: {error}{hint}", source.interpreter()))
                };
                let started = source.start().and_then(Template::begin).map_err(failed)?;
                if self.limits.isolation == Isolation::Sandbox {
                    let checked = sandbox::check_private(&self.readable(&started), &self.limits.private);
                    checked.map_err(|exposure| CallError::Start(exposure.to_string()))?;
                }
                let started = Arc::new(started);
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
        let rules = sandbox::ruleset(&self.readable(template))?;
        rules.map(Some).ok_or_else(|| CallError::Start("the kernel has no Landlock".to_owned()))
    }

    fn readable(&self, template: &Template) -> Vec<PathBuf> {
        template.readable.iter().chain(&self.limits.readable).cloned().collect()
    }

    /// A number that no other worker and no other session has.
    pub fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}
