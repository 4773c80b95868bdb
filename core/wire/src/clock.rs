//! The time that work takes: wall time and CPU time.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A point in time of this thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    wall: Instant,
    cpu: Duration,
}

/// The time since a [`Moment`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elapsed {
    pub(crate) wall: Duration,
    /// CPU time of this thread.
    pub(crate) cpu: Duration,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { wall: Instant::now(), cpu: cpu() }
    }

    pub(crate) fn elapsed(self) -> Elapsed {
        Elapsed { wall: self.wall.elapsed(), cpu: cpu().saturating_sub(self.cpu) }
    }
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
