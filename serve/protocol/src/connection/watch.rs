//! A thread that notices when a client closes its connection while its statement runs, enforces time limits, and ends
//! tickets.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use crate::connection::cancel::stop_in_background;
use crate::connection::registry::Registry;
use crate::connection::stop_reason::StopReason;
use crate::rows::tickets::Tickets;

/// How often clocks are read. Time limits have this precision.
const TICK: Duration = Duration::from_millis(250);

/// Watches sockets for a hang-up of the peer.
pub struct Watch {
    epoll: OwnedFd,
}

impl Watch {
    /// Starts the thread. It lives as long as the process.
    pub fn start(registry: Arc<Registry>, tickets: Arc<Tickets>) -> io::Result<Arc<Self>> {
        let watch = Arc::new(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? });
        let watching = Arc::clone(&watch);
        std::thread::Builder::new().name("watch".to_owned()).spawn(move || watching.run(&registry, &tickets))?;
        Ok(watch)
    }

    /// Watches the socket of session `process`. Closing the socket ends it.
    pub fn add(&self, socket: impl AsFd, process: i32) -> io::Result<()> {
        // Once is enough, because the session ends then. RDHUP reports a half-close; errors and full closes are always
        // reported.
        let data = epoll::EventData::new_u64(u64::from(process.unsigned_abs()));
        let flags = epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT;
        Ok(epoll::add(&self.epoll, socket, data, flags)?)
    }

    fn run(&self, registry: &Registry, tickets: &Tickets) {
        let mut events = Vec::with_capacity(64);
        let mut last_tick = Instant::now();
        let mut gone = Vec::new();
        loop {
            events.clear();
            let rest = Timespec::try_from(TICK.saturating_sub(last_tick.elapsed())).ok();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), rest.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            if last_tick.elapsed() >= TICK {
                registry.enforce_limits();
                tickets.expire(Instant::now());
                last_tick = Instant::now();
            }
            gone.extend(events.iter().filter_map(|event| i32::try_from(event.data.u64()).ok()));
            // If no thread can be started, the next tick tries again.
            gone.retain(|process| {
                registry
                    .by_process(*process)
                    .is_some_and(|control| stop_in_background(&control, StopReason::Gone).is_err())
            });
        }
    }
}
