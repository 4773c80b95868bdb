//! The CPU time of another thread. Wall time says little about a thread's work on a busy machine.

use std::time::Duration;

/// The CPU clock of one thread, for other threads to read.
#[derive(Clone, Copy)]
pub struct ThreadClock(libc::clockid_t);

#[allow(unsafe_code, reason = "clocks of other threads, which no safe interface has")]
impl ThreadClock {
    /// The clock of the calling thread. None if the system has no such clocks.
    pub fn of_this_thread() -> Option<Self> {
        let mut clock = 0;
        // SAFETY: the calling thread exists, and `clock` is valid for the one identifier that is written.
        let status = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        (status == 0).then_some(Self(clock))
    }

    /// The CPU time that the thread has used since it began. None once it has ended.
    pub fn elapsed(self) -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for the one timespec that is written. The system checks the identifier: for a thread
        // that has ended it returns an error.
        let status = unsafe { libc::clock_gettime(self.0, &raw mut time) };
        let seconds = u64::try_from(time.tv_sec).ok().filter(|_| status == 0)?;
        Some(Duration::new(seconds, u32::try_from(time.tv_nsec).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::sync::mpsc::channel;
    use std::thread;

    #[test]
    fn computing_counts_and_waiting_does_not() {
        let (clocks, clock) = channel();
        let (stop, stopped) = channel::<()>();
        let thread = thread::spawn(move || {
            let own = ThreadClock::of_this_thread().unwrap();
            while own.elapsed().unwrap() < Duration::from_millis(20) {
                black_box((0..1000).sum::<u64>());
            }
            clocks.send(own).unwrap();
            stopped.recv().unwrap();
        });
        let clock = clock.recv().unwrap();
        let computed = clock.elapsed().unwrap();
        assert!(computed >= Duration::from_millis(20));
        thread::sleep(Duration::from_millis(300));
        assert!(clock.elapsed().unwrap() - computed < Duration::from_millis(250));
        stop.send(()).unwrap();
        thread.join().unwrap();
        assert_eq!(clock.elapsed(), None);
    }
}
