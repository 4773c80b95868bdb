//! Programs that the supervisor starts for its worker, because the worker may not start any.
//!
//! A helper's standard input is a socket whose other end only the worker has. It ends when the worker closes that end,
//! or dies.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{Channel, ChannelMessage};
use super::process::Program;

/// How long the worker waits for the supervisor to start a helper.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a helper may take to end after its worker has ended.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// How a helper is started. Its environment has the program's variables only.
#[derive(Clone, Debug)]
pub struct HelperProgram {
    /// The program.
    pub program: Program,
    /// Its user and group, if they are not the supervisor's.
    pub user: Option<(u32, u32)>,
}

/// The helpers of one worker, in the supervisor. Dropping it ends them.
#[derive(Debug, Default)]
pub(super) struct Helpers(Vec<Child>);

impl Helpers {
    /// Starts a helper, and sends the worker its socket. If that fails, the worker gets the number of the system's
    /// error instead.
    pub fn answer(&mut self, program: Option<&HelperProgram>, channel: &Channel) -> io::Result<()> {
        let program = program.ok_or(io::Error::from(io::ErrorKind::Unsupported));
        let started = program.and_then(|helper| self.start(helper));
        let descriptors: Vec<_> = started.iter().map(|socket| socket.as_fd()).collect();
        let error = started.as_ref().err().and_then(io::Error::raw_os_error).unwrap_or_default();
        // It fails if the worker has died. Then the helper sees its socket closed, and ends.
        let _ = channel.send(ChannelMessage::Helper, error.unsigned_abs(), &descriptors);
        started.map(drop)
    }

    fn start(&mut self, helper: &HelperProgram) -> io::Result<OwnedFd> {
        // Those of before have ended: the worker asks for one only if it has none.
        self.0.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
        let (ours, theirs) = Channel::pair()?;
        let mut command = Command::new(&helper.program.path);
        command.args(&helper.program.arguments).env_clear().current_dir("/");
        command.envs(helper.program.environment.iter().map(|(name, value)| (name, value)));
        if let Some((user, group)) = helper.user {
            // As root this also leaves all other groups.
            command.uid(user).gid(group);
        }
        command.stdin(Stdio::from(theirs.into_descriptor())).stdout(Stdio::null());
        self.0.push(command.spawn()?);
        Ok(ours.into_descriptor())
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        let end = Instant::now() + END_TIMEOUT;
        for child in &mut self.0 {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(2));
            }
            // It fails if the process has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The socket of a helper, or the number of the system's error; 0 if there is none.
pub(super) type StartedHelper = Result<OwnedFd, u32>;

/// Has helpers started, in the worker. Clones are handles to the same.
#[derive(Clone)]
pub struct HelperStarter {
    channel: Arc<Channel>,
    /// Where the worker's main thread passes on what the supervisor sends.
    started: Arc<Mutex<Receiver<StartedHelper>>>,
}

impl HelperStarter {
    pub(super) fn new(channel: Arc<Channel>) -> (Self, Sender<StartedHelper>) {
        let (sender, receiver) = std::sync::mpsc::channel();
        (Self { channel, started: Arc::new(Mutex::new(receiver)) }, sender)
    }

    /// Has the supervisor start a helper, and gives the socket to it. It waits until the worker serves.
    ///
    /// # Errors
    /// If the supervisor could not start it, which its log explains, or has ended.
    pub fn start(&self) -> io::Result<OwnedFd> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        // An answer that came too late for an earlier request.
        while let Ok(late) = started.try_recv() {
            drop(late);
        }
        self.channel.send(ChannelMessage::StartHelper, 0, &[])?;
        match started.recv_timeout(START_TIMEOUT) {
            Ok(Ok(socket)) => Ok(socket),
            Ok(Err(0)) => Err(io::Error::other("the supervisor could not start the program; its log has the reason")),
            Ok(Err(number)) => Err(io::Error::from_raw_os_error(number.cast_signed())),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the supervisor did not start the program in time"))
            }
        }
    }
}
