//! The CPU time of another process.

use std::time::Duration;

use rustix::process::Pid;

/// The CPU time of all threads of a process since it began. `None` if there is no such process. No safe interface has
/// the clocks of others.
pub(crate) fn of(process: Pid) -> Option<Duration> {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: `clock` is valid for the one identifier that is written.
    let found = unsafe { libc::clock_getcpuclockid(process.as_raw_nonzero().get(), &raw mut clock) };
    // SAFETY: `time` is valid for the one timespec that is written. The system checks the identifier.
    let is_read = found == 0 && unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    let seconds = u64::try_from(time.tv_sec).ok().filter(|_| is_read)?;
    Some(Duration::new(seconds, u32::try_from(time.tv_nsec).ok()?))
}
