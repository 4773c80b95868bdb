//! A thread that waits for a connection's next answer, so that a query need not start one.

use std::mem;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Error;
use crate::feed::spawn;

type Work = Box<dyn FnOnce() + Send>;

/// What a waiting thread is given: its work, and the way to give it more.
struct Task(Work, Sender<Task>);

/// The thread of a connection that has nothing to do, if there is one. It ends with the connection.
#[derive(Default)]
pub(super) struct IdleThread(Arc<Mutex<Option<Sender<Task>>>>);

impl IdleThread {
    /// Runs `work` on the waiting thread, or on a new one. A thread waits only when it is done with its work: the one
    /// before may still hold the end of an answer that nobody reads.
    ///
    /// # Errors
    /// The system cannot start another thread.
    pub(super) fn run(&self, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let mut work: Work = Box::new(work);
        if let Some(waiting) = self.take() {
            match waiting.send(Task(work, waiting.clone())) {
                Ok(()) => return Ok(()),
                // It has ended by a panic.
                Err(unsent) => work = unsent.0.0,
            }
        }
        let idle = Arc::downgrade(&self.0);
        spawn("colonnade-receive", move || {
            let (sender, tasks) = channel();
            let mut task = Task(work, sender);
            loop {
                (task.0)();
                let Some(idle) = idle.upgrade() else { return };
                match &mut *idle.lock().unwrap_or_else(PoisonError::into_inner) {
                    Some(_) => return,
                    place => *place = Some(task.1),
                }
                drop(idle);
                match tasks.recv() {
                    Ok(next) => task = next,
                    Err(_) => return,
                }
            }
        })
        .map(drop)
    }

    fn take(&self) -> Option<Sender<Task>> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::sync::mpsc::{Receiver, sync_channel};
    use std::thread::{self, ThreadId};

    use super::*;

    fn ran(idle: &IdleThread) -> ThreadId {
        let (sender, threads) = channel();
        idle.run(move || sender.send(thread::current().id()).unwrap()).unwrap();
        threads.recv().unwrap()
    }

    /// Waits until a thread has nothing to do.
    fn wait_until_idle(idle: &IdleThread) {
        while idle.0.lock().unwrap().is_none() {
            thread::yield_now();
        }
    }

    #[test]
    fn a_thread_that_is_done_is_used_again() {
        let idle = IdleThread::default();
        let first = ran(&idle);
        wait_until_idle(&idle);
        assert_eq!(ran(&idle), first);
    }

    #[test]
    fn work_does_not_wait_for_a_thread_that_is_not_done() {
        let idle = IdleThread::default();
        let (held, until): (_, Receiver<()>) = sync_channel(0);
        idle.run(move || until.recv().unwrap()).unwrap();
        let other = ran(&idle);
        held.send(()).unwrap();
        wait_until_idle(&idle);
        assert_ne!(other, thread::current().id());
    }

    #[test]
    fn a_panic_costs_one_thread() {
        let idle = IdleThread::default();
        idle.run(|| panic!("as a test")).unwrap();
        ran(&idle);
        wait_until_idle(&idle);
    }

    #[test]
    fn the_thread_ends_with_its_connection() {
        let idle = IdleThread::default();
        let (sender, end) = channel::<()>();
        idle.run(move || drop(sender)).unwrap();
        wait_until_idle(&idle);
        let place = Arc::downgrade(&idle.0);
        drop(idle);
        assert!(end.recv().is_err() && place.upgrade().is_none());
    }
}
