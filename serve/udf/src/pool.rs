//! All function processes of a server.

pub(crate) mod state;

use std::io;
use std::sync::Arc;

use state::PoolState;

use crate::CallError;
use crate::local::LocalSource;
use crate::sandbox;
use crate::session::SessionProcesses;
use crate::source::{Isolation, ProcessLimits, ProcessSource, SourceKind};
use crate::template::TemplateSource;

/// All function processes of a server, and the template that forks them. Dropping it does not end the processes of
/// sessions.
#[derive(Clone)]
pub struct ProcessPool(Arc<PoolState>);

impl ProcessPool {
    /// A pool that runs functions in this process. Of the limits, `memory` is that of the values of calls, and a call
    /// that takes longer than `call` fails when it returns.
    ///
    /// # Errors
    /// The system's.
    pub fn local(source: Box<dyn LocalSource>, limits: ProcessLimits) -> io::Result<Self> {
        Self::with_source(SourceKind::Local(source), limits)
    }

    /// A pool that gets its templates from `source`. The first one is started at the first call.
    ///
    /// # Errors
    /// With `Isolation::Sandbox` if the kernel has no Landlock.
    pub fn new(source: Box<dyn TemplateSource>, limits: ProcessLimits) -> io::Result<Self> {
        if limits.isolation == Isolation::Sandbox && sandbox::ruleset(&[])?.is_none() {
            let text = "this kernel has no Landlock, which --udf-isolation=sandbox needs; --udf-isolation=process runs functions \
                        in processes without a sandbox, if you trust all who may create functions";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Self::with_source(SourceKind::Templates(source), limits)
    }

    fn with_source(kind: SourceKind, limits: ProcessLimits) -> io::Result<Self> {
        Ok(Self(Arc::new(PoolState::new(ProcessSource::new(kind, limits)?))))
    }

    /// Starts the template, if none runs, so that the first call does not wait for it.
    ///
    /// # Errors
    /// If it does not start.
    pub fn warm_up(&self) -> Result<(), CallError> {
        self.0.source.template().map(drop)
    }

    /// The function processes of a new session.
    pub fn session(&self) -> SessionProcesses {
        SessionProcesses::new(Arc::clone(&self.0))
    }

    /// The bytes that functions use in this process.
    pub fn used_memory(&self) -> usize {
        self.0.budget.used()
    }

    /// The number of function processes.
    pub fn processes(&self) -> usize {
        self.0.slots.taken()
    }
}
