//! The CPU time of this thread, and an allocator that keeps its memory.

use std::time::Duration;

/// Sums the CPU time of the work that it runs.
#[derive(Default)]
pub struct Stopwatch {
    total: Duration,
}

impl Stopwatch {
    /// Runs `work` and adds its CPU time.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = thread_time();
        let result = work();
        self.total += thread_time() - start;
        result
    }

    /// The total time.
    pub fn total(&self) -> Duration {
        self.total
    }
}

/// The CPU time that this thread has used. Other work on the machine has little effect on it.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to. The clock exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The median.
pub fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    let middle = times.len() / 2;
    match times.len() {
        0 => Duration::ZERO,
        n if n % 2 == 0 => (times[middle - 1] + times[middle]) / 2,
        _ => times[middle],
    }
}

/// Configures the C allocator to keep freed memory, as in a process that has been running for a while.
///
/// A new page costs about as much as copying it. Without this, the times would mainly be those of page faults.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only sets parameters, before other threads exist.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, 64 << 20);
    }
}
