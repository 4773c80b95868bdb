//! The time that work takes: wall time and CPU time.

use std::time::{Duration, Instant};

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

#[cfg(unix)]
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Wall time: Windows counts a thread's CPU time in steps of 15 ms, and a chunk takes less.
/// <https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-getthreadtimes>
#[cfg(windows)]
fn cpu() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed()
}
