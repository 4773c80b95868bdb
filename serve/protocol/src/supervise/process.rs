//! The worker's process, from its start to its end.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::channel::{Channel, ChannelMessage};
use crate::board::Board;
use crate::memory_file;
use crate::observe::Log;

/// How a worker is started. Its standard input is the socket to its supervisor.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Additional variables of its environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// The settings of a worker, besides users and certificates.
pub(crate) struct Setup {
    /// Settings, which this crate does not read.
    pub settings: Vec<u8>,
    /// Lines for /metrics about earlier workers.
    pub metrics: String,
}

impl Setup {
    pub fn write(&self) -> io::Result<std::fs::File> {
        memory_file::write(&[Some(&self.settings), Some(self.metrics.as_bytes())])
    }

    pub fn read(memory_file: OwnedFd) -> io::Result<Self> {
        let [settings, metrics] = memory_file::read(memory_file)?;
        let metrics = String::from_utf8(metrics.unwrap_or_default()).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Self { settings: settings.unwrap_or_default(), metrics })
    }
}

pub(super) struct Process {
    child: Child,
}

impl Process {
    /// Starts a worker and sends it the first message.
    pub fn start(
        program: &Program,
        board: &Board,
        setup: &Setup,
        credentials: &std::fs::File,
        log: Option<&Log>,
    ) -> io::Result<(Self, Channel)> {
        let (ours, theirs) = Channel::pair()?;
        let mut command = Command::new(&program.path);
        command.args(&program.arguments).envs(program.environment.iter().map(|(name, value)| (name, value)));
        // Standard output belongs to the supervisor, which prints its addresses.
        command.stdin(Stdio::from(theirs.into_descriptor())).stdout(Stdio::null());
        let child = command.spawn()?;
        // The command holds the other end. While that is open, this end does not notice that the worker has ended.
        drop(command);
        let process = Self { child };
        let (setup, log) = (setup.write()?, log.map(Log::descriptor).transpose()?);
        let mut descriptors = vec![board.as_fd(), setup.as_fd(), credentials.as_fd()];
        descriptors.extend(log.as_ref().map(|log| log.as_fd()));
        match ours.send(ChannelMessage::Setup, 0, &descriptors) {
            // A broken pipe means that the worker has ended. The caller reads its exit status.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok((process, ours)),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the process has ended. After `timeout` it is killed.
    pub fn end_within(&mut self, timeout: Duration) -> io::Result<ExitStatus> {
        let end = Instant::now() + timeout;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        self.child.wait()
    }

    fn kill(&mut self) {
        // It fails if the process has ended.
        let _ = self.child.kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}
