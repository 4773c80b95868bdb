//! What new function processes are started with: the template or this process, and the limits.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::CallError;
use crate::local::LocalSource;
use crate::sandbox::{self, PrivatePath, SeccompFilter};
use crate::template::{Template, TemplateSource};

/// The limits of function processes.
#[derive(Clone, Debug)]
pub struct ProcessLimits {
    /// The most bytes of a function process's own memory, and of its ring (`--udf-memory`).
    pub memory: u64,
    /// The most bytes of the rows and results of all sessions' functions in this process. `memory` is that of one
    /// session's.
    pub server_memory: u64,
    /// The most function processes at a time (`--udf-max-workers`).
    pub processes: usize,
    /// The most function processes of a session at a time (`--udf-workers`); `None`: as many as there are.
    pub session_processes: Option<usize>,
    /// The longest time of one call (`--udf-timeout`).
    pub call: Option<Duration>,
    /// What function processes may read besides the interpreter and its libraries (`--udf-read`).
    pub readable: Vec<PathBuf>,
    /// What of the server a function process in the sandbox must not read. No template is used whose processes could.
    pub private: Vec<PrivatePath>,
    /// What a function process may do (`--udf-isolation`).
    pub isolation: Isolation,
}

/// What a function process may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// It reads its libraries, and reaches nothing else: Landlock and seccomp.
    Sandbox,
    /// It is a process with limits on memory and time.
    Process,
}

/// Who runs functions.
pub(crate) enum SourceKind {
    Templates(Box<dyn TemplateSource>),
    /// This process.
    Local(Box<dyn LocalSource>),
}

/// Where new function processes come from.
pub(crate) struct ProcessSource {
    pub kind: SourceKind,
    pub limits: ProcessLimits,
    template: Mutex<Option<Arc<Template>>>,
    pub filter: SeccompFilter,
    /// The CPUs of this process, to which function processes return.
    pub processors: CpuSet,
    last_id: AtomicU64,
}

impl ProcessSource {
    pub fn new(kind: SourceKind, limits: ProcessLimits) -> io::Result<Self> {
        Ok(Self {
            kind,
            limits,
            template: Mutex::new(None),
            filter: sandbox::seccomp_filter(),
            processors: sched_getaffinity(None)?,
            last_id: AtomicU64::new(0),
        })
    }

    /// The template. If it has died, another one is started.
    pub fn template(&self) -> Result<Arc<Template>, CallError> {
        let mut template = self.template.lock().unwrap_or_else(PoisonError::into_inner);
        match &*template {
            Some(running) if !running.is_dead() => Ok(Arc::clone(running)),
            _ => {
                let SourceKind::Templates(source) = &self.kind else {
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

    /// The rules for files of a new function process. Each has its own, because it adds its own files in /proc.
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

    /// A number that no other function process and no other session has.
    pub fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}
