//! The template process: Python with its libraries loaded, which forks a function process on request and runs no code
//! of a user.
//!
//! Requests and answers are messages over a socket pair, one at a time; only requests to end a function process, and to
//! free its threads, have no answer.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use rustix::process::Pid;

use crate::sandbox::SeccompFilter;

/// How long the template may take to start, which includes importing libraries, and to answer.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Why an interpreter may not get as far as to say what is wrong.
const ENDED_EARLY: &str = "it ended before it was ready, and the server's standard error has its reason; the user of functions must be able \
                           to read the interpreter, its libraries and the directories around them";
/// The most bytes of a message, and descriptors in it.
const MAX_MESSAGE: usize = 64 << 10;
const MAX_DESCRIPTORS: usize = 2;

/// The kinds of messages, by their first byte. `serve/colonnade_serve/_udf/template.py` has the same.
const HELLO: u8 = b'h';
const FORK: u8 = b'F';
const FORKED: u8 = b'f';
const END: u8 = b'K';
const STATUS: u8 = b'S';
const FREE: u8 = b'A';
const ENDED: u8 = b's';
const FAILED: u8 = b'e';

/// Starts templates. The server's process may not run programs itself, so another one does it.
pub trait TemplateSource: Send + Sync {
    /// The interpreter, and its user if that is another one, for the texts of errors.
    fn interpreter(&self) -> String;

    /// Starts a template, and gives the socket to it: its other end is the template's standard input.
    ///
    /// # Errors
    /// If it cannot be started. The text is for the user of a function.
    fn start(&self) -> io::Result<OwnedFd>;
}

/// A running template.
pub(crate) struct Template {
    socket: OwnedFd,
    /// Held for a request and its answer.
    conversation: Mutex<()>,
    is_dead: AtomicBool,
    /// What the interpreter reads: its libraries.
    pub readable: Vec<PathBuf>,
}

/// A new function process.
pub(crate) struct Forked {
    pub process: Pid,
    /// Readable when the process has ended.
    pub descriptor: OwnedFd,
}

/// What the template has to know to fork a function process.
pub(crate) struct ForkRequest<'a> {
    pub id: u64,
    pub ring: BorrowedFd<'a>,
    /// The largest size of the ring.
    pub ring_limit: usize,
    /// The limit of the function process's own memory in bytes.
    pub memory: u64,
    /// The rules for files and the filter for system calls; `None` without a sandbox.
    pub sandbox: Option<(BorrowedFd<'a>, &'a SeccompFilter)>,
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndStatus {
    Exit(i32),
    Signal(i32),
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Template").field("readable", &self.readable).finish_non_exhaustive()
    }
}

impl Template {
    /// Waits until a template has started.
    pub fn begin(socket: OwnedFd) -> io::Result<Self> {
        let own = Self { socket, conversation: Mutex::new(()), is_dead: AtomicBool::new(false), readable: Vec::new() };
        let (message, _) = own.receive(START_TIMEOUT).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), ENDED_EARLY),
            _ => error,
        })?;
        let text = match message.split_first() {
            Some((&HELLO, text)) => text,
            Some((&FAILED, text)) => return Err(io::Error::other(String::from_utf8_lossy(text).into_owned())),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        use std::os::unix::ffi::OsStrExt as _;
        let paths = text.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let readable = paths.map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path))).collect();
        Ok(Self { readable, ..own })
    }

    /// Whether the template has ended, as far as is known.
    pub fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Relaxed)
    }

    /// Forks a function process.
    pub fn fork(&self, request: &ForkRequest<'_>) -> io::Result<Forked> {
        let mut bytes = vec![FORK];
        for number in [request.id, request.ring_limit as u64, request.memory] {
            bytes.extend(number.to_le_bytes());
        }
        let mut descriptors = vec![request.ring];
        if let Some((rules, filter)) = request.sandbox {
            descriptors.push(rules);
            bytes.extend((filter.own_id_at as u32).to_le_bytes());
            bytes.extend(&filter.program);
        }
        let (answer, descriptor) = self.ask(&bytes, &descriptors)?;
        match (answer.split_first(), descriptor) {
            (Some((&FORKED, id)), Some(descriptor)) => {
                let id = id.try_into().map(i32::from_le_bytes).ok().and_then(Pid::from_raw);
                Ok(Forked { process: id.ok_or(io::ErrorKind::InvalidData)?, descriptor })
            }
            (Some((&FAILED, text)), _) => Err(io::Error::other(String::from_utf8_lossy(text).into_owned())),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// How a function process that is dead has ended.
    pub fn status(&self, id: u64) -> io::Result<EndStatus> {
        let mut bytes = vec![STATUS];
        bytes.extend(id.to_le_bytes());
        let (answer, _) = self.ask(&bytes, &[])?;
        let status = match answer.split_first() {
            Some((&ENDED, status)) => status.try_into().map(i32::from_le_bytes).ok(),
            _ => None,
        };
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        Ok(if status < 0 { EndStatus::Signal(-status) } else { EndStatus::Exit(status) })
    }

    /// Kills a function process if it runs, and forgets it.
    pub fn end(&self, id: u64) {
        let mut bytes = vec![END];
        bytes.extend(id.to_le_bytes());
        // If the template is dead, the kernel has killed its function processes.
        if self.send(&bytes, &[]).is_err() {
            self.is_dead.store(true, Ordering::Relaxed);
        }
    }

    /// Lets all threads of a function process but its first one run on all CPUs. The server's own sandbox hides threads
    /// of other processes.
    pub fn free_threads(&self, id: u64) {
        let mut bytes = vec![FREE];
        bytes.extend(id.to_le_bytes());
        if self.send(&bytes, &[]).is_err() {
            self.is_dead.store(true, Ordering::Relaxed);
        }
    }

    fn ask(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
        let _one = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self.send(bytes, descriptors).and_then(|()| self.receive(ANSWER_TIMEOUT));
        if answer.is_err() {
            // A late answer would be taken for that to the next request.
            self.is_dead.store(true, Ordering::Relaxed);
        }
        answer
    }

    fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        loop {
            match sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                result => return result.map(drop).map_err(io::Error::from),
            }
        }
    }

    fn receive(&self, timeout: Duration) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
        let timeout = Timespec { tv_sec: timeout.as_secs() as _, tv_nsec: 0 };
        loop {
            match poll(&mut [PollFd::new(&self.socket.as_fd(), PollFlags::IN)], Some(&timeout)) {
                Err(Errno::INTR) => {}
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                result => {
                    result?;
                    break;
                }
            }
        }
        let mut bytes = vec![0; MAX_MESSAGE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let length = loop {
            let mut slices = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.socket, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                result => break result?.bytes,
            }
        };
        if length == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the template process has ended"));
        }
        let mut descriptor = None;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptor = received.last();
            }
        }
        bytes.truncate(length);
        Ok((bytes, descriptor))
    }
}
