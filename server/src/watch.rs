//! One thread that notices clients which close their connection while a statement runs for them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll;

use crate::cancel::{Reason, Registry, stop_and_wait};

/// Watches sockets for their peer hanging up.
pub struct Watch {
    epoll: OwnedFd,
}

impl Watch {
    /// Starts the thread. It lives as long as the process.
    pub fn start(registry: Arc<Registry>) -> io::Result<Arc<Self>> {
        let watch = Arc::new(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? });
        let watching = Arc::clone(&watch);
        std::thread::Builder::new().name("watch".to_owned()).spawn(move || watching.run(&registry))?;
        Ok(watch)
    }

    /// Watches the socket of session `process`. Closing the socket ends it.
    pub fn add(&self, socket: impl AsFd, process: i32) -> io::Result<()> {
        // Once is enough: the session ends then. What is asked for is the peer's half-close; errors and full closes
        // are always reported.
        let data = epoll::EventData::new_u64(u64::from(process.unsigned_abs()));
        let flags = epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT;
        Ok(epoll::add(&self.epoll, socket, data, flags)?)
    }

    fn run(&self, registry: &Registry) {
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            for event in &events {
                let process = i32::try_from(event.data.u64()).unwrap_or_default();
                if let Some(control) = registry.by_process(process) {
                    stop_and_wait(control, Reason::Gone);
                }
            }
        }
    }
}
