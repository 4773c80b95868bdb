//! Threads with a table of file descriptors of their own, in which SQLite opens, locks and closes its files.
//!
//! POSIX locks belong to a descriptor table (`files_struct` in Linux' `fs/locks.c`), which all threads of a process
//! usually share. Two SQLite libraries in one process then do not see each other's locks, each one's unlocking releases
//! the other's locks, and so does closing any descriptor of the file (<https://www.sqlite.org/howtocorrupt.html>,
//! section 2.2). With a table of its own, this library is to all others what another process is: they wait for its
//! locks, and it waits for theirs. `docs/reference/sqlite.md` lists the cases, and
//! `docs/decisions/0027-no-locks-of-descriptions.md` says why locks of open file descriptions do not suffice.
//!
//! A descriptor's number means another file, or none, in another thread. So only these threads use a database, and only
//! code of this crate and of SQLite runs on them: foreign code could close a number of the other table, such as the
//! release of an Arrow array that another library made.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::system::{file_table, table_number};
use crate::{Error, ErrorKind, feed};

/// The threads that wait for work, at most. A thread costs more than a short query.
const IDLE: usize = 8;

/// What runs on a thread of the table.
type Job = Box<dyn FnOnce() + Send>;
/// The threads that wait for work.
type Idle = Arc<Mutex<Vec<Sender<Job>>>>;

/// The thread that has left the process's table, and starts the others, which share its own. It never ends.
struct Spawner {
    process: u32,
    table: u64,
    jobs: Sender<Job>,
    idle: Idle,
}

/// This process's, or that of the process from which it was forked.
static SPAWNER: AtomicPtr<Spawner> = AtomicPtr::new(ptr::null_mut());
/// The number of the next table.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Whether this thread has SQLite's descriptor table.
pub(super) fn is_entered() -> bool {
    table_number::current() != 0
}

/// Starts `work` on a thread with SQLite's descriptor table.
///
/// # Errors
/// The system does not give a thread a table.
pub(super) fn spawn(work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let spawner = spawner()?;
    let waiting = lock(&spawner.idle).pop();
    waiting.as_ref().unwrap_or(&spawner.jobs).send(Box::new(work)).map_err(|_| died())
}

/// Runs `work` on a thread with SQLite's descriptor table, and waits for it.
///
/// # Errors
/// As for [`spawn`].
pub(super) fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let (sender, done) = sync_channel(1);
    spawn(move || {
        let _ = sender.send(work());
    })?;
    done.recv().map_err(|_| Error::new(ErrorKind::Connect, "no thread could be started"))
}

fn spawner() -> Result<&'static Spawner, Error> {
    let known = SPAWNER.load(Ordering::Acquire);
    // SAFETY: it is null, or was leaked below. A lock would not do here: a thread that a fork left behind may hold it.
    if let Some(spawner) = unsafe { known.as_ref() }
        && spawner.process == process::id()
    {
        return Ok(spawner);
    }
    let started = Box::into_raw(Box::new(Spawner::start()?));
    match SPAWNER.compare_exchange(known, started, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: it stays until the process ends.
        Ok(_) => Ok(unsafe { &*started }),
        Err(_) => {
            // SAFETY: nobody else has it. Another thread was faster, and this one's spawner ends without its sender.
            drop(unsafe { Box::from_raw(started) });
            spawner()
        }
    }
}

impl Spawner {
    fn start() -> Result<Self, Error> {
        let table = NEXT.fetch_add(1, Ordering::Relaxed);
        let (jobs, queue) = channel();
        let (sender, ready) = sync_channel(1);
        let idle = Idle::default();
        let waiting = idle.clone();
        feed::spawn("colonnade-files", move || {
            let left = file_table::leave();
            let has_left = left.is_ok();
            let _ = sender.send(left);
            if !has_left {
                return;
            }
            table_number::enter(table);
            for job in queue {
                let waiting = waiting.clone();
                // The job is dropped if there is no thread, and whoever waits for it learns of that.
                let _ = feed::spawn("colonnade-sqlite", move || {
                    table_number::enter(table);
                    run_jobs(job, &waiting);
                });
            }
        })?;
        match ready.recv() {
            Ok(Ok(())) => Ok(Self { process: process::id(), table, jobs, idle }),
            Ok(Err(cause)) => Err(no_table(cause)),
            Err(_) => Err(died()),
        }
    }
}

/// Runs a job, and those that this thread gets while it is idle.
fn run_jobs(mut job: Job, idle: &Idle) {
    let (sender, queue) = channel();
    loop {
        job();
        {
            let mut idle = lock(idle);
            if idle.len() >= IDLE {
                return;
            }
            idle.push(sender.clone());
        }
        let Ok(next) = queue.recv() else { return };
        job = next;
    }
}

fn lock(idle: &Idle) -> MutexGuard<'_, Vec<Sender<Job>>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

fn died() -> Error {
    Error::new(ErrorKind::Connect, "the thread that opens SQLite's files died")
}

fn no_table(cause: io::Error) -> Error {
    let message = "this system gives a thread no file descriptors of its own, which SQLite's locks need in a process with other \
                   libraries";
    Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000").with_hint(file_table::HINT).with_cause(cause)
}

/// A value whose end uses descriptors of the table in which it was made: it is dropped on such a thread. A forked
/// process has no such thread, and keeps its copy until it ends.
pub(super) struct OfTable<T: Send + 'static> {
    value: ManuallyDrop<T>,
    table: u64,
}

impl<T: Send + 'static> OfTable<T> {
    /// Takes a value that was made on this thread.
    pub(super) fn new(value: T) -> Self {
        Self { value: ManuallyDrop::new(value), table: table_number::current() }
    }

    /// Whether this thread may use the value's descriptors.
    pub(super) fn is_here(&self) -> bool {
        self.table == table_number::current()
    }
}

impl<T: Send + 'static> Deref for OfTable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Send + 'static> Drop for OfTable<T> {
    fn drop(&mut self) {
        // SAFETY: the value is not used after this.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        if self.is_here() {
            return drop(value);
        }
        let value = ManuallyDrop::new(value);
        if spawner().is_ok_and(|spawner| spawner.table == self.table) {
            // Without a thread, the value stays.
            let _ = run(move || drop(ManuallyDrop::into_inner(value)));
        }
    }
}
