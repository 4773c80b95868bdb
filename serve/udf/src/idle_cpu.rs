//! Ends function processes that compute without a call.
//!
//! Threads and timers of a function outlive its call, and nobody waits for them: they would use CPUs for which no limit
//! counts. So a thread reads the CPU clocks of all processes from time to time, also of those that a thread of the
//! engine keeps between two vectors. Libraries whose threads sleep are left alone, and calls do nothing for it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crate::process::{IdleTime, Process};
use crate::slots::Slots;

/// How often the clocks are read.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// The CPU time that a process may use between two calls, from the first look on: for threads that finish their work or
/// spin before they sleep.
const ALLOWANCE: Duration = Duration::from_millis(250);

/// The processes of a pool that are looked at.
#[derive(Debug)]
pub(crate) struct IdleWatch {
    /// The slots that the processes hold.
    slots: Arc<Slots>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    processes: Vec<Watched>,
    /// Whether there is a thread. It ends when there are no processes.
    is_running: bool,
}

#[derive(Debug)]
struct Watched {
    process: Weak<Process>,
    last: Option<IdleTime>,
}

impl IdleWatch {
    pub fn new(slots: Arc<Slots>) -> Arc<Self> {
        Arc::new(Self { slots, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the processes. Gives whether there are any, and whether some were killed.
    fn look(&self) -> (bool, bool) {
        let mut state = self.lock();
        let mut some_killed = false;
        state.processes.retain_mut(|watched| {
            let Some(process) = watched.process.upgrade() else { return false };
            process.kill_if_computing(&mut watched.last, ALLOWANCE);
            some_killed |= process.is_killed();
            !process.is_killed()
        });
        state.is_running = !state.processes.is_empty();
        (state.is_running, some_killed)
    }

    /// Looks at a process from now on, unless it is the server's own.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn watch(self: &Arc<Self>, process: &Arc<Process>) -> io::Result<()> {
        if process.id().is_none() {
            return Ok(());
        }
        let mut state = self.lock();
        if !state.is_running {
            let watch = Arc::downgrade(self);
            thread::Builder::new().name("udf-idle".to_owned()).spawn(move || run(&watch))?;
            state.is_running = true;
        }
        state.processes.push(Watched { process: Arc::downgrade(process), last: None });
        Ok(())
    }
}

fn run(watch: &Weak<IdleWatch>) {
    loop {
        thread::sleep(LOOK_INTERVAL);
        let Some(watch) = watch.upgrade() else { return };
        let (continues, some_killed) = watch.look();
        if some_killed {
            watch.slots.end_killed();
        }
        if !continues {
            return;
        }
    }
}
